#!/usr/bin/env bash
# PostgreSQL 15's own test suites, for `make conformance-isolation` and `make conformance-regress`: fetched as Debian's
# source package, checked by apt's signatures, and unpacked under target/postgres15-source. Nothing of it is part of
# this repository.
#
#   scripts/postgres15_source.sh [isolation|regress]     prints the directory of that suite
#
# The apt configuration is one of its own in the same directory: the system's sources stay as they are.
# Environment: MOTE_POSTGRES15_SOURCE names an unpacked source tree of PostgreSQL 15.
set -euo pipefail
cd "$(dirname "$0")/.."

suite=${1:-isolation}
directory=$PWD/target/postgres15-source
tree=${MOTE_POSTGRES15_SOURCE:-$directory/tree}
if [ -d "$tree/src/test/$suite" ]; then
    echo "$tree/src/test/$suite"
    exit
fi
if [ -n "${MOTE_POSTGRES15_SOURCE:-}" ]; then
    echo "postgres15_source: no src/test/$suite in $tree" >&2
    exit 2
fi

keyring=/usr/share/keyrings/debian-archive-keyring.gpg
for program in apt-get tar bzip2; do
    command -v "$program" >/dev/null || {
        echo "postgres15_source: $program is missing; unpack PostgreSQL 15's source yourself and set" \
            "MOTE_POSTGRES15_SOURCE" >&2
        exit 2
    }
done
mkdir -p "$directory"/apt/{lists,cache}/partial "$directory/download"
echo "deb-src [signed-by=$keyring] http://deb.debian.org/debian bookworm main" > "$directory/apt/sources.list"
apt_options=(-q -o "Dir::Etc::sourcelist=$directory/apt/sources.list" -o Dir::Etc::sourceparts=/dev/null
    -o "Dir::State::lists=$directory/apt/lists" -o "Dir::Cache=$directory/apt/cache" -o APT::Sandbox::User=root)
echo "postgres15_source: fetching the source package postgresql-15" >&2
apt-get "${apt_options[@]}" update >&2
(cd "$directory/download" && apt-get "${apt_options[@]}" source --download-only postgresql-15 >&2)
# Unpacked beside its place and then renamed: an interrupted run leaves nothing that looks complete.
rm -rf "$tree" "$tree.partial"
mkdir -p "$tree.partial"
tar -xjf "$directory"/download/postgresql-15_*.orig.tar.bz2 -C "$tree.partial" --wildcards --strip-components=1 \
    '*/configure' '*/src/test/isolation/specs/*' '*/src/test/isolation/expected/*' \
    '*/src/test/regress/sql/*' '*/src/test/regress/data/*' '*/src/test/regress/parallel_schedule'
mv "$tree.partial" "$tree"
rm -rf "$directory/download" "$directory/apt"
echo "$tree/src/test/$suite"
