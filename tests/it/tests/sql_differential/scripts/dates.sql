-- Dates, times, timestamps: input, arithmetic, extraction.
select date '2024-02-29', date '20240229', date 'Feb 29, 2024', date '29 February 2024', date '2/29/2024', date '0044-03-15 BC';
select date '2024.60';
select date '2023-02-29';
select date '2024-13-01';
select date 'infinity', date '-infinity', date 'epoch', date '5874897-12-31', date '4713-01-01 BC';
select date '5874898-01-01';
select date '2024-02-29' + 1, date '2024-03-01' - 1, date '2024-03-01' - date '2024-02-01', date '2024-01-31' + interval '1 month', date '2024-01-01' + time '12:00';
select timestamp '2024-02-29 12:34:56.789', timestamp '2024-02-29T12:34:56', timestamp '2024-02-29', timestamp '2024-02-29 24:00:00', timestamp '20240229 123456', timestamp '2024-02-29 12:34 PM';
select timestamp '2024-02-29 25:00';
select timestamp 'tomorrow' > timestamp 'today', timestamp 'now' is not null, date 'yesterday' < date 'today';
select timestamp '2024-01-31' + interval '1 month', timestamp '2024-03-31' - interval '1 month', timestamp '2024-03-10' - timestamp '2024-01-01 06:00', timestamp 'infinity' - interval '1 day';
select timestamptz '2024-07-01 12:00:00+02', timestamptz '2024-07-01 12:00 Europe/Berlin', timestamptz '2024-07-01 12:00:00-0330', timestamptz '2024-07-01 12:00Z';
select timestamp '2024-07-01 12:00' at time zone 'America/New_York', timestamptz '2024-07-01 12:00Z' at time zone 'Asia/Tokyo', timestamptz '2024-07-01 12:00Z' at time zone interval '3 hours', timezone('UTC', timestamp '2024-01-01');
select time '12:34:56.789', time '12:34 AM', time '24:00', time '12:00' + interval '13 hours', time '12:00' - time '10:30';
select time '25:00';
select interval '1 year 2 months 3 days 04:05:06.789', interval '-1 day', interval '1 week', interval '90 minutes', interval 'P1Y2M3DT4H5M6S', interval '1-2', interval '3 4:05', interval '1.5 days', interval '1.5 months', interval '@ 1 hour ago';
select interval '1 month' * 3, interval '1 hour' / 2, interval '1 day' * 1.5, interval '1 month' / 4, -interval '1 day', interval '1 day' + interval '25 hours', interval '10' second;
select interval '1' year, interval '5' day, interval '1-2' year to month, interval '1 2:03' day to minute;
select interval '1 month' = interval '30 days', interval '1 day' = interval '24 hours', interval '1 year' > interval '360 days', interval '1 day' < interval '25 hours';
select justify_hours(interval '27 hours'), justify_days(interval '35 days'), justify_interval(interval '1 mon -1 hour'), make_interval(days => 10), make_date(2024, 2, 29), make_time(8, 15, 23.5), make_timestamp(2024, 1, 2, 3, 4, 5.5);
select make_date(2023, 2, 29);
select extract(year from date '2024-02-29'), extract(month from date '2024-02-29'), extract(day from date '2024-02-29'), extract(dow from date '2024-02-29'), extract(isodow from date '2024-02-25'), extract(doy from date '2024-02-29'), extract(week from date '2024-12-30'), extract(isoyear from date '2024-12-30'), extract(quarter from date '2024-05-01'), extract(decade from date '2024-05-01'), extract(century from date '2000-01-01'), extract(millennium from date '2001-01-01'), extract(julian from date '2000-01-01');
select extract(epoch from timestamp '2024-01-01 00:00:00.5'), extract(epoch from interval '1 day 1 second'), extract(second from timestamp '2024-01-01 00:00:12.345'), extract(microseconds from time '00:00:01.5'), extract(milliseconds from time '00:00:01.5'), extract(hour from timestamptz '2024-01-01 12:00Z'), extract(timezone from timestamptz '2024-01-01 12:00Z'), date_part('year', timestamp '2024-01-01');
select extract(nonsense from date '2024-01-01');
select date_trunc('month', timestamp '2024-02-29 12:34:56'), date_trunc('week', timestamp '2024-02-29'), date_trunc('quarter', timestamp '2024-02-29'), date_trunc('hour', interval '1 day 02:34:56'), date_trunc('day', timestamptz '2024-02-29 23:00Z', 'Asia/Tokyo'), date_bin('15 minutes', timestamp '2024-01-01 12:34:56', timestamp '2024-01-01');
select date_trunc('nonsense', timestamp '2024-01-01');
select age(timestamp '2024-03-01', timestamp '2023-01-31'), age(date '2024-01-01', date '2024-02-29'), age(timestamp '2024-01-01 10:00', timestamp '2024-01-01 12:30');
select to_char(timestamp '2024-02-05 03:04:05.678', 'YYYY-MM-DD HH24:MI:SS.MS'), to_char(timestamp '2024-02-05 15:04:05', 'Dy, DD Mon YYYY HH12:MI AM'), to_char(date '2024-02-05', 'FMDay, FMMonth FMDDth'), to_char(timestamp '2024-02-05', 'IYYY-IW-ID DDD Q J'), to_char(interval '25:03:04', 'HH24:MI:SS'), to_char(timestamp '2024-02-05 03:04:05.678901', 'US "text" YY');
select to_date('05 Feb 2024', 'DD Mon YYYY'), to_timestamp('2024-02-05 03:04', 'YYYY-MM-DD HH24:MI'), to_timestamp(1.5), to_date('2024-060', 'YYYY-DDD');
select to_date('abc', 'YYYY');
select to_timestamp('25:00', 'HH24:MI');
select (date '2024-01-01', date '2024-02-01') overlaps (date '2024-01-15', date '2024-03-01'), isfinite(date 'infinity'), isfinite(timestamp '2024-01-01');
select date '2024-01-01' = timestamp '2024-01-01', date '2024-01-01' < timestamptz '2024-01-01 00:00:01Z', timestamp '2024-01-01' = timestamptz '2024-01-01 00:00Z';
select generate_series(timestamp '2024-01-30', timestamp '2024-02-02', interval '1 day'), 1;
select generate_series(date '2024-01-31', date '2024-05-01', interval '1 month')::date;
select '2024-01-01'::date::timestamp, '2024-01-01 23:59'::timestamp::date, '2024-01-01 12:00'::timestamp::time, '1 day'::interval::text, '12:00'::time::interval, '2024-01-01 12:34:56.7894'::timestamp(2), '12:34:56.789'::time(1), '2024-01-01 12:34:56.5'::timestamp(0);
set timezone = 'America/New_York';
select timestamptz '2024-03-10 02:30', timestamptz '2024-11-03 01:30', timestamptz '2024-07-01 00:00Z', timestamp '2024-07-01'::timestamptz, timestamptz '2024-01-01 00:00Z'::date, timestamptz '2024-03-09 12:00' + interval '1 day', timestamptz '2024-03-09 12:00' + interval '24 hours';
set datestyle = 'ISO, DMY';
select date '03/02/2024', date '2024-02-03';
set intervalstyle = 'iso_8601';
select interval '1 year 2 months 3 days 04:05:06';
reset all;
select min(d), max(d), count(distinct d) from (values (date '2024-01-02'), ('2023-12-31'), (null)) v(d);
select sum(i), avg(i), min(i), max(i) from (values (interval '1 day'), ('2 hours'), (null)) v(i);
-- Beyond the years of the zone's table the last rule goes on.
select timestamptz '2050-07-01 12:00 Europe/Berlin' at time zone 'UTC', timestamp '2099-07-01 12:00' at time zone 'America/New_York', timestamptz '2400-07-01 00:00+00' at time zone 'Australia/Sydney';
set timezone = 'America/New_York'; select '2038-07-19 12:00'::timestamptz, '9999-12-31 23:00'::timestamptz, '10000-07-15'::timestamptz, '294000-07-01'::timestamptz, '294000-01-01'::timestamptz, '294276-12-31'::timestamptz; reset timezone;
select date 'January 8, 99 BC', date 'Jan 8 99 BC', date '8 Jan 99 BC', date 'Jan-08-99 BC', date '08-Jan-99 BC', date '0099-01-08 BC', date '01/08/99 BC', timestamp 'Jan 8 12:00:00 99 BC', date 'January 8, 1 BC';
select date 'Feb 29 0001 BC'; select date 'Jan 8, 0 BC';

-- Fields of an interval are taken for those of a date.
select to_char(i, 'I IY IYY IYYY') from unnest(array['1 year 2 mons 3 days', '3 years', '3 days', '5 years 11 mons 30 days', '-2 years', '10000 years 1 mon']::interval[]) i;

-- What the text does not reach says nothing; blanks at its beginning stand for letters of the template.
select to_date(' a  b ', 'century'), to_date('2024', 'YYYY-MM'), to_date('  2024 05', 'YYYY MM'), to_date('', 'YYYY'), to_date(' 2024', 'xYYYY');
select to_date('  x2024', 'xYYYY');
select to_timestamp('2024-05', 'YYYY-MM-DD HH24');
select "bit"(5, 2147483647), "bit"(5, 2147483641), "bit"(5::int8, 2147483647), "bit"(5, -1);
