#!/usr/bin/env bash
# The engine's tests under the model checker shuttle: a build of its own, in which every atomic operation and every lock
# is a point where another thread may go on (crates/common/src/sync).
#
#   MOTE_MODEL_SCHEDULES   schedules of each test (default: each test's own number, some hundreds)
#   MOTE_MODEL_SEED        the first seed (default 1); a failure prints its schedule
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/setup.sh
# One test at a time: they share the engine's static tables, and a schedule should depend on its seed alone.
RUSTFLAGS="--cfg mote_shuttle" exec cargo test --quiet -p mote-engine --lib --target-dir target/model model:: -- --test-threads=1
