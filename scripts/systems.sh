#!/bin/sh
# Database servers for the laboratory, each with its data under one directory and as durable as it can be.
#
#   scripts/systems.sh start NAME    starts it (and makes its data once), and prints its URL on standard output
#   scripts/systems.sh stop NAME     stops it and keeps its data
#   scripts/systems.sh remove NAME   stops it and deletes its data
#   scripts/systems.sh list          the names
#
# NAME: pg15 (Debian's postgresql-15), pg18 (scripts/postgres18.sh), mariadb (Debian's mariadb-server, InnoDB),
# pg15-standby and pg18-standby (a fresh copy of the running pg15 or pg18; its primary's commits wait for it until it is stopped).
# Servers refuse to run as root, so root hands them to the users that Debian's packages make.
# Environment: SYSTEMS_DIRECTORY (target/systems; put it on the disk whose durability shall count), SYSTEMS_MEMORY (1GB:
# shared_buffers and innodb_buffer_pool_size), SYSTEMS_PG15_PORT (5415), SYSTEMS_PG15_STANDBY_PORT (5416),
# SYSTEMS_PG18_PORT (5418), SYSTEMS_PG18_STANDBY_PORT (5419), SYSTEMS_MARIADB_PORT (3310), SYSTEMS_CGROUP (none: the directory of a cgroup that is there, whose
# limits then hold for every server that is started, with its pages in the kernel's cache).
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
directory=${SYSTEMS_DIRECTORY:-$root/target/systems}
memory=${SYSTEMS_MEMORY:-1GB}
pg15_port=${SYSTEMS_PG15_PORT:-5415}
pg18_port=${SYSTEMS_PG18_PORT:-5418}
pg15_standby_port=${SYSTEMS_PG15_STANDBY_PORT:-5416}
pg18_standby_port=${SYSTEMS_PG18_STANDBY_PORT:-5419}
mariadb_port=${SYSTEMS_MARIADB_PORT:-3310}
pg15_bin=${SYSTEMS_PG15_BIN:-/usr/lib/postgresql/15/bin}
# 2,000 connections with room for their files; each prepares some thirty statements.
connections=2000
statements=100000

say() {
    echo "systems: $*" >&2
}

# as USER COMMAND...: as somebody who may run a server. What servers say never goes to standard output.
as() {
    user=$1
    shift
    if [ "$(id -u)" = 0 ]; then
        runuser -u "$user" -- "$@" >&2
    else
        "$@" >&2
    fi
}

# own USER: makes the data's directory and gives it away.
own() {
    mkdir -p "$data"
    chmod 700 "$data"
    if [ "$(id -u)" = 0 ]; then chown "$1" "$data"; fi
}

# runs PID: a process that was killed may wait for a parent to hear of it, and runs no more.
runs() {
    kill -0 "$1" 2>/dev/null && ! grep -q '^State:[[:space:]]*Z' "/proc/$1/status" 2>/dev/null
}

# gone PID: waits until nobody waits for a killed process any more, since servers take its number for one that runs.
gone() {
    tries=0
    while kill -0 "$1" 2>/dev/null && ! runs "$1" && [ $tries -lt 300 ]; do
        tries=$((tries + 1))
        sleep 0.1
    done
}

# pg_ctl takes one that waits for its parent for a server that runs.
# pg_running BIN
pg_running() {
    [ -x "$1/pg_ctl" ] && [ -f "$data/PG_VERSION" ] && [ -f "$data/postmaster.pid" ] \
        && runs "$(head -1 "$data/postmaster.pid")" && as postgres "$1/pg_ctl" -D "$data" status >/dev/null 2>&1
}

pg15_running() {
    pg_running "$pg15_bin"
}

pg15_start() {
    [ -x "$pg15_bin/postgres" ] || { say "pg15 needs PostgreSQL 15: apt-get install postgresql-15"; exit 2; }
    if [ ! -f "$data/PG_VERSION" ]; then
        own postgres
        as postgres "$pg15_bin/initdb" -D "$data" -U postgres -A trust -E UTF8 --no-locale
    fi
    if ! pg15_running; then
        [ ! -f "$data/postmaster.pid" ] || gone "$(head -1 "$data/postmaster.pid")"
        as postgres "$pg15_bin/pg_ctl" -D "$data" -l "$data/server.log" -w -t 120 -o "-p $pg15_port -k '' \
            -c listen_addresses=127.0.0.1 -c shared_buffers=$memory -c max_connections=$connections -c fsync=on \
            -c synchronous_commit=on -c full_page_writes=on -c wal_compression=on -c max_wal_size=16GB \
            -c checkpoint_timeout=30min -c max_prepared_transactions=200 -c jit=off" start
    fi
    echo "postgres://postgres@127.0.0.1:$pg15_port/postgres"
}

pg15_stop() {
    if pg15_running; then as postgres "$pg15_bin/pg_ctl" -D "$data" -m fast -w stop; fi
}

# on_primary PORT ARGUMENT...: psql there.
on_primary() {
    port=$1
    shift
    psql -X -q -A -t -v ON_ERROR_STOP=1 -h 127.0.0.1 -p "$port" -U postgres -d postgres "$@"
}

# waits_for PORT NAMES: whether the primary's commits wait for standbys.
waits_for() {
    on_primary "$1" -c "ALTER SYSTEM SET synchronous_standby_names = '$2'" -c "SELECT pg_reload_conf()" >&2
}

pg15_standby_start() {
    if ! pg15_running; then
        # One that was left behind may have another past than the primary.
        rm -rf "$data"
        own postgres
        as postgres "$pg15_bin/pg_basebackup" -h 127.0.0.1 -p "$pg15_port" -U postgres -D "$data" -R -X stream -c fast
        as postgres "$pg15_bin/pg_ctl" -D "$data" -l "$data/server.log" -w -t 120 -o "-p $pg15_standby_port -k '' \
            -c listen_addresses=127.0.0.1 -c shared_buffers=$memory -c max_connections=$connections \
            -c max_prepared_transactions=200 -c hot_standby=on" start
    fi
    waits_for "$pg15_port" '*'
    echo "postgres://postgres@127.0.0.1:$pg15_standby_port/postgres"
}

pg15_standby_stop() {
    # Whoever waits for a standby that is gone waits for ever; a primary that is gone waits for nobody.
    waits_for "$pg15_port" '' || say "the primary does not answer"
    pg15_stop
}

pg18_start() {
    POSTGRES18_DIRECTORY=$directory/pg18 POSTGRES18_PORT=$pg18_port POSTGRES18_SHARED_BUFFERS=$memory \
        POSTGRES18_CONNECTIONS=$connections "$root/scripts/postgres18.sh" start
}

pg18_stop() {
    POSTGRES18_DIRECTORY=$directory/pg18 "$root/scripts/postgres18.sh" stop
}

# Without pg_basebackup, which is not among the binaries and is not served by an older one: its files between the begin and the
# end of a backup, which one session holds.
pg18_copy() {
    mkdir -p "$data"
    on_primary "$pg18_port" -v "from=$directory/pg18/data" -v "to=$data" >&2 <<'COPY'
SELECT pg_backup_start('standby', true) \g /dev/null
\setenv FROM :from
\setenv TO :to
-- What goes while it is copied is made anew by the log.
\! cp -a "$FROM/." "$TO" 2>/dev/null
\! rm -rf "$TO"/postmaster.* "$TO"/pg_replslot/* "$TO"/server.log
SELECT labelfile FROM pg_backup_stop(false) \g :to/backup_label
COPY
    touch "$data/standby.signal"
    echo "primary_conninfo = 'host=127.0.0.1 port=$pg18_port user=postgres'" >> "$data/postgresql.auto.conf"
    own postgres
    if [ "$(id -u)" = 0 ]; then chown -R postgres "$data"; fi
}

pg18_standby_start() {
    bin=$(echo "$directory"/pg18/18.*/bin)
    if ! pg_running "$bin"; then
        rm -rf "$data"
        pg18_copy
        as postgres "$bin/pg_ctl" -D "$data" -l "$data/server.log" -w -t 120 -o "-p $pg18_standby_port \
            -c shared_buffers=$memory -c max_connections=$connections -c hot_standby=on" start
    fi
    waits_for "$pg18_port" '*'
    echo "postgres://postgres@127.0.0.1:$pg18_standby_port/postgres"
}

pg18_standby_stop() {
    bin=$(echo "$directory"/pg18/18.*/bin)
    waits_for "$pg18_port" '' || say "the primary does not answer"
    if pg_running "$bin"; then as postgres "$bin/pg_ctl" -D "$data" -m fast -w stop; fi
}

mariadb_running() {
    [ -f "$data/mariadbd.pid" ] && runs "$(cat "$data/mariadbd.pid")"
}

mariadb_start() {
    command -v mariadbd >/dev/null && command -v mariadb-install-db >/dev/null \
        || { say "mariadb needs MariaDB's server: apt-get install mariadb-server"; exit 2; }
    # Of its own: in a common directory two servers that begin at once take each other's temporary tables away.
    temporary=$data/temporary
    if [ ! -d "$data/mysql" ]; then
        own mysql
        as mysql mkdir -p "$temporary"
        as mysql env "TMPDIR=$temporary" mariadb-install-db --no-defaults "--datadir=$data" --auth-root-authentication-method=normal \
            --skip-test-db
    fi
    if ! mariadb_running; then
        # It stays in the background as a child of nobody; its log is beside its data. With the usual 1,024 descriptors it would leave
        # the last of a thousand clients without an answer, whatever --max-connections says.
        as mysql sh -c "ulimit -n \$(ulimit -H -n); exec mariadbd --no-defaults '--datadir=$data' '--tmpdir=$temporary' --ignore-db-dirs=temporary --bind-address=127.0.0.1 --port=$mariadb_port \
            '--socket=$data/mariadb.sock' '--pid-file=$data/mariadbd.pid' --max-connections=$connections --max-prepared-stmt-count=$statements \
            --innodb-buffer-pool-size=$(echo "$memory" | sed 's/B$//') --innodb-flush-log-at-trx-commit=1 --sync-binlog=1 \
            --innodb-doublewrite=1 --skip-name-resolve >'$data/server.log' 2>&1 </dev/null &"
        tries=0
        until mariadb-admin --no-defaults "--socket=$data/mariadb.sock" -u root ping >/dev/null 2>&1; do
            tries=$((tries + 1))
            if [ $tries -gt 240 ]; then
                say "mariadb did not answer within two minutes; see $data/server.log"
                exit 1
            fi
            sleep 0.5
        done
        mariadb --no-defaults "--socket=$data/mariadb.sock" -u root -e "CREATE DATABASE IF NOT EXISTS bench;
            CREATE USER IF NOT EXISTS bench@'127.0.0.1' IDENTIFIED BY 'bench'; GRANT ALL ON bench.* TO bench@'127.0.0.1'" >&2
    fi
    echo "mysql://bench:bench@127.0.0.1:$mariadb_port/bench"
}

mariadb_stop() {
    if mariadb_running; then mariadb-admin --no-defaults "--socket=$data/mariadb.sock" -u root shutdown; fi
}

usage() {
    sed -n '2,16s/^# \{0,1\}//p' "$0" >&2
    exit 2
}

name=${2:-}
case ${1:-} in
list) echo "pg15 pg15-standby pg18 pg18-standby mariadb"; exit ;;
start | stop | remove) ;;
*) usage ;;
esac
case $name in
pg15 | pg15-standby | pg18 | pg18-standby | mariadb) ;;
*-standby)
    say "no standby of ${name%-standby} is known here"
    exit 2
    ;;
*)
    say "there is no system \"$name\"; there are pg15, pg15-standby, pg18, pg18-standby and mariadb"
    exit 2
    ;;
esac
data=$directory/$name/data
if [ "$1" = start ] && [ -n "${SYSTEMS_CGROUP:-}" ]; then
    # Children stay in the cgroup of who makes them.
    echo $$ >"$SYSTEMS_CGROUP/cgroup.procs" || { say "$SYSTEMS_CGROUP takes no processes"; exit 2; }
fi
does=$(echo "$name" | tr - _)
case $1 in
start) "${does}_start" ;;
stop) "${does}_stop" ;;
remove)
    "${does}_stop"
    rm -rf "$data"
    ;;
esac
