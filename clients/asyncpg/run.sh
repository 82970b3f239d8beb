set -uo pipefail
source "$(dirname "$0")/../python.sh"
python_tests "$1" "$2" tests
