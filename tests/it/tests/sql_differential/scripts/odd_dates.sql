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
-- Zones behind times that are run together, letters that say what a number is, days of the Julian calendar.
select timestamptz '20011227T040506-08', timestamptz '20011227T040506+08', timestamptz '20011227T040506.789-08';
select timestamptz '20011227 040506-08', timestamptz '2001-12-27T040506-08', timestamptz '2001-12-27 0405-0830';
select timestamptz '20011227 040506/08';
select timestamptz 'Y2001M12D27H04M05S06.789+08', timestamptz 'Y2001M12D27H04M05S06.789-08';
select timestamptz 'Y2001M12D27H04MM05S06.789+08', timestamp 'y2001m12d27h04m05s06.789', timestamp 'Y2001M12D27';
select date 'Y2001M12D27', date 'Y2001M13D27', time 'H04M05S06.5';
select time 'H04MM05S06.5', timetz 'H04MM05S06.5+02';
select timestamp 'Y2001M12D27.5';
select timestamp 'Y2001M12';
select timestamptz 'J2452271+08', timestamptz 'J2452271-08', timestamptz 'J2452271.5+08', timestamptz 'J2452271.5-08', timestamp 'J2452271.25';
select timestamptz 'J2452271 04:05:06+08', timestamptz 'J2452271T040506+08';
-- Marks part fields and say nothing else.
select timestamp '1_000';
select date '1_000';
select time '1_000';
select timetz '1_000';
select date '2001#12#27', date '2001_12_27', date '[2001-12-27]', timestamp '2001-12-27 (04:05)', date '{today}' = current_date;
select date '20 Feb 2024', date 'Feb 20 2024', date '2024 Feb 20', date '2024 060', date '2024 366';
select date '2024 367';
select date '2023 366';
set datestyle to 'iso, ymd';
select date '20 Feb 2024', date '24 Feb 20', date '2024 2 3';
set datestyle to 'iso, dmy';
select date '3 2 2024', date '3 Feb 24';
reset datestyle;
-- A zone that changes its offset says nothing without a date.
select time '04:05 Europe/Berlin';
select time '04:05 EST5EDT';
select time '04:05 Asia/Kolkata', time '04:05 EST', time '2024-07-01 04:05 Europe/Berlin';
-- Words with digits name zones, but for the letters that say what a number is.
select time 'ab1';
select time '04:05 ab1';
select timetz 'x9';
select timestamptz '2024-01-01 04:05 ab1';
select timestamptz 'ab1 2024-01-01';
select timestamptz 'Europe/Berlin 2024-01-01 04:05';
select time 'Europe/Berlin 04:05';
select timestamptz '2024-07-01 04:05 Europe/Berlin', timestamptz '2024-07-01 04:05 EST5EDT';
