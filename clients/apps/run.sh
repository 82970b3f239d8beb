set -uo pipefail
folder=$(cd "$(dirname "$0")" && pwd)
export PYTHONDONTWRITEBYTECODE=1
: >"$2"
# An application writes a line for each step; a schema of its own keeps it from the others.
"$1/venv/bin/python" "$folder/alembic/app.py" "$2"
"$1/venv/bin/python" "$folder/psycopg/app.py" "$2"
