set -euo pipefail
folder=$(cd "$(dirname "$0")" && pwd)
source "$folder/../node.sh"
node_application "$1" "$folder"
