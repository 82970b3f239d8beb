--liquibase formatted sql

--changeset shop:functions splitStatements:false runOnChange:true
create or replace function spent_by(customer bigint) returns numeric language plpgsql as $$
begin
    return (select coalesce(sum(total), 0) from orders where customer_id = customer);
end;
$$;
--rollback drop function spent_by(bigint);

--changeset shop:index runInTransaction:false
create index concurrently customer_lower on customer (lower(name));
--rollback drop index customer_lower;

--changeset shop:check
--preconditions onFail:HALT onError:HALT
--precondition-sql-check expectedResult:0 select count(*) from orders where total < 0
alter table orders add constraint orders_total check (total >= 0);
--rollback alter table orders drop constraint orders_total;
