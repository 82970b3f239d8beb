create table transfers (
    id bigserial primary key,
    from_id bigint not null references accounts,
    to_id bigint not null references accounts,
    amount numeric(14, 2) not null check (amount > 0)
);

create index on transfers (from_id) include (amount);

create function transferred() returns trigger language plpgsql as $$
begin
    perform pg_notify('transfers', new.id::text);
    return null;
end
$$;

create trigger transferred after insert on transfers for each row execute function transferred();
