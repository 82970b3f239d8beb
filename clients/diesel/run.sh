set -uo pipefail
export DATABASE_URL="postgres://$PGUSER@$PGHOST:$PGPORT/$PGDATABASE"
"$1/target/debug/mote-client-diesel" > "$2"
