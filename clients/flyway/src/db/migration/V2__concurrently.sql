create index concurrently customer_name on customer (lower(name));
