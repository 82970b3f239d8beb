//! BenchmarkSQL's property files, of version 5 and of version 6, as settings of `mote bench tpcc`.
//!
//! Every property of either version is known here: it sets something, or it has no meaning for this driver and is named
//! in a note, or its value asks for what this driver does not do and is refused. An unknown one is a typing error.

use std::collections::BTreeMap;
use std::path::Path;

use mote_workload::tpcc::HomeMode;
use mote_workload::tpcc::mix::{DEFAULT_WEIGHTS, MixMode};

/// About other programs, or about what this laboratory does in its own way.
const WITHOUT_MEANING: [&str; 19] = [
    "db",
    "driver",
    "application",
    "fileLocation",
    "rampupDelay",
    "resultDirectory",
    "osCollectorScript",
    "osCollectorInterval",
    "osCollectorSSHAddr",
    "osCollectorDevices",
    "reportScript",
    "reportIntervalSecs",
    "resultIntervalSecs",
    "traceTerminalIO",
    "monkeys",
    "maxDeliveryBGThreads",
    "maxDeliveryBGPerWarehouse",
    "rampupSUTMins",
    "rampupTerminalMins",
];
/// BenchmarkSQL's samples write a limit that is none.
const NO_LIMIT: f64 = 10_000_000.0;

/// What a file says.
#[derive(Debug, PartialEq)]
pub struct Properties {
    pub url: String,
    pub warehouses: i32,
    pub connections: usize,
    pub load_connections: Option<usize>,
    pub warmup_s: f64,
    pub duration_s: f64,
    pub mix: MixMode,
    pub home: HomeMode,
    pub pace: Option<f64>,
    pub notes: Vec<String>,
}

pub fn read(path: &Path) -> Result<Properties, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    parse(&text).map_err(|error| format!("{}: {error}", path.display()))
}

/// `name=value` lines; `#`, `!` and, as BenchmarkSQL's own samples have it, `//` begin comments.
fn lines(text: &str) -> Result<BTreeMap<String, String>, String> {
    let mut properties = BTreeMap::new();
    for line in text.lines().map(str::trim) {
        if line.is_empty() || ["#", "!", "//"].iter().any(|mark| line.starts_with(mark)) {
            continue;
        }
        let (name, value) = line
            .split_once('=')
            .ok_or_else(|| format!("\"{line}\" is not of the form name=value"))?;
        properties.insert(name.trim().to_string(), value.trim().to_string());
    }
    Ok(properties)
}

/// Takes properties out one by one, so that what is left over is unknown.
struct Taker(BTreeMap<String, String>);

impl Taker {
    fn text(&mut self, name: &str) -> Option<String> {
        self.0.remove(name)
    }

    fn number(&mut self, name: &str) -> Result<Option<f64>, String> {
        let Some(text) = self.text(name) else {
            return Ok(None);
        };
        let number = text
            .parse::<f64>()
            .ok()
            .filter(|number| number.is_finite() && *number >= 0.0);
        number
            .map(Some)
            .ok_or_else(|| format!("{name}={text}: a number of at least 0 is wanted"))
    }

    /// A property of which this driver can do one value only.
    fn only(&mut self, name: &str, able: impl Fn(f64) -> bool, instead: &str) -> Result<(), String> {
        match self.number(name)? {
            Some(value) if !able(value) => Err(format!("{name}={value}: {instead}")),
            _ => Ok(()),
        }
    }
}

fn parse(text: &str) -> Result<Properties, String> {
    let mut taker = Taker(lines(text)?);
    let notes = WITHOUT_MEANING
        .iter()
        .filter_map(|name| {
            taker
                .text(name)
                .map(|value| format!("{name}={value} has no meaning here"))
        })
        .collect();
    refuse(&mut taker)?;
    let user = taker.text("user");
    let password = taker.text("password");
    let conn = taker.text("conn").ok_or("conn is missing")?;
    let url = url(&conn, user.as_deref(), password.as_deref())?;
    let warehouses = taker.number("warehouses")?.ok_or("warehouses is missing")?;
    let threads = taker.number("sutThreads")?;
    let terminals = taker.number("terminals")?;
    let connections = threads
        .or(terminals)
        .ok_or("terminals (version 5) or sutThreads (version 6) is missing")?;
    let minutes = taker.number("runMins")?.filter(|minutes| *minutes > 0.0);
    let fixed = taker.text("terminalWarehouseFixed");
    let properties = Properties {
        url,
        warehouses: warehouses as i32,
        connections: (connections as usize).max(1),
        load_connections: taker.number("loadWorkers")?.map(|workers| workers as usize),
        warmup_s: taker.number("rampupMins")?.unwrap_or(0.0) * 60.0,
        duration_s: minutes.ok_or("runMins is missing: a run lasts as long as it says")? * 60.0,
        mix: mix(&mut taker)?,
        home: match fixed.as_deref() {
            Some("false") => HomeMode::Any,
            Some("true") | None => HomeMode::Fixed,
            Some(other) => return Err(format!("terminalWarehouseFixed={other}: true or false is wanted")),
        },
        pace: pace(&mut taker)?,
        notes,
    };
    match taker.0.keys().next() {
        Some(unknown) => Err(format!(
            "there is no property \"{unknown}\" in BenchmarkSQL 5 or 6"
        )),
        None => Ok(properties),
    }
}

/// What is asked for and cannot be done.
fn refuse(taker: &mut Taker) -> Result<(), String> {
    let none = |value: f64| value == 0.0;
    taker.only(
        "runTxnsPerTerminal",
        none,
        "runs are as long as runMins says, not as many transactions",
    )?;
    taker.only(
        "limitTxnsPerMin",
        |limit| limit == 0.0 || limit >= NO_LIMIT,
        "a closed loop has no limit here; --rate gives transactions due times",
    )?;
    taker.only(
        "terminalMultiplier",
        |factor| factor == 1.0,
        "there are ten terminals per warehouse",
    )?;
    taker.only("restartSUTThreadProbability", none, "connections are kept")?;
    taker.only(
        "rollbackPercent",
        |percent| (0.99..=1.02).contains(&percent),
        "one order in a hundred is rolled back, as clause 2.4.1.4 has it",
    )?;
    taker.only("useWarehouseFrom", |from| from <= 1.0, "all warehouses are used")?;
    taker.only("useWarehouseTo", |to| to < 1.0, "all warehouses are used")?;
    match taker.text("useStoredProcedures").as_deref() {
        None | Some("false") => Ok(()),
        Some(value) => Err(format!(
            "useStoredProcedures={value}: transactions are interactive here"
        )),
    }
}

/// `jdbc:postgresql://host:port/database?options` with the credentials of the file.
fn url(conn: &str, user: Option<&str>, password: Option<&str>) -> Result<String, String> {
    let address = conn.strip_prefix("jdbc:postgresql://").ok_or_else(|| {
        format!(
            "conn={conn}: the driver speaks PostgreSQL's protocol, as jdbc:postgresql://host:port/database"
        )
    })?;
    // JDBC's options are that driver's own.
    let address = address.split_once('?').map_or(address, |(address, _)| address);
    let encode = |text: &str| -> String {
        let each = text.bytes().map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => (byte as char).to_string(),
            other => format!("%{other:02X}"),
        });
        each.collect()
    };
    let credentials = match (user, password) {
        (Some(user), Some(password)) => format!("{}:{}@", encode(user), encode(password)),
        (Some(user), None) => format!("{}@", encode(user)),
        _ => String::new(),
    };
    Ok(format!("postgres://{credentials}{address}"))
}

/// Version 5 names all five weights, version 6 all but that of new orders, which is the rest.
fn mix(taker: &mut Taker) -> Result<MixMode, String> {
    let names = [
        "paymentWeight",
        "orderStatusWeight",
        "deliveryWeight",
        "stockLevelWeight",
    ];
    let new_order = taker.number("newOrderWeight")?;
    let mut others = Vec::new();
    for name in names {
        others.push(taker.number(name)?);
    }
    if new_order.is_none() && others.iter().all(Option::is_none) {
        return Ok(DEFAULT_WEIGHTS);
    }
    let others: Option<Vec<f64>> = others.into_iter().collect();
    let others = others.ok_or_else(|| format!("weights go together: {}", names.join(", ")))?;
    let new_order = new_order.unwrap_or(100.0 - others.iter().sum::<f64>());
    let weights = [new_order, others[0], others[1], others[2], others[3]];
    let text = weights.map(|weight| format!("{weight:.2}")).join(",");
    text.parse()
}

/// Version 6 multiplies keying and think times; without either there is no waiting.
fn pace(taker: &mut Taker) -> Result<Option<f64>, String> {
    let keying = taker.number("keyingTimeMultiplier")?;
    let thinking = taker.number("thinkTimeMultiplier")?;
    match (keying, thinking) {
        (None, None) => Ok(None),
        (Some(keying), Some(thinking)) if keying == thinking => {
            Ok(Some(keying).filter(|factor| *factor > 0.0))
        }
        _ => Err("keyingTimeMultiplier and thinkTimeMultiplier must be the same".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIVE: &str = "db=postgres\ndriver=org.postgresql.Driver\nconn=jdbc:postgresql://localhost:5432/b?ssl=false\n\
        user=bench\npassword=p@ss\n\nwarehouses=50\nloadWorkers=4\nterminals=20\n// a comment\nrunTxnsPerTerminal=0\n\
        runMins=5\nlimitTxnsPerMin=0\nterminalWarehouseFixed=false\nnewOrderWeight=45\npaymentWeight=43\n\
        orderStatusWeight=4\ndeliveryWeight=4\nstockLevelWeight=4\nresultDirectory=my_result_%tY\n";

    #[test]
    fn version_five() {
        let properties = parse(FIVE).expect("a sample");
        assert_eq!(properties.url, "postgres://bench:p%40ss@localhost:5432/b");
        assert_eq!(
            (
                properties.warehouses,
                properties.connections,
                properties.duration_s
            ),
            (50, 20, 300.0)
        );
        assert_eq!(properties.load_connections, Some(4));
        assert_eq!((properties.home, properties.pace), (HomeMode::Any, None));
        assert_eq!(Ok(properties.mix), "45,43,4,4,4".parse());
        assert!(
            properties
                .notes
                .iter()
                .any(|note| note.starts_with("resultDirectory"))
        );
    }

    #[test]
    fn version_six() {
        let text = "conn=jdbc:postgresql://h/d\nuser=u\nwarehouses=10\nsutThreads=16\nrampupMins=0.5\nrunMins=1\n\
            rollbackPercent=1.01\npaymentWeight=43.2\norderStatusWeight=4.2\ndeliveryWeight=4.2\nstockLevelWeight=4.2\n\
            keyingTimeMultiplier=0.1\nthinkTimeMultiplier=0.1\nmonkeys=2\n";
        let properties = parse(text).expect("a sample");
        assert_eq!(Ok(properties.mix), "44.2,43.2,4.2,4.2,4.2".parse());
        assert_eq!(
            (properties.pace, properties.warmup_s, properties.connections),
            (Some(0.1), 30.0, 16)
        );
    }

    #[test]
    fn what_cannot_be_done_is_refused_by_name() {
        let with = |line: &str| parse(&format!("{FIVE}{line}\n")).expect_err(line);
        for (line, word) in [
            ("limitTxnsPerMin=300", "limitTxnsPerMin"),
            ("runTxnsPerTerminal=10", "runTxnsPerTerminal"),
            ("conn=jdbc:oracle:thin:@h:1521/d", "PostgreSQL's protocol"),
            ("rollbackPercent=5", "rollbackPercent"),
            ("warehousess=3", "warehousess"),
            ("paymentWeight=44", "100"),
            ("runMins=0", "runMins"),
            ("terminals=many", "terminals"),
            ("useStoredProcedures=true", "useStoredProcedures"),
        ] {
            let error = with(line);
            assert!(error.contains(word), "{line}: {error}");
        }
    }
}
