#!/bin/sh
# Puts what the last `make seeds` found into README.md (who is better, and what is not comparable, between the marks of "seeds"), and its
# whole page, all thirteen experiments beside their published tables, into docs/seeds.md.
#
#   scripts/quote_seeds.sh [DIRECTORY]    DIRECTORY is the run's (bench-results/seeds)
#
# Nothing is chosen: lines that are worse or undecided stand there with the others, and so does whatever failed.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
directory=${1:-$root/bench-results/seeds}
page=$directory/index.md
[ -f "$page" ] || { echo "quote_seeds: there is no $page: make seeds" >&2; exit 2; }
quoted=$(mktemp)
trap 'rm -f "$quoted"' EXIT
{
    grep '^FAIL ' "$page" || true
    # The sections about who is better and what is not comparable without their headings, up to the next one.
    awk '/^## / { inside = /^## Who is better|^## What is not comparable/; if (/^## What is not/) print "What is not comparable:"; next } inside' "$page"
} >"$quoted"
[ -s "$quoted" ] || { echo "quote_seeds: $page has no table of who is better" >&2; exit 1; }
awk -v quoted="$quoted" '
    /<!-- seeds -->/ { print; while ((getline line < quoted) > 0) print line; inside = 1; next }
    /<!-- seeds end -->/ { inside = 0 }
    !inside { print }
' "$root/README.md" >"$quoted.new"
grep -q '<!-- seeds end -->' "$quoted.new" || { rm -f "$quoted.new"; echo "quote_seeds: README.md has no marks" >&2; exit 1; }
cat "$quoted.new" >"$root/README.md"
rm -f "$quoted.new"
# Where the servers had their data is of no use to a reader.
sed "/^| data_directory /d" "$page" >"$root/docs/seeds.md"
