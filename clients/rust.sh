# What applications of Rust share; sourced by their prepare.sh and run.sh.

# Builds FOLDER's crate in DIRECTORY, with the versions of its Cargo.lock: DIRECTORY FOLDER
rust_application() {
    (cd "$2" && CARGO_TARGET_DIR="$1/target" cargo build -q --locked)
}
