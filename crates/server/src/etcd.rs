//! A cluster's record in etcd, over its JSON gateway (3.4 and later).
//!
//! Blocks: for threads that may wait, never for a worker. The endpoints are members of one etcd; each request goes to the
//! one that answered last, then to the others in turn. A swap may go to several, too: it names the whole content that it
//! expects, so the second one either finds what the first has put, or is the first.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mote_replication::coordinator::{Coordinator, NoAnswer};
use mote_replication::record::Record;
use mote_replication::roster::{Entry, Roster};
use mote_replication::wish::Wish;
use serde_json::{Value, json};

/// For one endpoint's answer: etcd's own election takes about as long, and another endpoint may know better.
const ANSWER_TIMEOUT: Duration = Duration::from_millis(1000);
const ANSWER_BYTES_MAX: u64 = 1 << 20;
const SCHEME: &str = "etcd://";
const DEFAULT_PORT: u16 = 2379;

/// One cluster of an etcd: `etcd://HOST:PORT[,HOST:PORT...]/NAME`.
#[derive(Clone)]
pub struct Etcd {
    agent: ureq::Agent,
    endpoints: Vec<String>,
    /// The endpoint that is asked first.
    preferred: usize,
    /// Before each key of this cluster.
    prefix: String,
}

impl Etcd {
    pub fn new(url: &str) -> Result<Etcd, String> {
        let wrong = |what: &str| format!("{url}: {what}; expected {SCHEME}HOST:PORT[,HOST:PORT...]/NAME");
        let rest = url.strip_prefix(SCHEME).ok_or_else(|| wrong("another scheme"))?;
        let (hosts, name) = rest
            .split_once('/')
            .ok_or_else(|| wrong("the cluster has no name"))?;
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        if name.is_empty() || name.len() > 63 || !name.bytes().all(plain) {
            return Err(wrong(
                "a cluster's name has 1 to 63 letters, digits, hyphens, underscores and dots",
            ));
        }
        let endpoint = |host: &str| match host.rsplit_once(':') {
            _ if host.is_empty() => Err(wrong("a host is empty")),
            // The colons of an address in brackets are its own.
            Some((_, port)) if !port.ends_with(']') => match port.parse::<u16>() {
                Ok(_) => Ok(format!("http://{host}")),
                Err(_) => Err(wrong("a port is no number")),
            },
            _ => Ok(format!("http://{host}:{DEFAULT_PORT}")),
        };
        let config = ureq::Agent::config_builder()
            .timeout_global(Some(ANSWER_TIMEOUT))
            // The body says more than the status.
            .http_status_as_error(false)
            .max_redirects(0)
            // The environment's proxy is for the web, not for the machine beside.
            .proxy(None)
            .build();
        Ok(Etcd {
            agent: config.into(),
            endpoints: hosts.split(',').map(endpoint).collect::<Result<_, _>>()?,
            preferred: 0,
            prefix: format!("/mote/{name}/"),
        })
    }

    /// The value of a key of this cluster.
    fn get(&mut self, key: &str) -> Result<Option<String>, NoAnswer> {
        let answer = self.ask("range", &json!({ "key": self.key(key) }))?;
        value_of(&answer)
    }

    /// Puts `next` where `expected` stands; answers what stands there if that is something else.
    fn replace(&mut self, key: &str, expected: Option<&str>, next: &str) -> Result<Replaced, NoAnswer> {
        let key = self.key(key);
        let compare = match expected {
            // A key that does not exist has the version 0.
            None => json!({ "key": key, "target": "VERSION", "result": "EQUAL", "version": "0" }),
            Some(text) => {
                json!({ "key": key, "target": "VALUE", "result": "EQUAL", "value": STANDARD.encode(text) })
            }
        };
        let request = json!({
            "compare": [compare],
            "success": [{ "request_put": { "key": key, "value": STANDARD.encode(next) } }],
            "failure": [{ "request_range": { "key": key } }],
        });
        let answer = self.ask("txn", &request)?;
        // Fields that are false are left out.
        if answer["succeeded"] == true {
            return Ok(Replaced::Yes);
        }
        match &answer["responses"][0]["response_range"] {
            Value::Object(_) => Ok(Replaced::No(value_of(&answer["responses"][0]["response_range"])?)),
            _ => Err(not_understood(&answer)),
        }
    }

    fn key(&self, key: &str) -> String {
        STANDARD.encode(format!("{}{key}", self.prefix))
    }

    /// Asks one endpoint after the other until one answers.
    fn ask(&mut self, method: &str, request: &Value) -> Result<Value, NoAnswer> {
        let mut refusals = Vec::new();
        for further in 0..self.endpoints.len() {
            let index = (self.preferred + further) % self.endpoints.len();
            match self.ask_one(&self.endpoints[index], method, request) {
                Ok(answer) => {
                    self.preferred = index;
                    return Ok(answer);
                }
                Err(why) => refusals.push(format!("{}: {why}", self.endpoints[index])),
            }
        }
        Err(NoAnswer(refusals.join("; ")))
    }

    fn ask_one(&self, endpoint: &str, method: &str, request: &Value) -> Result<Value, String> {
        let mut response = self
            .agent
            .post(format!("{endpoint}/v3/kv/{method}"))
            .content_type("application/json")
            .send(request.to_string())
            .map_err(|error| error.to_string())?;
        let body = response
            .body_mut()
            .with_config()
            .limit(ANSWER_BYTES_MAX)
            .read_to_vec();
        let body = body.map_err(|error| error.to_string())?;
        let answer: Result<Value, _> = serde_json::from_slice(&body);
        match (response.status().as_u16(), answer) {
            (200, Ok(answer)) if answer["header"].is_object() => Ok(answer),
            (status, Ok(answer)) => Err(match answer["error"].as_str() {
                Some(error) => error.to_string(),
                None => format!("it answers with status {status}, as no etcd of 3.4 or later does"),
            }),
            (status, Err(_)) => Err(format!("it answers with status {status} and no JSON")),
        }
    }
}

/// What a swap has found.
enum Replaced {
    Yes,
    /// What stands there.
    No(Option<String>),
}

impl Etcd {
    /// All nodes that have entered themselves.
    pub fn roster(&mut self) -> Result<Roster, NoAnswer> {
        let first = format!("{}{NODES}", self.prefix);
        // Up to where the last byte of the prefix, a slash, is one higher.
        let behind = format!("{}0", first.trim_end_matches('/'));
        let request = json!({ "key": STANDARD.encode(&first), "range_end": STANDARD.encode(behind) });
        let answer = self.ask("range", &request)?;
        let entries = pairs_of(&answer)?.into_iter().map(|(key, text)| {
            let name = key.strip_prefix(&first).ok_or_else(|| not_understood(&answer))?;
            let entry = Entry::decode(&text).ok_or_else(|| foreign(&text))?;
            Ok((name.to_string(), entry))
        });
        Ok(Roster(entries.collect::<Result<_, NoAnswer>>()?))
    }

    /// What an operator wishes for; nothing in particular if nobody has said anything.
    pub fn wish(&mut self) -> Result<Wish, NoAnswer> {
        let text = self.get(WISH)?;
        let wish = text.map(|text| Wish::decode(&text).ok_or_else(|| foreign(&text)));
        Ok(wish.transpose()?.unwrap_or_default())
    }

    /// Instead of whatever was wished for before.
    pub fn set_wish(&mut self, wish: &Wish) -> Result<(), NoAnswer> {
        self.put(WISH, &wish.encode())
    }

    /// Enters a node under its name, instead of whoever had it before: the last directory of a name counts.
    pub fn enter(&mut self, name: &str, entry: &Entry) -> Result<(), NoAnswer> {
        self.put(&format!("{NODES}{name}"), &entry.encode())
    }

    fn put(&mut self, key: &str, text: &str) -> Result<(), NoAnswer> {
        let mut expected = self.get(key)?;
        while expected.as_deref() != Some(text) {
            match self.replace(key, expected.as_deref(), text)? {
                Replaced::Yes => break,
                Replaced::No(found) => expected = found,
            }
        }
        Ok(())
    }
}

impl Coordinator for Etcd {
    fn read(&mut self) -> Result<Option<Record>, NoAnswer> {
        let text = self.get(RECORD)?;
        text.map(|text| decode(&text)).transpose()
    }

    fn swap(&mut self, expected: Option<&Record>, next: &Record) -> Result<bool, NoAnswer> {
        let (expected, next) = (expected.map(Record::encode), next.encode());
        match self.replace(RECORD, expected.as_deref(), &next)? {
            Replaced::Yes => Ok(true),
            Replaced::No(found) => Ok(found.is_some_and(|found| found == next)),
        }
    }
}

/// The key that holds the cluster's record.
const RECORD: &str = "record";
/// What an operator wishes for beside it.
const WISH: &str = "sync";
/// Before the names of nodes.
const NODES: &str = "nodes/";

fn decode(text: &str) -> Result<Record, NoAnswer> {
    Record::decode(text).ok_or_else(|| foreign(text))
}

fn foreign(text: &str) -> NoAnswer {
    NoAnswer(format!(
        "what etcd has recorded of this cluster was not written by this release: {text:?}"
    ))
}

fn not_understood(answer: &Value) -> NoAnswer {
    NoAnswer(format!("etcd's answer is not understood: {answer}"))
}

/// The value in the answer of a range of one key.
fn value_of(range: &Value) -> Result<Option<String>, NoAnswer> {
    Ok(pairs_of(range)?.into_iter().next().map(|(_, value)| value))
}

/// Keys and values in the answer of a range.
fn pairs_of(range: &Value) -> Result<Vec<(String, String)>, NoAnswer> {
    let malformed = || not_understood(range);
    let text = |pair: &Value, field: &str| {
        // An empty value is left out.
        let bytes = STANDARD.decode(pair[field].as_str().unwrap_or_default());
        String::from_utf8(bytes.map_err(|_| malformed())?).map_err(|_| malformed())
    };
    match &range["kvs"] {
        Value::Null => Ok(Vec::new()),
        Value::Array(found) => found
            .iter()
            .map(|pair| Ok((text(pair, "key")?, text(pair, "value")?)))
            .collect(),
        _ => Err(malformed()),
    }
}

#[cfg(test)]
#[path = "etcd_tests.rs"]
mod tests;
