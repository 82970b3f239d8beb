//! pgjdbc, the driver of most Java programs: a Java program that uses it as BenchmarkSQL and others do.
//!
//! The driver comes from Maven Central through `mvn`, once, into `target/pgjdbc`; a JDK compiles the program.

use std::path::{Path, PathBuf};

use mote_it::TestServer;
use mote_it::clients::{program, run_with_input};
use mote_it::server::is_oracle;

const VERSION: &str = "42.7.7";
const ADVICE: &str = "install a JDK and Maven (apt-get install default-jdk-headless maven)";

#[test]
fn conformance() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let directory = root.join("target/pgjdbc");
    std::fs::create_dir_all(&directory).expect("target can be written");
    let jar = driver(&directory);
    let source = root.join("tests/it/java/Conformance.java").display().to_string();
    let said = program(
        "javac",
        &["-cp", &jar, "-d", ".", "-Xlint:all", &source],
        &directory,
        ADVICE,
    );
    assert!(said.ok && said.err.is_empty(), "javac: {}{}", said.out, said.err);
    let server = TestServer::start("pgjdbc");
    let url = format!("jdbc:postgresql://{}/{}", server.address, server.database());
    let path = format!("{jar}:.");
    let mut java = std::process::Command::new("java");
    // Known defects are asserted of mote, not of PostgreSQL.
    let about = if is_oracle() { "oracle" } else { "mote" };
    java.args(["-cp", &path, "Conformance", &url, server.user(), about])
        .current_dir(&directory);
    // The driver takes the time zone from here, and the server's is compared with it.
    java.env("TZ", "UTC").env("LC_ALL", "C.UTF-8");
    let said = run_with_input(&mut java, "", ADVICE);
    assert!(said.ok, "{}\n{}", said.out, said.err);
    assert_eq!(
        said.out.lines().filter(|l| l.starts_with("ok ")).count(),
        15,
        "{}",
        said.out
    );
}

/// The driver's jar, fetched once.
fn driver(directory: &Path) -> String {
    let jar: PathBuf = directory.join(format!("postgresql-{VERSION}.jar"));
    if !jar.exists() {
        let artifact = format!("-Dartifact=org.postgresql:postgresql:{VERSION}");
        let output = format!("-DoutputDirectory={}", directory.display());
        let said = program(
            "mvn",
            &["-q", "-B", "dependency:copy", &artifact, &output],
            directory,
            ADVICE,
        );
        assert!(
            jar.exists(),
            "mvn did not fetch pgjdbc {VERSION}: {}{}",
            said.out,
            said.err
        );
    }
    jar.canonicalize().expect("it exists").display().to_string()
}
