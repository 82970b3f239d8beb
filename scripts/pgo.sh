#!/usr/bin/env bash
# A release binary that the compiler has laid out by what servers do: target/pgo/mote.
#
# Builds one that counts, trains it, and builds again by the counts.
#
# A statement of order entry runs through some 60 KB of code, twice the instruction cache, so what stands beside what
# counts for as much as how much of it there is (docs/notebook/comparison.md). What training does not reach the
# compiler takes for rare, and makes it small rather than fast: so training begins with all statements that the tests
# compare with PostgreSQL, then come order entry, sysbench's transactions and TPC-H, at last order entry over TLS and with
# pg_stat_statements.
#
# Two builds and some three minutes of training: 25 minutes on two cores beside other builds.
# Environment: PGO_DIRECTORY (target/pgo), PGO_PORT (5469).
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/setup.sh

directory=$(realpath -m "${PGO_DIRECTORY:-target/pgo}")
port=${PGO_PORT:-5469}
triple=$(rustc -vV | sed -n 's/^host: //p')
counting=$directory/counting/$triple/release/mote
profile=$directory/mote.profdata

say() {
    echo "pgo: $*" >&2
}

# The compiler's own or one of its LLVM: an older one cannot read the counts. Looked for before the builds, not behind them.
find_profdata() {
    local llvm
    llvm=$(rustc -vV | sed -n 's/^LLVM version: \([0-9]*\).*/\1/p')
    compgen -G "$(rustc --print sysroot)/lib/rustlib/$triple/bin/llvm-profdata" || command -v "llvm-profdata-$llvm"
}

# build NAME RUSTFLAGS: with --target, so that what runs while building is not compiled for it.
build() {
    CARGO_INCREMENTAL=0 RUSTFLAGS=$2 cargo build --release -p mote-cli --target "$triple" --target-dir "$directory/$1"
}

# serve OPTION..: starts a server that counts, with a database of its own.
serve() {
    rm -rf "$directory/data"
    "$counting" serve --data "$directory/data" --listen "127.0.0.1:$port" "$@" 2>"$directory/serve.log" &
    server=$!
    # Whatever fails behind this, the server does not stay.
    trap 'kill "$server" 2>/dev/null || true' EXIT
    until psql -h 127.0.0.1 -p "$port" -U postgres -qAtc 'select 1' postgres >/dev/null 2>&1; do
        kill -0 "$server" || { cat "$directory/serve.log" >&2; exit 1; }
        sleep 0.2
    done
}

# Its counts are written when it ends.
end() {
    trap - EXIT
    kill "$server"
    wait "$server" || true
    rm -rf "$directory/data"
}

# Statements of every kind, some of which fail: what they answer is the tests' business.
statements() {
    local script
    serve
    for script in tests/it/tests/sql_differential/scripts/*.sql; do
        psql -h 127.0.0.1 -p "$port" -U postgres -q -f "$script" postgres >/dev/null 2>&1 || true
    done
    end
}

# Order entry over TLS, and with pg_stat_statements.
orders_with_more() {
    local url=postgres://postgres@127.0.0.1:$port/postgres
    local orders=(bench tpcc -w 2 -c 16 -d 8 --warmup 1 --no-check -q)
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -noenc -days 2 -subj /CN=localhost \
        -keyout "$directory/server.key" -out "$directory/server.crt" 2>/dev/null
    serve --tls-cert "$directory/server.crt" --tls-key "$directory/server.key"
    "$counting" "${orders[@]}" --target "$url?sslmode=require"
    psql -h 127.0.0.1 -p "$port" -U postgres -qc 'create extension pg_stat_statements' postgres
    "$counting" "${orders[@]}" --target "$url"
    end
}

train() {
    rm -rf "$directory/counts"
    say "training: statements"
    statements
    say "training: order entry by statements and by procedures"
    "$counting" bench tpcc -w 4 -c 16 -d 20 --warmup 1 --no-check -q >"$directory/train.log"
    "$counting" bench tpcc -w 2 -c 16 -d 8 --warmup 1 --no-check -q --execution procedures >>"$directory/train.log"
    say "training: sysbench's transactions, TPC-H's queries"
    "$counting" bench sysbench --workload all --threads 16 -d 2 --warmup 1 -q >>"$directory/train.log"
    "$counting" bench tpch --scale 0.02 --runs 1 -q >>"$directory/train.log"
    say "training: order entry over TLS and with pg_stat_statements"
    orders_with_more >>"$directory/train.log"
    "$profdata" merge -o "$profile" "$directory"/counts/*.profraw
}

profdata=$(find_profdata) || { rustup component add llvm-tools >&2 && profdata=$(find_profdata); } || {
    say "llvm-profdata of this compiler's LLVM is missing: rustup component add llvm-tools"
    exit 2
}
psql --version >/dev/null 2>&1 || mote_install postgresql-client || {
    say "training needs psql: apt-get install postgresql-client"
    exit 2
}
openssl version >/dev/null 2>&1 || mote_install openssl || {
    say "training over TLS needs openssl: apt-get install openssl"
    exit 2
}
mkdir -p "$directory"
say "building the binary that counts"
# Unused functions of a library in C name others that nobody has: the linker must drop them, as it does without counts.
build counting "-Cprofile-generate=$directory/counts -Clink-arg=-Wl,--gc-sections"
train
rm -rf "$directory/counting"
say "building by the counts"
build by-counts "-Cprofile-use=$profile"
cp "$directory/by-counts/$triple/release/mote" "$directory/mote"
say "$directory/mote"
