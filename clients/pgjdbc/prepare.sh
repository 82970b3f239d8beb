set -euo pipefail
version=42.7.7
sum=216e8ff44559bf1094f671c43d71f65863bff381fa8e0ec6934da5d59f5a112e
artifact=org.postgresql:postgresql:$version:tar.gz:jdbc-src
mvn -q -B dependency:copy -Dartifact="$artifact" -DoutputDirectory="$1/download" -Dmdep.overWriteReleases=true
echo "$sum  $1/download/postgresql-$version-jdbc-src.tar.gz" | sha256sum -c --quiet
rm -rf "$1/source"
mkdir "$1/source"
tar -xzf "$1/download/postgresql-$version-jdbc-src.tar.gz" -C "$1/source" --strip-components=1
cd "$1/source"
# The driver as a jar with its dependencies inside is not what the tests run.
mvn -q -B -DskipShadeDependencies=true -Dmaven-surefire-plugin.version=3.5.3 test-compile
# Fetches what runs the tests.
mvn -q -B -DskipShadeDependencies=true -Dmaven-surefire-plugin.version=3.5.3 surefire:test -Dtest=IntervalTest -DfailIfNoTests=false > /dev/null || true
