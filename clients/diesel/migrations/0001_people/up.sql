create type mood as enum ('calm', 'busy');

create table people (
    id serial primary key,
    name text not null,
    mood mood not null default 'calm',
    born date,
    tags text[] not null default '{}',
    about jsonb not null default '{}',
    balance numeric(12, 2) not null default 0,
    key uuid not null default gen_random_uuid() unique,
    made timestamptz not null default now(),
    photo bytea
);

create table posts (
    id bigserial primary key,
    person_id integer not null references people (id) on delete cascade,
    title varchar(200) not null,
    during int4range not null default 'empty',
    updated_at timestamp not null default current_timestamp
);

select diesel_manage_updated_at('posts');
