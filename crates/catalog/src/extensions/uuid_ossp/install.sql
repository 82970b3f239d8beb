-- The functions of uuid-ossp 1.1.
create function uuid_nil() returns uuid language sql immutable strict parallel safe as $$select '00000000-0000-0000-0000-000000000000'::pg_catalog.uuid$$;
create function uuid_ns_dns() returns uuid language sql immutable strict parallel safe as $$select '6ba7b810-9dad-11d1-80b4-00c04fd430c8'::pg_catalog.uuid$$;
create function uuid_ns_url() returns uuid language sql immutable strict parallel safe as $$select '6ba7b811-9dad-11d1-80b4-00c04fd430c8'::pg_catalog.uuid$$;
create function uuid_ns_oid() returns uuid language sql immutable strict parallel safe as $$select '6ba7b812-9dad-11d1-80b4-00c04fd430c8'::pg_catalog.uuid$$;
create function uuid_ns_x500() returns uuid language sql immutable strict parallel safe as $$select '6ba7b814-9dad-11d1-80b4-00c04fd430c8'::pg_catalog.uuid$$;
create function uuid_generate_v1() returns uuid language sql volatile strict parallel safe as $$select pg_catalog.mote_uuid_by_time()$$;
create function uuid_generate_v1mc() returns uuid language sql volatile strict parallel safe as $$select pg_catalog.mote_uuid_by_time()$$;
create function uuid_generate_v3(namespace uuid, name text) returns uuid language sql immutable strict parallel safe as $$select pg_catalog.mote_uuid_by_name(3, $1, $2)$$;
create function uuid_generate_v4() returns uuid language sql volatile strict parallel safe as $$select pg_catalog.gen_random_uuid()$$;
create function uuid_generate_v5(namespace uuid, name text) returns uuid language sql immutable strict parallel safe as $$select pg_catalog.mote_uuid_by_name(5, $1, $2)$$;
