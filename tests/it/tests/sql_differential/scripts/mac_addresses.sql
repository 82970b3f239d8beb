-- macaddr and macaddr8.
create table m(id int primary key, a macaddr unique, b macaddr8);
insert into m values (1, '08:00:2b:01:02:03', '08:00:2b:01:02:03'), (2, '0800.2b01.0204', '08002b01:02030405'), (3, '08002b-010205', '0800-2b01-0203-0405'), (4, null, null);
insert into m values (5, '08-00-2b-01-02-03', null);
select id, a::macaddr8 as a8, trunc(a), trunc(b), ~a, ~b, a & 'ff:ff:ff:00:00:00', b | '00:00:00:00:00:00:00:01', macaddr8_set7bit(b) from m order by a desc nulls first;
select id, b::macaddr from m where id = 1;
select id, b::macaddr from m where id = 2;
select id from m where a > '08:00:2b:01:02:03' order by id;
select id from m where b between '08:00:2b:01:02:03' and '08:00:2b:01:02:03:04:06' order by id;
select a::macaddr8 = b, macaddr8(a) = b from m where id = 1;
select max(id), a from m group by a order by a;
select 'not even close'::macaddr;
select '08:00:2b:01:02'::macaddr;
select '100:0:0:0:0:0'::macaddr;
select '08:00-2b:01:02:03:04:05'::macaddr8;
select '08:00:2b:01:02:03:04'::macaddr8, '08:00:2b:01:02:03 x'::macaddr8;
select array['08:00:2b:01:02:03', '8:0:2b:1:2:4']::macaddr[], '{08:00:2b:01:02:03}'::macaddr8[];
create index on m (b);
copy (select * from m order by id) to stdout;
-- As C's sscanf reads the bytes.
select '+8:0:2b:1:2:3'::macaddr, ' 8: 0:2b:1:2: 3 '::macaddr, '0x8:0:2b:1:2:0X3'::macaddr, '08 002b 010203'::macaddr, '+8+0+b+1+2+3'::macaddr;
select '-8:0:2b:1:2:3'::macaddr;
select '8 :0:2b:1:2:3'::macaddr;
select '-1'::macaddr;
select '-1-1-1-1-1-1'::macaddr;
select '0x:0:2b:1:2:3'::macaddr;
select '100000008:0:2b:1:2:3'::macaddr;
select '08:00:2b:01:02:03:'::macaddr;
