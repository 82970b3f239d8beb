#!/bin/sh
# Pictures of the laboratory's pages, as a reader sees them, and a proof that they draw without an error.
#
#   scripts/screenshots.sh [DIRECTORY]     makes the pages and their pictures in DIRECTORY (bench-results/screenshots)
#   scripts/screenshots.sh -p PAGE...      pictures of pages that are there, beside them
#   scripts/screenshots.sh -c [DIRECTORY]  pages of made-up figures, and whether their pictures are those in tests/pictures;
#                                          part of the test suite
#   scripts/screenshots.sh -k [DIRECTORY]  keeps those pictures there: look at what changed before they are committed
#
# Each page is opened in Chromium without a network in light and dark colours, and as wide as a phone. Exit code 1 if a page
# writes to the console, throws, draws fewer charts than it declares, is wider than a phone, or asks for anything outside.
# Environment: MOTE (target/release/mote, or target/debug/mote), CHROMIUM (chromium).
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
chromium=${CHROMIUM:-chromium}
command -v "$chromium" >/dev/null || { echo "screenshots: Chromium is missing: apt-get install chromium" >&2; exit 2; }

# Pages are short runs: what they show is looked at, not compared.
make_pages() {
    mote=${MOTE:-}
    for candidate in "$root/target/release/mote" "$root/target/debug/mote"; do
        [ -n "$mote" ] || ! [ -x "$candidate" ] || mote=$candidate
    done
    [ -n "$mote" ] || { echo "screenshots: there is no mote binary: make build" >&2; exit 2; }
    mkdir -p "$1"
    "$mote" bench tpcc -w 1 -c 4 -d 5 --warmup 2 -q --html "$1/tpcc.html" >/dev/null || [ $? -eq 1 ]
    "$mote" bench point --rows 1000 -c 4 -d 3 --warmup 1 -q --html "$1/point.html" >/dev/null
    "$mote" bench ingest -c 4 -d 3 --warmup 1 -q --html "$1/ingest.html" >/dev/null
    "$mote" bench tatp --subscribers 2000 -c 4 -d 4 --warmup 1 -q --html "$1/tatp.html" >/dev/null || [ $? -eq 1 ]
    "$mote" bench smallbank --customers 1000 -c 4 -d 9 --warmup 1 -q --faults "2s kill; 3s start; 6s stop 700ms" \
        --html "$1/faults.html" >/dev/null || [ $? -eq 1 ]
    "$mote" bench sweep -w 1 -c 1,4,8 -d 2 --warmup 1 -q --html "$1/sweep.html" >/dev/null || [ $? -eq 1 ]
    "$mote" bench checkpoint -w 1 -c 4 -d 12 --warmup 1 --interval 2 -q --html "$1/checkpoint.html" >/dev/null || [ $? -eq 1 ]
    "$mote" bench seeds --only X3,X8,X10,X12,X13 --budget 20s -w 2 -q --systems mote --out "$1/seeds" >/dev/null || [ $? -eq 1 ]
    "$mote" bench shards --servers 1,2 -w 2 -c 4 -d 2 --warmup 1 -q --html "$1/shards.html" >/dev/null || [ $? -eq 1 ]
    "$mote" bench neighbours --only count,sort,repeat -c 4 -d 1 --warmup 0.5 -q --html "$1/neighbours.html" >/dev/null || [ $? -eq 1 ]
    "$mote" bench replication --systems mote -w 1 -c 4,2 --rounds 4 -d 2 --warmup 1 -q --html "$1/replication.html" >/dev/null \
        || [ $? -eq 1 ]
    "$mote" bench failover --systems mote -w 1 -c 4 --cycles 1 --before 2 --after 4 -q --html "$1/failover.html" >/dev/null \
        || [ $? -eq 1 ]
    cp "$1/seeds/index.html" "$1/seeds.html"
    "$mote" bench hotrow -c 4 -d 1 --rounds 2 --lock-rounds 20 -q --html "$1/hotrow.html" >/dev/null || [ $? -eq 1 ]
    "$mote" bench coldstart -w 1,2 --runs 1 -q --html "$1/coldstart.html" >/dev/null || [ $? -eq 1 ]
    "$mote" bench replay -w 1 -c 4 -d 2 --runs 2 -q --html "$1/replay.html" >/dev/null || [ $? -eq 1 ]
    "$mote" bench groupcommit -c 1,4 -d 1 --warmup 0.5 --no-tpcc -q --html "$1/groupcommit.html" >/dev/null || [ $? -eq 1 ]
    "$mote" bench history -d 2 --html "$1/history.html" >/dev/null || [ $? -eq 1 ]
    "$mote" bench tpcc -w 1 -c 4 -d 4 --warmup 1 --pace 0.05 -q --html "$1/terminals.html" >/dev/null || [ $? -eq 1 ]
    canned_pages "$1"
}

# A comparison of a server of constant bytes with itself.
canned_pages() {
    "$mote" bench canned --listen 127.0.0.1:0 2>"$1/canned.log" &
    canned=$!
    trap 'kill "$canned" 2>/dev/null || true' EXIT
    tries=0
    until address=$(sed -n 's/.*listening on //p' "$1/canned.log") && [ -n "$address" ]; do
        tries=$((tries + 1))
        [ $tries -lt 100 ] || { echo "screenshots: the canned server does not start" >&2; exit 2; }
        sleep 0.1
    done
    "$mote" bench versus --workload point --no-load -q --rounds 6 -c 2 -d 0.3 --warmup 0.1 \
        --system "one=postgres://$address/x" --system "two=postgres://$address/x" --html "$1/versus.html" >/dev/null \
        || [ $? -eq 1 ]
    "$mote" bench point --no-load -q -c 2 -d 1 --warmup 0.1 --find-rate p99=10ms --target "postgres://$address/x" \
        --html "$1/find-rate.html" >/dev/null || [ $? -eq 1 ]
    for run in 1 2; do
        "$mote" bench point --no-load -q -c 2 -d 17 --warmup 0.1 --target "postgres://$address/x" --store "$1/runs.db" >/dev/null
    done
    "$mote" bench diff 1 2 --store "$1/runs.db" --html "$1/diff.html" >/dev/null || [ $? -eq 1 ]
    rm -f "$1/runs.db"
    live_page "$1" "postgres://$address/x"
    kill "$canned"
    trap - EXIT
    rm -rf "$1/canned.log" "$1/seeds"
}

# The live page while a run goes on: pictures, and whether its charts are drawn.
live_page() {
    "$mote" bench point --no-load -q -c 2 -d 60 --warmup 2 --target "$2" --web=0 >/dev/null 2>"$1/live.log" &
    run=$!
    tries=0
    until url=$(sed -n 's/^live page: //p' "$1/live.log") && [ -n "$url" ]; do
        tries=$((tries + 1))
        [ $tries -lt 100 ] || { echo "screenshots: the live page does not start" >&2; exit 2; }
        sleep 0.1
    done
    sleep 8 # some seconds of the run, which are what it shows
    picture "$1/live-light.png" "$url" 1200,2400 1
    picture "$1/live-dark.png" "$url" 1200,2400 0
    picture "$1/live-narrow.png" "$url" 500,4600 1
    drawn=$(timeout 120 "$chromium" --headless=new --no-sandbox --disable-gpu --user-data-dir="$profile" \
        --virtual-time-budget=5000 --dump-dom "$url" 2>/dev/null | grep -o '<svg' | wc -l)
    kill "$run"
    wait "$run" 2>/dev/null || true
    errors=$(grep -h CONSOLE "$1"/live-*.png.log || true)
    verdict=PASS
    [ "$drawn" -ge 9 ] && [ -z "$errors" ] || { verdict=FAIL; failed=1; }
    echo "$verdict the live page: charts drawn $drawn${errors:+
$errors}"
    rm -f "$1/live.log" "$1"/live-*.png.log
}

# picture FILE URL WIDTH SCHEME: what the page says of itself goes to FILE.log.
picture() {
    timeout 120 "$chromium" --headless=new --no-sandbox --disable-gpu --hide-scrollbars --disable-extensions --allow-file-access-from-files \
        --user-data-dir="$profile" --host-resolver-rules='MAP * ~NOTFOUND, EXCLUDE 127.0.0.1' --enable-logging=stderr --log-level=0 \
        --blink-settings="preferredColorScheme=$4" --window-size="$3" --virtual-time-budget=5000 \
        --screenshot="$1" "$2" >"$1.log" 2>&1 || { cat "$1.log" >&2; return 1; }
}

# A phone is narrower than Chromium's smallest window, so it is a frame in a page, which also asks the page how it is.
phone_page() {
    cat <<PAGE
<!doctype html><meta charset=utf-8><style>body{margin:0;background:#888}iframe{border:0;width:390px;height:7000px}</style>
<iframe src="$1"></iframe><script>
addEventListener('load', function () {
  setTimeout(function () {
    var page = document.querySelector('iframe').contentDocument;
    var charts = page.querySelectorAll('.chart').length, drawn = page.querySelectorAll('.chart svg').length;
    console.log('page: charts ' + charts + ' drawn ' + drawn + ' width ' + page.documentElement.scrollWidth);
  }, 1500);
});
</script>
PAGE
}

look_at() {
    page=$1
    base=${page%.html}
    picture "$base-light.png" "file://$page" 1200,4600 1
    picture "$base-dark.png" "file://$page" 1200,4600 0
    phone_page "$(basename "$page")" >"$base-frame.html"
    picture "$base-phone.png" "file://$base-frame.html" 500,7000 1
    said=$(sed -n 's/.*"page: \(charts [0-9]* drawn [0-9]* width [0-9]*\)".*/\1/p' "$base-phone.png.log" | head -1)
    set -- $said
    verdict=PASS
    [ $# -eq 6 ] && [ "$2" = "$4" ] && [ "$6" -le 390 ] || verdict=FAIL
    errors=$(grep -h CONSOLE "$base"-*.png.log | grep -v '"page: charts' || true)
    [ -z "$errors" ] || verdict=FAIL
    echo "$verdict $(basename "$page"): ${said:-it said nothing}${errors:+
$errors}"
    rm -f "$base-frame.html" "$base"-*.png.log
    [ "$verdict" = PASS ] || failed=1
}

# Small pictures: half of the page's points in each direction, which is the least that Chromium makes.
small() {
    timeout 120 "$chromium" --headless=new --no-sandbox --disable-gpu --hide-scrollbars --disable-extensions --allow-file-access-from-files \
        --user-data-dir="$profile" --host-resolver-rules='MAP * ~NOTFOUND' --blink-settings="preferredColorScheme=$4" \
        --force-device-scale-factor=0.5 --window-size="$3" --virtual-time-budget=5000 --screenshot="$1" "$2" >/dev/null 2>&1
}

compare_pictures() {
    mkdir -p "$2"
    (cd "$root" && MOTE_PAGES=$(realpath "$2") cargo test --quiet -p mote-bench --lib pages_of_made_up_figures >/dev/null)
    for page in "$2"/*.html; do
        base=${page%.html}
        file=$(realpath "$page")
        look_at "$file" # the same names: the small pictures take their place
        small "$base-light.png" "file://$file" 1200,2400 1
        small "$base-dark.png" "file://$file" 1200,2400 0
        phone_page "$(basename "$page")" >"$base-frame.html"
        small "$base-phone.png" "file://$(realpath "$base-frame.html")" 500,2400 1
        rm -f "$base-frame.html"
    done
    if [ "$1" = -k ]; then
        mkdir -p "$root/tests/pictures"
        cp "$2"/*.png "$root/tests/pictures/"
    else
        python3 "$root/scripts/pictures.py" "$root/tests/pictures" "$2"/*.png || failed=1
    fi
}

profile=$(mktemp -d)
failed=0
if [ "${1:-}" = -c ] || [ "${1:-}" = -k ]; then
    compare_pictures "$1" "${2:-$root/bench-results/pictures}"
elif [ "${1:-}" = -p ]; then
    shift
    for page in "$@"; do look_at "$(realpath "$page")"; done
else
    directory=${1:-$root/bench-results/screenshots}
    make_pages "$directory"
    for page in "$(realpath "$directory")"/*.html; do look_at "$page"; done
fi
rm -rf "$profile"
exit $failed
