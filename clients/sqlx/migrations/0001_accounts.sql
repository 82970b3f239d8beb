create type status as enum ('open', 'closed');
create type money_amount as (amount numeric, currency text);
create domain email as text check (value like '%@%');

create table accounts (
    id bigint generated always as identity primary key,
    owner text not null,
    mail email,
    status status not null default 'open',
    balance money_amount,
    limits int8range,
    tags text[] not null default '{}',
    address inet,
    flags bit varying(16),
    key uuid not null default gen_random_uuid(),
    about jsonb,
    opened timestamptz not null default now(),
    day date,
    at time,
    took interval,
    rate double precision
);
