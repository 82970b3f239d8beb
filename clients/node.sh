# What applications of Node share; sourced by their prepare.sh and run.sh.

# FOLDER's program in DIRECTORY/app with the packages of its package-lock.json: DIRECTORY FOLDER
node_application() {
    mkdir -p "$1/app"
    cp "$2"/package*.json "$1/app"
    (cd "$1/app" && npm ci --silent --no-audit --no-fund)
}

# Runs app.mjs from DIRECTORY/app, where its packages are: DIRECTORY FOLDER REPORT
node_run() {
    cp "$2"/*.mjs "$1/app"
    export DATABASE_URL="postgres://$PGUSER@$PGHOST:$PGPORT/$PGDATABASE"
    (cd "$1/app" && node app.mjs > "$3")
}
