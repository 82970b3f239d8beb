set -uo pipefail
folder=$(cd "$(dirname "$0")" && pwd)
source "$folder/../node.sh"
node_run "$1" "$folder" "$2"
