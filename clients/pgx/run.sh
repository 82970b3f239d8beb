set -uo pipefail
cd "$1/source"
# Statement by statement: what a server lacks of it is seen in the tests that need it.
psql -qX -f testsetup/postgresql_setup.sql
export PGX_TEST_DATABASE="host=$PGHOST port=$PGPORT user=$PGUSER dbname=$PGDATABASE"
export PGX_TEST_TCP_CONN_STRING=$PGX_TEST_DATABASE
go test -json -count=1 -p 1 -timeout 1200s ./... > "$2"
