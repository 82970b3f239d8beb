//! pgjdbc, the driver of most Java programs: a Java program that uses it as BenchmarkSQL and others do.
//!
//! The driver comes from Maven Central through `mvn`, once, into `target/pgjdbc`; a JDK compiles the program.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use mote_it::TestServer;
use mote_it::clients::{program, run_with_input};
use mote_it::server::{TemporaryDirectory, is_oracle};

const VERSION: &str = "42.7.7";
const ADVICE: &str = "install a JDK and Maven (apt-get install default-jdk-headless maven)";

#[test]
fn conformance() {
    let driver = Driver::with("Conformance");
    let server = TestServer::start("pgjdbc");
    let said = driver.run("Conformance", &server, "all");
    assert_eq!(
        said.lines().filter(|l| l.starts_with("ok ")).count(),
        15,
        "{said}"
    );
}

/// Two-phase commit by PGXADataSource, and a transaction manager that comes back after the server was killed.
#[test]
fn two_phase_commit() {
    let driver = Driver::with("TwoPhase");
    driver.run("TwoPhase", &TestServer::start("pgjdbc-xa"), "all");
    if is_oracle() {
        return;
    }
    let directory = TemporaryDirectory::new("pgjdbc-xa-killed");
    let data = directory.path().join("data");
    let open = || TestServer::open(&data, &[]).expect("it starts");
    let server = open();
    driver.run("TwoPhase", &server, "prepare");
    drop(server.kill());
    driver.run("TwoPhase", &open(), "recover");
}

/// pgjdbc, and a program compiled against it.
struct Driver {
    directory: PathBuf,
    jar: String,
}

impl Driver {
    fn with(class: &str) -> Driver {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let directory = root.join("target/pgjdbc");
        std::fs::create_dir_all(&directory).expect("target can be written");
        let jar = {
            // The tests of this file run at the same time; one fetches.
            static FETCHING: Mutex<()> = Mutex::new(());
            let _one_at_a_time = FETCHING.lock().unwrap_or_else(PoisonError::into_inner);
            driver(&directory)
        };
        let source = root
            .join(format!("tests/it/java/{class}.java"))
            .display()
            .to_string();
        let said = program(
            "javac",
            &[
                "-encoding",
                "UTF-8",
                "-cp",
                &jar,
                "-d",
                ".",
                "-Xlint:all",
                &source,
            ],
            &directory,
            ADVICE,
        );
        assert!(said.ok && said.err.is_empty(), "javac: {}{}", said.out, said.err);
        Driver { directory, jar }
    }

    /// What the program printed; it must end well.
    fn run(&self, class: &str, server: &TestServer, last: &str) -> String {
        let url = format!("jdbc:postgresql://{}/{}", server.address, server.database());
        let path = format!("{}:.", self.jar);
        let mut java = std::process::Command::new("java");
        java.args(["-cp", &path, class, &url, server.user(), last])
            .current_dir(&self.directory);
        // The driver takes the time zone from here, and the server's is compared with it.
        java.env("TZ", "UTC").env("LC_ALL", "C.UTF-8");
        let said = run_with_input(&mut java, "", ADVICE);
        assert!(said.ok, "{}\n{}", said.out, said.err);
        said.out
    }
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
