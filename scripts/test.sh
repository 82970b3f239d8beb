#!/usr/bin/env bash
# The whole test suite, on a machine that may have nothing but git, gcc, make and the Rust toolchain.
# What a test needs is installed where that is allowed; what cannot be had makes the suite fail, not pass.
# A step that fails does not keep the others from running: the run ends with a list of what failed.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/setup.sh

failed=()
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# step NAME COMMAND..: runs a step and remembers it if it fails, with the tests that cargo named.
step() {
    local name=$1
    shift
    printf '\n== %s\n' "$name"
    # cargo repeats at its end which binaries failed; each binary lists its failed tests under "failures:".
    if ! "$@" 2>&1 | tee "$log"; then
        failed+=("$name")
        while IFS= read -r line; do failed+=("  $line"); done < <(
            awk '/^failures:$/ { listing = 1; next } /^test result:/ { listing = 0 }
                 listing && /^    [A-Za-z0-9_:]+/ { print $1 }
                 /^    `.*-p .*`$/ { print }' "$log" | sort -u
        )
    fi
}

# need PACKAGES.. -- TEST..: installs the packages unless the test holds, and fails with advice if it still does not.
need() {
    local packages=()
    while [ "$1" != -- ]; do packages+=("$1"); shift; done
    shift
    "$@" >/dev/null 2>&1 && return 0
    mote_install "${packages[@]}" && "$@" >/dev/null 2>&1 && return 0
    echo "mote: the tests need: apt-get install ${packages[*]}" >&2
    exit 1
}

postgres15_server() {
    # The SQL differential starts a cluster of its own from these; MOTE_IT_POSTGRES_BIN names other ones.
    [ -x "${MOTE_IT_POSTGRES_BIN:-/usr/lib/postgresql/15/bin}/initdb" ]
}

draws_pages() {
    "${CHROMIUM:-chromium}" --version && [ -e /usr/share/fonts/truetype/dejavu/DejaVuSans.ttf ]
}

# Programs and test data take some 14 GB; a disk that is full in the middle makes tests fail that are not to blame.
disk_needed_gb=16
disk_free_gb=$(df -BG --output=avail . | tail -1 | tr -dc 0-9)
if [ "$disk_free_gb" -lt "$disk_needed_gb" ]; then
    echo "mote: $disk_free_gb GB of disk are free under $PWD; a whole run from a clean checkout takes up to $disk_needed_gb GB" >&2
fi

# What the integration tests drive: psql and pgbench, a PostgreSQL 15 to compare with, an etcd, Java for pgjdbc.
# Debian's wrappers of psql and pgbench can be there without the programs: so they are run.
need postgresql-client -- psql --version
need postgresql-15 -- pgbench --version
need postgresql-15 -- postgres15_server
need etcd-server -- etcd --version
need default-jdk-headless -- command -v javac
need maven -- command -v mvn
# Counts the instructions of a transaction.
need valgrind -- callgrind_control --version
# Certificates for the tests of TLS, and a client that can be told which protocol to offer.
need openssl -- openssl version
# Draws the laboratory's pages; the kept pictures are in DejaVu's letters.
need chromium fonts-dejavu-core -- draws_pages
need python3 -- python3 --version
# A full disk is tested on a small tmpfs. Without root that is impossible: say so, or the test fails.
if [ "$(id -u)" -ne 0 ] && [ -z "${MOTE_IT_NO_MOUNT:-}" ]; then
    echo "mote: not root: the test of a full disk cannot mount; run as root or set MOTE_IT_NO_MOUNT=1" >&2
    exit 1
fi

if cargo fmt --version >/dev/null 2>&1; then
    step "formatting" cargo fmt --all -- --check
fi
if cargo clippy --version >/dev/null 2>&1; then
    step "lints" cargo clippy --workspace --all-targets --quiet -- -D warnings
fi

# Nobody else builds them, and they use what changes. Their own library in C++ is not wanted for that.
step "fuzz targets compile" env CUSTOM_LIBFUZZER_PATH=/nowhere/libfuzzer.a \
    cargo check --quiet --manifest-path fuzz/Cargo.toml --bins

step "release binary, for tests that load data" cargo build --release --quiet -p mote-cli
export MOTE_BIN="$PWD/target/release/mote"

step "unit tests" cargo test --workspace --exclude mote-it --quiet --no-fail-fast

export MOTE_MODEL_SCHEDULES=${MOTE_MODEL_SCHEDULES:-100}
step "the engine's threads under a model checker, some schedules each" scripts/model_check.sh

step "the laboratory's pages in a browser, beside kept pictures" scripts/screenshots.sh -c

step "integration tests: the binary, driven by real clients" cargo test -p mote-it --quiet --no-fail-fast

if [ ${#failed[@]} -gt 0 ]; then
    printf '\n== what failed\n'
    printf '%s\n' "${failed[@]}"
    exit 1
fi
printf '\n== everything passed\n'
