# mote: the commands a newcomer needs. `make help` lists them.
SHELL := /bin/bash
WAREHOUSES ?= 4
CONNECTIONS ?= 16
SECONDS ?= 30
SEEDS ?= 200
SCHEDULES ?= 1000
ROUNDS ?= 3
CYCLES ?= 200
TARGET ?= log
SYSTEMS ?= mote,pg15,pg18,mariadb
BUDGET ?= 40m
SEED ?= 1
NODES ?= 3
PORT ?= 5432
CARGO = source scripts/setup.sh && cargo

SUITE ?=

.PHONY: help build pgo cluster-demo check test bench bench-compare seeds mariadb odbc conformance-isolation conformance-regress clients sim ledger ledger-cluster cdc debezium fuzz miri pictures lint clean

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' Makefile | sed -E 's/:.*## /\t/' | expand -t 16

build: ## release binary: target/release/mote
	@$(CARGO) build --release -p mote-cli

pgo: ## the same, laid out by what servers do (profile-guided): target/pgo/mote; two builds
	@scripts/pgo.sh

check: ## after a small change: formatting, layers, lints and quick tests of the crates that differ from the last commit
	@scripts/check.sh

test: ## formatting, lints, all tests
	@scripts/test.sh

bench: build ## load, run and prove TPC-C on a server of its own: WAREHOUSES= CONNECTIONS= SECONDS=
	@mkdir -p bench-results
	@target/release/mote bench tpcc --warehouses $(WAREHOUSES) --connections $(CONNECTIONS) --duration $(SECONDS) \
		--json bench-results/tpcc.json --html bench-results/tpcc.html

bench-compare: build ## mote and PostgreSQL 18 side by side: measured, target, ratio
	@url=$$(scripts/postgres18.sh start) && target/release/mote bench compare --postgres "$$url" --rounds $(ROUNDS); \
		status=$$?; scripts/postgres18.sh stop; exit $$status

seeds: build ## the published experiments beside their figures: SYSTEMS=mote,pg15,pg18,mariadb BUDGET=40m; bench-results/seeds/index.html
	@source scripts/setup.sh && mote_setup_systems $(SYSTEMS)
	@target/release/mote bench seeds --systems $(SYSTEMS) --budget $(BUDGET) --out bench-results/seeds

cluster-demo: build ## a cluster of three nodes on this machine, to kill at will; installs etcd where it may. NODES=, PORT=
	@source scripts/setup.sh && mote_setup_etcd && target/release/mote cluster demo --nodes $(NODES) --port $(PORT)

mariadb: build ## the laboratory beside MariaDB's server (Debian's mariadb-server): proofs over its wire, also after kill -9
	@MOTE_BIN=$$PWD/target/release/mote bash -c '$(CARGO) test -p mote-it --features mariadb --test laboratory_mariadb'

odbc: ## the laboratory through drivers of ODBC, built with that feature: PostgreSQL 15 by psqlodbc, MariaDB, mote; also after kill -9
	@source scripts/setup.sh && mote_setup_odbc && cargo build --release -p mote-cli --features odbc \
		&& MOTE_BIN=$$PWD/target/release/mote cargo test -p mote-it --features odbc --test laboratory_odbc

conformance-isolation: build ## PostgreSQL's isolation suite on mote; writes docs/conformance-isolation.md
	@suite=$$(scripts/postgres15_source.sh) && $(CARGO) run --quiet -p mote-conformance -- isolation --suite "$$suite" \
		--known crates/conformance/known-differences.txt --report docs/conformance-isolation.md

conformance-regress: build ## PostgreSQL's regression suite beside a live PostgreSQL 15; docs/conformance-regress.md: ACCEPT=1
	@suite=$$(scripts/postgres15_source.sh regress) && $(CARGO) run --quiet -p mote-conformance -- regress --suite "$$suite" \
		--report docs/conformance-regress.md $(if $(ACCEPT),--accept)

clients: build ## the suites of PostgreSQL's clients beside a live PostgreSQL 15; writes docs/clients.md: SUITE=asyncpg
	@python3 clients/run.py $(SUITE)

sim: ## the simulator on all cores: SEEDS=
	@$(CARGO) run --profile sim -p mote-sim -- --seeds $(SEEDS) --jobs 0
	@$(CARGO) run --profile sim -p mote-sim -- --nodes 3 --seeds $(SEEDS) --jobs 0

ledger: build ## kill -9, SIGSTOP, full disks and restarts under TPC-C; nothing acknowledged may go: CYCLES= SEED=
	@MOTE_BIN=$$PWD/target/release/mote MOTE_LEDGER_CYCLES=$(CYCLES) MOTE_LEDGER_SEED=$(SEED) \
		bash -c '$(CARGO) test -p mote-it --test ledger -- --nocapture'

ledger-cluster: build ## the same on a cluster of three: kills, pauses, cuts, switchovers, etcd's leader: CYCLES= SEED=
	@source scripts/setup.sh && mote_setup_etcd && MOTE_BIN=$$PWD/target/release/mote MOTE_LEDGER_CYCLES=$(CYCLES) \
		MOTE_LEDGER_SEED=$(SEED) cargo test -p mote-it --test ledger_cluster -- --nocapture

cdc: build ## random changes told to a PostgreSQL 15 through kills and two fail-overs, compared row by row: CHANGES= SEED=
	@source scripts/setup.sh && mote_setup_etcd && MOTE_BIN=$$PWD/target/release/mote MOTE_CDC_CHANGES=$(or $(CHANGES),1000000) \
		MOTE_CDC_SEED=$(SEED) $(CARGO) test -p mote-it --test change_data_capture -- --nocapture whatever_dies two_fail_overs

debezium: build ## Debezium's engine as a subscriber: its events beside those of a PostgreSQL 15 (mvn fetches 40 MB once)
	@MOTE_BIN=$$PWD/target/release/mote bash -c '$(CARGO) test -p mote-it --features debezium --test debezium'

model-check: ## the engine's threads under a model checker: SCHEDULES= for each of its tests
	@MOTE_MODEL_SCHEDULES=$(SCHEDULES) scripts/model_check.sh

# Miri has no memory mappings shared with the system and takes minutes for ten thousand blocks: what measures sizes stays out.
miri: ## the engine's slab, versions, epoch and index under Miri, in small sizes (nightly with the miri component)
	@MIRIFLAGS="-Zmiri-disable-isolation $(MIRIFLAGS)" $(CARGO) +nightly miri test -p mote-engine --lib -- \
		epoch:: memory::slab table::version index:: \
		--skip free_pages_go_back --skip entries_of_composite_keys --skip ascending_inserts_fill --skip stress::

fuzz: ## one libFuzzer target under AddressSanitizer (nightly, cargo-fuzz): TARGET=log|image|manifest|label|frontend|replication|ranges|pgoutput|tls|types|rules SECONDS=
	@mkdir -p fuzz/corpus/$(TARGET)
	@export ASAN_OPTIONS=detect_leaks=0 && $(CARGO) +nightly fuzz run $(TARGET) fuzz/corpus/$(TARGET) $(wildcard fuzz/seeds/$(TARGET)) -- -max_total_time=$(SECONDS) -detect_leaks=0

pictures: build ## every kind of page of the laboratory in a browser (Chromium), and those of made-up figures beside kept pictures
	@scripts/screenshots.sh && scripts/screenshots.sh -c

lint: ## formatting and clippy
	@$(CARGO) fmt --all -- --check
	@$(CARGO) clippy --workspace --all-targets -- -D warnings
