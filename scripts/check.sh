#!/usr/bin/env bash
# What to run after every small change: format, the order of the modules, and for the crates that differ from the last
# commit (or those named: scripts/check.sh exec types) lints and their unit tests, without the ones that take long.
# `make test` is what a change must pass in the end.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/setup.sh

# Minutes in a debug build, each of them: what they watch is far from most changes.
slow=(--skip serializable --skip stress --skip fuzz)

crates=("$@")
if [ ${#crates[@]} -eq 0 ]; then
    mapfile -t crates < <(git status --porcelain -- crates | sed -nE 's#^.. "?crates/([a-z]+)/.*#\1#p' | sort -u)
fi
packages=()
for crate in "${crates[@]}"; do packages+=(-p "mote-$crate"); done

cargo fmt --all -- --check
cargo test --quiet -p mote-layers
if [ ${#packages[@]} -gt 0 ]; then
    cargo clippy --quiet --no-deps "${packages[@]}" --all-targets -- -D warnings
    cargo test --quiet "${packages[@]}" --lib -- "${slow[@]}"
fi
