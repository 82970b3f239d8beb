set -euo pipefail
folder=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1/app"
cp "$folder"/go.mod "$folder"/go.sum "$folder"/*.go "$1/app"
cd "$1/app"
go mod download
