set -euo pipefail
folder=$(cd "$(dirname "$0")" && pwd)
source "$folder/../java.sh"
java_application "$1" "$folder"
