set -euo pipefail
module=github.com/jackc/pgx/v5@v5.12.0
sum=h1:hWwax8YiGT0YiN50U1oIDn5kgR7KC2tG3rmavwpPkxY=
answer=$(cd "$1" && go mod download -json "$module")
field() {
    sed -n "s/^\t\"$1\": \"\(.*\)\",\{0,1\}$/\1/p" <<< "$answer"
}
[ "$(field Sum)" = "$sum" ] || {
    echo "pgx: $module has the sum $(field Sum) instead of $sum" >&2
    exit 1
}
# The module cache is read-only, and a module's tests run only as the main module.
rm -rf "$1/source"
cp -r "$(field Dir)" "$1/source"
chmod -R u+w "$1/source"
cd "$1/source"
go test -count=1 -run '^$' ./...
