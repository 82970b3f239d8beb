set -uo pipefail
cd "$1/source"
rm -rf target/surefire-reports
# MOTE_CLIENTS_TESTS names classes, as Maven's -Dtest does.
mvn -o -B -DskipShadeDependencies=true -Dmaven-surefire-plugin.version=3.5.3 surefire:test -Dmaven.test.failure.ignore=true ${MOTE_CLIENTS_TESTS:+-Dtest="$MOTE_CLIENTS_TESTS"} \
    -Dtest.url.PGHOST="$PGHOST" -Dtest.url.PGPORT="$PGPORT" -Dtest.url.PGDBNAME="$PGDATABASE" \
    -DprivilegedUser="$PGUSER" -DprivilegedPassword=postgres
# A report per class becomes one.
{
    echo '<testsuites>'
    cat target/surefire-reports/TEST-*.xml | sed 's/<?xml [^>]*?>//'
    echo '</testsuites>'
} > "$2"
