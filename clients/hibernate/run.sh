set -uo pipefail
folder=$(cd "$(dirname "$0")" && pwd)
source "$folder/../java.sh"
: >"$2"
java_run "$1" "$folder" "$2"
