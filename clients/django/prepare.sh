set -euo pipefail
folder=$(dirname "$0")
source "$folder/../python.sh"
python_environment "$1" "$folder"
python_source "$1" "$folder"
# Alone in a directory: beside the sources, the tests would import those instead of the built package.
rm -rf "$1/tests"
cp -r "$1/source/tests" "$1/tests"
