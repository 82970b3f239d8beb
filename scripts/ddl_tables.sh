#!/usr/bin/env bash
# What DDL costs beside few tables and beside many: medians of CREATE TABLE, ALTER TABLE ADD COLUMN, CREATE INDEX and DROP TABLE
# on two servers of one binary, asked in turn, so that what else the machine does meets both.
#
#   scripts/ddl_tables.sh [MOTE]     MOTE: the binary (target/release/mote)
#
# Environment: FEW (10), MANY (10000), ROUNDS (40), PORT (7541, and the next one).
set -euo pipefail

mote=${1:-$(dirname "$0")/../target/release/mote}
few=${FEW:-10} many=${MANY:-10000} rounds=${ROUNDS:-40} port=${PORT:-7541}
directory=$(mktemp -d)
servers=()
stop() {
    [ ${#servers[@]} -eq 0 ] || kill "${servers[@]}" 2>/dev/null || true
    wait
    rm -rf "$directory"
}
trap stop EXIT

# ask PORT: runs what stands on standard input; a failure ends the script.
ask() { psql -X -q -h 127.0.0.1 -p "$1" -U postgres -d postgres -v ON_ERROR_STOP=1; }

# serve PORT TABLES: a server of its own with so many tables, a hundred of them to a transaction.
serve() {
    "$mote" serve --data "$directory/$1" --listen "127.0.0.1:$1" >"$directory/$1.log" 2>&1 &
    servers+=($!)
    until ask "$1" <<<"select" >/dev/null 2>&1; do
        kill -0 "${servers[-1]}" || { cat "$directory/$1.log" >&2; exit 1; }
        sleep 0.1
    done
    seq "$2" | awk '
        NR % 100 == 1 { if (NR > 1) print "commit;"; print "begin;" }
        { print "create table t" $1 " (id int primary key, n int check (n > 0));" }
        END { print "commit;" }' | ask "$1" >/dev/null
}

# The first pair of statements of a session warms it up and is not timed.
round() {
    ask "$1" <<'SQL' | awk '/^Time:/ { print $2 }' | paste -sd ' '
create table warm (id int primary key); drop table warm;
\timing on
create table fresh (id int primary key, n int check (n > 0));
alter table fresh add column m text;
create index on fresh (n);
drop table fresh;
SQL
}

serve "$port" "$few"
serve "$((port + 1))" "$many"
for _ in $(seq "$rounds"); do
    round "$port" >>"$directory/few"
    round "$((port + 1))" >>"$directory/many"
done

# median FILE COLUMN
median() { awk -v c="$2" '{ print $c }' "$1" | sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
printf '| statement | %s tables (ms) | %s tables (ms) | ratio |\n|---|---|---|---|\n' "$few" "$many"
column=0
for name in 'CREATE TABLE' 'ALTER TABLE ADD COLUMN' 'CREATE INDEX' 'DROP TABLE'; do
    column=$((column + 1))
    a=$(median "$directory/few" $column) b=$(median "$directory/many" $column)
    awk -v n="$name" -v a="$a" -v b="$b" 'BEGIN { printf "| %s | %.2f | %.2f | %.2f |\n", n, a, b, b / a }'
done
