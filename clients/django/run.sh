set -uo pipefail
folder=$(cd "$(dirname "$0")" && pwd)
export PYTHONPATH=$folder PYTHONDONTWRITEBYTECODE=1 PYTHONHASHSEED=0 MOTE_CLIENTS_REPORT=$2
cd "$1/tests"
: >"$2"
# A process and two new databases for each label: what one label breaks costs no other.
for label in ${MOTE_CLIENTS_LABELS:-$(grep -v '^#' "$folder/labels.txt")}; do
    echo "== $label"
    "$1/venv/bin/python" -Wignore runtests.py --settings=server_settings --noinput --parallel=1 "$label"
done
