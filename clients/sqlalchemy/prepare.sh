set -euo pipefail
folder=$(dirname "$0")
source "$folder/../python.sh"
python_environment "$1" "$folder"
python_source "$1" "$folder"
# The tests load their plugin, and so the whole package, from the sources around them.
ln -sfn source "$1/tests"
