-- Dates of which only a part is written, or too much; zones with odd names.
set timezone = 'UTC';
select date '0';
select date '13';
select date '12';
select timestamptz '0x10';
select date '99999999999999999999';
select timestamp '99999999999999999999';
select date '20241301';
select date '20240132';
select date '00000101';
select date '2024 13';
select time '0';
select timestamptz '2024-01-01 00:00Z' at time zone 'a$b3', timestamp '2024-01-01' at time zone '% x-2:30', timezone('a_b+1', timetz '12:00+00');
select timestamptz '2024-01-01 00:00Z' at time zone 'x-y_z.w';
select timestamptz '2024-01-01 00:00Z' at time zone 'month';
