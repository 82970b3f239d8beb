set -euo pipefail
folder=$(cd "$(dirname "$0")" && pwd)
source "$folder/../rust.sh"
rust_application "$1" "$folder"
