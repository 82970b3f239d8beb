# What suites of Python packages share; sourced by their prepare.sh and run.sh.

# A virtual environment with exactly the packages of the suite's requirements.txt: DIRECTORY FOLDER
python_environment() {
    python3 -m venv --clear "$1/venv"
    "$1/venv/bin/pip" install -q --disable-pip-version-check -r "$2/requirements.txt"
}

# The source package that FOLDER/source.txt names with its hash, unpacked as DIRECTORY/source. The tests lie in it; what
# they import is the built package of the same version.
python_source() {
    local name
    name=$(sed -n 's/==.*//p' "$2/source.txt")
    rm -rf "$1/download" "$1/source"
    mkdir -p "$1/source"
    "$1/venv/bin/pip" download -q --disable-pip-version-check --no-deps --no-binary "$name" --require-hashes \
        -d "$1/download" -r "$2/source.txt"
    tar -xzf "$1"/download/*.tar.gz -C "$1/source" --strip-components=1
}

# All that a suite needs whose tests are a folder of its source package: DIRECTORY FOLDER
python_suite() {
    python_environment "$1" "$2"
    python_source "$1" "$2"
    # Alone in a directory: beside the sources, the tests would import those instead of the built package.
    rm -rf "$1/tests"
    mkdir "$1/tests"
    cp -r "$1/source/tests" "$1/tests/tests"
}

# Runs pytest in DIRECTORY/tests with a limit for each test: DIRECTORY REPORT TESTS...
python_tests() {
    local directory=$1 report=$2
    shift 2
    cd "$directory/tests"
    PYTHONHASHSEED=0 "$directory/venv/bin/python" -m pytest -v --timeout "${MOTE_CLIENTS_TIMEOUT:-60}" \
        -p no:cacheprovider --junitxml="$report" "$@"
}
