#!/usr/bin/env bash
# The whole test suite, on a machine that may have nothing but git, gcc, make and the Rust toolchain.
# What a test needs is installed where that is allowed; what cannot be had makes the suite fail, not pass.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/setup.sh

step() { printf '\n== %s\n' "$*"; }

# Clients that the integration tests drive: psql and pgbench.
if ! command -v psql >/dev/null 2>&1 || ! command -v pgbench >/dev/null 2>&1; then
    # Debian's client package holds psql; pgbench comes with the server's "contrib" or "postgresql" package.
    mote_install postgresql-client postgresql-contrib || {
        echo "mote: psql and pgbench are missing: apt-get install postgresql-client postgresql-contrib" >&2
        exit 1
    }
fi

if cargo fmt --version >/dev/null 2>&1; then
    step "formatting"
    cargo fmt --all -- --check
fi
if cargo clippy --version >/dev/null 2>&1; then
    step "lints"
    cargo clippy --workspace --all-targets --quiet -- -D warnings
fi

step "release binary, for tests that load data"
cargo build --release --quiet -p mote-cli
export MOTE_BIN="$PWD/target/release/mote"

step "unit tests"
cargo test --workspace --exclude mote-it --quiet

step "integration tests: the binary, driven by real clients"
cargo test -p mote-it --quiet
