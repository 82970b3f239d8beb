-- Zones by number, abbreviations that have changed their meaning, POSIX names without a name.
set timezone = '+02:00'; show timezone;
select to_char(timestamptz '2020-01-01 00:00:00 UTC', 'OF TZH:TZM'), timestamptz '2020-01-01 00:00:00 UTC';
set timezone = '-00:30';
select to_char(timestamptz '2020-01-01 00:00:00 UTC', 'OF TZH:TZM');
set timezone = '04:15';
select to_char(timestamptz '2020-01-01 00:00:00 UTC', 'OF TZH:TZM');
set timezone = '00:00'; show timezone;
set timezone = 'foo:bar';
set timezone = 'UTC';
select make_timestamptz(1973, 07, 15, 08, 15, 55.33, '+2') = '1973-07-15 08:15:55.33+02'::timestamptz;
with z (tz) as (values ('+1'), ('+1:'), ('+1:0'), ('+100'), ('+01:00'), ('-1000'), ('-10:0'), ('+10:00:'), ('-10:00:01'), ('EST'), ('Europe/Prague'), ('MSK'))
    select make_timestamptz(2010, 2, 27, 3, 45, 00, tz), tz from z;
select make_timestamptz(1973, 07, 15, 08, 15, 55.33, '2');
select make_timestamptz(2014, 12, 10, 10, 10, 10, '+16');
select make_timestamptz(2014, 12, 10, 10, 10, 10, '+10:60');
select make_timestamptz(2014, 12, 10, 10, 10, 10, 'Nehwon/Lankhmar');
select t, t::timestamptz, t::timestamp at time zone 'MSK' from (values ('2011-03-27 02:00:00 MSK'), ('2011-03-27 01:59:59 MSK'), ('2011-03-27 04:00:00 MSK'), ('2014-10-26 00:59:59 MSK'), ('2014-10-26 01:00:00 MSK'), ('1990-07-01 00:00 MSK'), ('2001-02-16 20:38:40 VET'), ('2020-06-01 12:00 SGT'), ('2020-06-01 12:00 ART')) v(t);
select '2011-03-26 23:59:59 UTC'::timestamptz at time zone 'MSK', '2014-10-25 22:00:00 UTC'::timestamptz at time zone 'msk', '2000-01-01 00:00 UTC'::timestamptz at time zone 'VET';
select '2020-01-01 12:00 akst'::timestamptz, '2020-01-01 12:00 CLST'::timestamptz, '2020-01-01 12:00 ULAST'::timestamptz;
select '2020-01-01 12:00 WEST'::timestamptz;
select date_trunc('day', timestamptz '2001-02-16 20:38:40+00', 'VET');
