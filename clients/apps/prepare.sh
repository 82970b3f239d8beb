set -euo pipefail
folder=$(dirname "$0")
source "$folder/../python.sh"
python_environment "$1" "$folder"
