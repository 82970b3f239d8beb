set -uo pipefail
source "$(dirname "$0")/../python.sh"
PSYCOPG2_TESTDB=$PGDATABASE python_tests "$1" "$2" tests
