# What applications of Java share; sourced by their prepare.sh and run.sh.

# The libraries of FOLDER/pom.xml in DIRECTORY/lib, and the classes of FOLDER/src in DIRECTORY/classes: DIRECTORY FOLDER
java_application() {
    mvn -q -B -f "$2/pom.xml" dependency:copy-dependencies -DoutputDirectory="$1/lib" -Dmdep.overWriteReleases=true
    mkdir -p "$1/classes"
}

# Compiles and runs the class App with the address of the server: DIRECTORY FOLDER REPORT
java_run() {
    rm -rf "$1/classes"
    mkdir -p "$1/classes"
    find "$2/src" -name '*.java' -print0 | xargs -0 javac -nowarn -cp "$1/lib/*" -d "$1/classes" || return
    # Resources lie beside the sources.
    cp -r "$2/src/." "$1/classes/"
    JDBC_URL="jdbc:postgresql://$PGHOST:$PGPORT/$PGDATABASE" \
        java -Xmx512m -Duser.timezone=UTC -Djava.util.logging.config.file="$2/../logging.properties" \
        -cp "$1/classes:$1/lib/*" App "$3"
}
