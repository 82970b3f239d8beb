set -uo pipefail
folder=$(cd "$(dirname "$0")" && pwd)
cp "$folder"/*.go "$1/app"
cd "$1/app"
go build -mod=readonly -o app . || exit 1
export DATABASE_URL="host=$PGHOST port=$PGPORT user=$PGUSER dbname=$PGDATABASE sslmode=disable"
./app > "$2"
