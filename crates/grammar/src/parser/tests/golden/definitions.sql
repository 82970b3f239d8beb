create table pgbench_history(tid int,bid int,aid    int,delta int,mtime timestamp,filler char(22));
create unlogged table if not exists pgbench_accounts(aid int not null,bid int,abalance int,filler char(84)) partition by range (aid) with (fillfactor=100);
create table p partition of pgbench_accounts for values from (minvalue) to (100);
alter table pgbench_branches add primary key (bid);
alter table pgbench_tellers add constraint f foreign key (bid) references pgbench_branches on delete set null (bid) deferrable initially deferred;
create unique index concurrently if not exists i on only s.t using btree (lower(a) collate "C" text_pattern_ops desc nulls last, b) include (c) where d is not null;
vacuum analyze pgbench_branches;
truncate table pgbench_accounts, pgbench_branches;
copy pgbench_accounts from stdin with (freeze on);
