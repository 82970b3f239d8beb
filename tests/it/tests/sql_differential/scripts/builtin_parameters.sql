-- Parameters of built-in functions: how they are shown, and calls that name them.
select p.oid, proname, pg_get_function_arguments(p.oid), pg_get_function_identity_arguments(p.oid),
  pg_get_function_result(p.oid), proretset
  from pg_proc p where pronamespace = 'pg_catalog'::regnamespace and prokind in ('f', 'a')
  and (proname ~ '^(json|make_|generate_|regexp_|string_to|percentile_|unnest$|mode$|concat|format$|num_n|pg_terminate)'
    or proname in ('pg_lock_status', 'pg_options_to_table', 'aclexplode', 'pg_partition_tree', 'pg_partition_ancestors',
      'pg_identify_object', 'pg_identify_object_as_address', 'pg_get_keywords', 'pg_create_physical_replication_slot',
      'pg_create_logical_replication_slot', 'pg_promote', 'int4multirange', 'normalize', 'is_normalized', 'parse_ident',
      'bitand', 'bpchar_larger', 'txid_snapshot_xip'))
  and proname !~ 'tsvector|_support$|^jsonb_(cmp|hash)' and not 'tsvector'::regtype = any(proargtypes)
  order by 1;
select proname, proargtypes, proallargtypes, proargmodes, proargnames, pronargs, pronargdefaults,
  proargdefaults is null from pg_proc
  where pronamespace = 'pg_catalog'::regnamespace and proname in ('jsonb_each', 'json_array_elements', 'make_interval',
    'pg_lock_status', 'concat', 'pg_terminate_backend', 'jsonb_extract_path', 'make_date', 'ascii', 'percentile_disc')
  order by oid;
select proname, proallargtypes, proargmodes, proargnames from pg_proc where proname = '_pg_expandarray';
select make_date(day => 3, month => 2, year => 2001), make_time(hour => 1, min => 2, sec => 3.5),
  make_timestamp(2001, 2, 3, sec => 6.5, min => 5, hour => 4);
select make_timestamptz(2001, 2, 3, 4, 5, sec => 6, timezone => 'UTC') at time zone 'UTC';
select make_interval(secs => 1.5, days => 2);
select * from jsonb_each(from_json => '{"a": 1, "b": null}') order by key;
select * from json_array_elements_text(from_json => '[1, "x"]');
select jsonb_extract_path(from_json => '{"a": {"b": 7}}', variadic path_elems => array['a', 'b']);
select jsonb_extract_path(from_json => '{"a": 7}', path_elems => 'a');
select jsonb_object_field_text(field_name => 'a', from_json => '{"a": 7}');
select normalize(U&'a\0301'), is_normalized(U&'a\0301');
select make_date(2001, 2, dayofmonth => 3);
select make_date(2001, 2, month => 3);
select make_date(year => 2001, day => 3);
select length(value => 'x');
select strpos('abc', substring => 'b');
select concat(a => 1);
select pg_terminate_backend(pid => null, timeout => 1);
