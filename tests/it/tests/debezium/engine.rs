//! Debezium's engine as a process: its libraries come from Maven Central through `mvn`, once, into `target/debezium`, and a JDK
//! compiles the program that embeds it.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use mote_it::clients::program;
use mote_it::process::await_that;
use serde_json::Value;

const ADVICE: &str = "install a JDK and Maven (apt-get install default-jdk-headless maven)";
/// A virtual machine that starts on a machine that does much else.
const TIMEOUT: Duration = Duration::from_secs(180);

/// What one of its events says: the table's topic, the key, and the value, which is null where a key is told to be gone.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    pub topic: String,
    pub key: Value,
    pub value: Value,
}

impl Event {
    fn read(line: &str) -> Event {
        let mut fields = line.splitn(3, '\t');
        let topic = fields.next().expect("a topic").to_string();
        let mut json = || {
            let text = fields.next().expect("three fields");
            serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
        };
        let (key, value) = (json(), json());
        Event { topic, key, value }
    }

    pub fn is_of(&self, table: &str) -> bool {
        self.topic.rsplit('.').next() == Some(table)
    }

    /// Without the schema that may come with it.
    pub fn payload(&self) -> &Value {
        self.value.get("payload").unwrap_or(&self.value)
    }

    /// Read, create, update, delete, truncate; empty: a tombstone.
    pub fn operation(&self) -> &str {
        self.payload()["op"].as_str().unwrap_or_default()
    }

    /// A column of the row after the change.
    pub fn after(&self, column: &str) -> &Value {
        &self.payload()["after"][column]
    }
}

#[derive(Default)]
struct Heard {
    events: Vec<Event>,
    /// What it said besides: how it ended, and its warnings.
    said: Vec<String>,
}

/// A process of the engine, killed with the value.
pub struct Engine {
    child: Child,
    heard: Arc<Mutex<Heard>>,
    readers: Vec<std::thread::JoinHandle<()>>,
}

impl Engine {
    /// Stops by itself after so many events, if that is not zero.
    pub fn start(properties: &[String], stop_after: usize) -> Engine {
        let home = installed();
        let mut java = Command::new("java");
        java.args(["-Xmx256m", "-XX:TieredStopAtLevel=1", "-Duser.timezone=UTC"])
            .arg("-Dorg.slf4j.simpleLogger.defaultLogLevel=warn")
            .args(["-cp", "classes:lib/*", "Debezium"])
            .arg(stop_after.to_string())
            .args(properties)
            .current_dir(home)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = java.spawn().unwrap_or_else(|error| panic!("{error}; {ADVICE}"));
        let heard = Arc::new(Mutex::new(Heard::default()));
        let out = BufReader::new(child.stdout.take().expect("piped above"));
        let err = BufReader::new(child.stderr.take().expect("piped above"));
        let readers = vec![
            std::thread::spawn({
                let heard = heard.clone();
                move || {
                    for line in out.lines().map_while(Result::ok) {
                        match line.strip_prefix("event\t") {
                            Some(event) => {
                                let event = Event::read(event);
                                heard.lock().expect("no panic while held").events.push(event);
                            }
                            None => heard.lock().expect("no panic while held").said.push(line),
                        }
                    }
                }
            }),
            std::thread::spawn({
                let heard = heard.clone();
                move || {
                    for line in err.lines().map_while(Result::ok) {
                        heard.lock().expect("no panic while held").said.push(line);
                    }
                }
            }),
        ];
        Engine {
            child,
            heard,
            readers,
        }
    }

    pub fn events(&self) -> Vec<Event> {
        self.heard.lock().expect("no panic while held").events.clone()
    }

    fn said(&self) -> String {
        self.heard.lock().expect("no panic while held").said.join("\n")
    }

    /// Waits until what it has told is as wanted.
    pub fn await_events(&mut self, what: &str, mut holds: impl FnMut(&[Event]) -> bool) {
        let (mut ended, mut held) = (false, false);
        let reached = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            await_that(what, TIMEOUT, || {
                ended = self
                    .child
                    .try_wait()
                    .expect("a child can be waited for")
                    .is_some();
                held = holds(&self.heard.lock().expect("no panic while held").events);
                held || ended
            });
        }));
        if reached.is_err() || !held {
            let tail: Vec<Event> = self.events().into_iter().rev().take(3).collect();
            panic!("in vain: {what}, ended: {ended}\n{}\n{tail:#?}", self.said());
        }
    }

    /// Waits until it has ended in good order, as it does where it was told to stop by itself; answers what it told.
    pub fn await_end(mut self) -> Vec<Event> {
        await_that("the engine ends", TIMEOUT, || {
            self.child
                .try_wait()
                .expect("a child can be waited for")
                .is_some()
        });
        self.readers
            .drain(..)
            .for_each(|reader| reader.join().expect("its lines are events"));
        let said = self.said();
        assert!(said.lines().any(|line| line == "ended"), "{said}");
        self.events()
    }

    /// Ends it with no chance to say or write anything more; answers what it told in whole lines.
    pub fn kill(mut self) -> Vec<Event> {
        self.child.kill().expect("it runs");
        self.child.wait().expect("a child can be waited for");
        // The last line may be half an event, which its reader does not survive.
        self.readers.drain(..).for_each(|reader| _ = reader.join());
        self.events()
    }

    /// Stops it in good order; answers what it told.
    pub fn stop(mut self) -> Vec<Event> {
        drop(self.child.stdin.take());
        self.await_end()
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // It may have ended.
        let _ = (self.child.kill(), self.child.wait());
    }
}

/// The directory with the libraries and the program, made once for each run of these tests.
fn installed() -> &'static Path {
    static HOME: OnceLock<PathBuf> = OnceLock::new();
    HOME.get_or_init(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let home = root.join("target/debezium");
        std::fs::create_dir_all(home.join("classes")).expect("target can be written");
        let pom = root.join("tests/it/java/debezium/pom.xml");
        // Written last: a fetch that was interrupted is begun again, and so is one of other versions.
        let (mark, wanted) = (
            home.join("fetched"),
            std::fs::read(&pom).expect("it is in the tree"),
        );
        if std::fs::read(&mark).ok().as_ref() != Some(&wanted) {
            let _ = std::fs::remove_dir_all(home.join("lib"));
            let (pom, output) = (
                pom.display().to_string(),
                format!("-DoutputDirectory={}", home.join("lib").display()),
            );
            let arguments = ["-q", "-B", "-f", &pom, "dependency:copy-dependencies", &output];
            program("mvn", &arguments, &home, ADVICE).good();
            std::fs::write(&mark, wanted).expect("target can be written");
        }
        let source = root
            .join("tests/it/java/debezium/Debezium.java")
            .display()
            .to_string();
        let arguments = [
            "-encoding",
            "UTF-8",
            "-cp",
            "lib/*",
            "-d",
            "classes",
            "-Xlint:all",
            &source,
        ];
        let said = program("javac", &arguments, &home, ADVICE);
        // javac has a word on libraries that name absent annotations.
        assert!(said.ok, "javac: {}{}", said.out, said.err);
        home
    })
}
