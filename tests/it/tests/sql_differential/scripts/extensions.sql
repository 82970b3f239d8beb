-- CREATE, ALTER and DROP EXTENSION; pgcrypto and uuid-ossp.
create extension if not exists plpgsql;
create extension plpgsql;
create extension pgcrypto version '9.9';
create extension pgcrypto schema ext_nosuch;
create extension pgcrypto;
create extension pgcrypto;
create extension if not exists pgcrypto;
create extension "uuid-ossp" with schema public;
select extname, nspname, extrelocatable, extversion, obj_description(e.oid, 'pg_extension')
  from pg_extension e join pg_namespace n on n.oid = extnamespace order by 1;
select name, default_version, installed_version, comment from pg_available_extensions
  where name in ('pgcrypto', 'plpgsql', 'uuid-ossp') order by 1;
select name, version, installed, superuser, trusted, relocatable, schema from pg_available_extension_versions
  where (name, version) in (('pgcrypto', '1.3'), ('plpgsql', '1.0'), ('uuid-ossp', '1.1')) order by 1;
select p.oid::regprocedure, prorettype::regtype, provolatile, proisstrict, proparallel
  from pg_proc p join pg_depend d on d.classid = 'pg_proc'::regclass and d.objid = p.oid and deptype = 'e'
  join pg_extension e on e.oid = refobjid where proname not in ('pgp_armor_headers', 'gen_random_uuid') and extname <> 'plpgsql' order by extname, p.oid::regprocedure::text collate "C";
-- digests
select a, digest('abc', a) from unnest(array['md5', 'sha1', 'sha224', 'SHA256', 'sha384', 'sha512']) a;
select a, hmac('abc', 'key', a) from unnest(array['md5', 'sha1', 'sha224', 'sha256', 'sha384', 'sha512']) a;
select digest('\x00ff'::bytea, 'md5'), hmac('\x00ff'::bytea, '\x01'::bytea, 'sha1'), hmac('abc', repeat('k', 300), 'sha256');
-- differs: the functions of extensions are SQL functions, which the context names
select digest('x', 'nosuch');
-- differs: the functions of extensions are SQL functions, which the context names
select hmac('x', 'y', 'nosuch');
select digest(null, 'md5'), digest('x', null);
-- passwords
select crypt('pw', '$1$abcdefgh'), crypt('', '$1$'), crypt('längeres Wort, länger als sechzehn', '$1$ab$foo');
select crypt('pw', '$2a$06$abcdefghijklmnopqrstuu'), crypt(repeat('x', 100), '$2a$04$abcdefghijklmnopqrstu.'), crypt('', '$2a$04$zzzzzzzzzzzzzzzzzzzzzz');
select crypt('secret', s) = crypt('secret', crypt('secret', s)), length(s), left(s, 7) from (values (gen_salt('bf', 4)), (gen_salt('bf'))) v(s);
select crypt('secret', s) = crypt('secret', crypt('secret', s)), length(s), left(s, 3) from (values (gen_salt('md5'))) v(s);
-- differs: the functions of extensions are SQL functions, which the context names
select crypt('a', '');
-- differs: the functions of extensions are SQL functions, which the context names
select crypt('a', '$2a$06$short');
-- differs: the functions of extensions are SQL functions, which the context names
select crypt('a', '$2a$03$abcdefghijklmnopqrstuu');
-- differs: the functions of extensions are SQL functions, which the context names
select gen_salt('nosuch');
-- differs: the functions of extensions are SQL functions, which the context names
select gen_salt('bf', 3);
-- differs: the functions of extensions are SQL functions, which the context names
select gen_salt('bf', 32);
-- differs: the functions of extensions are SQL functions, which the context names
select gen_salt('md5', 5);
-- random
select length(gen_random_bytes(1)), length(gen_random_bytes(1024)), public.gen_random_uuid() is not null;
-- differs: the functions of extensions are SQL functions, which the context names
select gen_random_bytes(0);
-- differs: the functions of extensions are SQL functions, which the context names
select gen_random_bytes(1025);
select gen_random_bytes(8) <> gen_random_bytes(8);
-- uuid-ossp
select uuid_nil(), uuid_ns_dns(), uuid_ns_url(), uuid_ns_oid(), uuid_ns_x500();
select uuid_generate_v3(uuid_ns_dns(), 'www.example.com'), uuid_generate_v5(uuid_ns_url(), 'http://example.com/ä');
select substr(uuid_generate_v1()::text, 15, 1), substr(uuid_generate_v1mc()::text, 15, 1), substr(uuid_generate_v4()::text, 15, 1);
create table ext_table (id uuid default uuid_generate_v4() primary key, hash bytea generated always as (digest('a', 'sha1')) stored);
insert into ext_table default values;
select hash from ext_table;
drop extension "uuid-ossp";
-- members
drop function digest(text, text);
create view ext_view as select digest('a', 'md5');
drop extension pgcrypto;
drop table ext_table;
drop extension pgcrypto;
drop view ext_view;
alter extension pgcrypto update;
alter extension pgcrypto update to '9.9';
create schema ext_schema;
alter extension pgcrypto set schema ext_schema;
select ext_schema.digest('a', 'md5');
select digest('a', 'md5');
drop schema ext_schema;
comment on extension pgcrypto is 'changed';
select obj_description(oid, 'pg_extension') from pg_extension where extname = 'pgcrypto';
drop schema ext_schema cascade;
select extname from pg_extension order by 1;
drop extension pgcrypto;
drop extension if exists pgcrypto;
alter extension pgcrypto update;
drop extension "uuid-ossp";
-- others
create role ext_role;
grant create on schema public to ext_role;
set role ext_role;
create extension pgcrypto;
reset role;
revoke create on schema public from ext_role;
drop role ext_role;
begin;
create extension pgcrypto;
select digest('a', 'md5');
rollback;
select digest('a', 'md5');

-- What the views read.
select name, default_version, comment from pg_available_extensions() where name in ('citext', 'plpgsql', 'hstore') order by 1;
select name, version, superuser, trusted, relocatable, schema, requires from pg_available_extension_versions() where name = 'plpgsql';
