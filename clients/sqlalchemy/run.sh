set -uo pipefail
source "$(dirname "$0")/../python.sh"
PYTHONPATH=$(cd "$(dirname "$0")" && pwd)
export PYTHONPATH PYTHONDONTWRITEBYTECODE=1
# The folder aaa_profiling counts calls and memory of Python. The suite's own settings end a run at 250 failures.
python_tests "$1" "$2" -p without_extensions -p no:warnings --maxfail 1000000 --backend-only --dropfirst \
    --ignore test/aaa_profiling --dburi "postgresql+psycopg2://$PGUSER@$PGHOST:$PGPORT/$PGDATABASE" test
