set -euo pipefail
folder=$(dirname "$0")
source "$folder/../python.sh"
python_suite "$1" "$folder"
