-- VARIADIC parameters and arguments by name.
create function vf(variadic a int[]) returns int language sql as 'select array_length(a,1)';
select vf(a => 1);
select vf(a => array[1,2]);
select vf(variadic a => array[1,2]);
create function vf2(x int, variadic a int[] default '{}') returns int language sql as 'select x + coalesce(array_length(a,1),0)';
select vf2(x => 1);
select vf2(1);
select vf2(x => 1, a => 2);
select vf2(1, a => 2);
select vf2(1, variadic a => array[2]);
select vf2(x => 1, variadic a => array[2]);
select vf2(variadic a => array[2], x => 1);
select vf2(a => array[2], variadic x => 1);
