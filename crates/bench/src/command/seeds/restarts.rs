//! X6 beside other systems: a loaded database is stopped in order, the kernel forgets its files, and the clock runs from the start
//! to the first answer and until every row has been read once.
//!
//! Systems differ in what a start is: one that holds its rows in memory has read them all when it first answers, one that reads
//! them from disk when they are wanted has read none. So both moments are told.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::super::quiet::Quiet;
use super::super::systems::{Present, Systems};
use super::measured::{Measurements, Restart};
use super::plan::Plan;
use super::step::provide;
use mote_driver::{Admin, DriverResult, System, Target};
use mote_measure::disk;

/// How often a server that starts is asked whether it answers.
const ASKED_EVERY: Duration = Duration::from_millis(5);
/// What a start is waited for.
const PATIENCE: Duration = Duration::from_secs(600);
/// One column of each large table that no index holds, so that every row is read.
const READ_ALL: [&str; 6] = [
    "SELECT sum(i_price) FROM bmsql_item",
    "SELECT sum(s_ytd) FROM bmsql_stock",
    "SELECT sum(c_balance) FROM bmsql_customer",
    "SELECT sum(h_amount) FROM bmsql_history",
    "SELECT sum(o_ol_cnt) FROM bmsql_oorder",
    "SELECT sum(ol_amount) FROM bmsql_order_line",
];

pub fn restarts(
    plan: &Plan,
    systems: &mut Systems,
    measured: &mut Measurements,
    quiet: &mut Quiet,
) -> Result<(), String> {
    for system in &mut systems.present {
        let what = format!("{}, its restart", system.name);
        if !measured.goes_on(&what)? {
            continue;
        }
        if !system.can_be_restarted() {
            let why = "nobody here can stop and start it".to_string();
            measured.not_restarted.push((system.name.clone(), why));
            continue;
        }
        match provide(plan, system, quiet).and_then(|()| restart(system)) {
            Ok(restart) => {
                quiet.say(&format!(
                    "  {:<10} restarted, first answer after {:.2} s",
                    system.name, restart.first_answer_s
                ));
                measured.restarts.push(restart);
            }
            Err(why) => measured.did_not_end(&what, &why)?,
        }
    }
    Ok(())
}

fn restart(system: &mut Present) -> Result<Restart, String> {
    let target = system.subject.target.clone();
    let failed = |error: mote_driver::DriverError| error.to_string();
    let mut admin = Admin::connect(&target).map_err(failed)?;
    if admin.system() == System::Postgres {
        admin.execute("CHECKPOINT").map_err(failed)?;
    }
    let directory = data_directory(system)?;
    let mut data_bytes = size(&mut admin);
    drop(admin);
    system.end_in_order()?;
    let files = disk::files_below(&directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    disk::forget(&files).map_err(|error| format!("{}: {error}", directory.display()))?;
    // Relaxed: the flag stands alone, and a look too late costs one more question.
    let given_up = AtomicBool::new(false);
    let begun = Instant::now();
    let (started, first_answer_s) = std::thread::scope(|scope| {
        let asking = scope.spawn(|| first_answer(&target, begun, &given_up));
        let started = system.start_again();
        given_up.store(started.is_err(), Ordering::Relaxed);
        (started, asking.join().expect("who asks does not panic"))
    });
    started?;
    let first_answer_s = first_answer_s.ok_or("it started, and did not answer")?;
    let mut admin = Admin::connect(&target).map_err(failed)?;
    for query in READ_ALL {
        admin.value(query).map_err(failed)?;
    }
    let all_read_s = begun.elapsed().as_secs_f64();
    let of_images = admin.value("SELECT image_bytes FROM mote_stat_recovery");
    if let Ok(Some(bytes)) = of_images {
        data_bytes = bytes.parse().ok();
    }
    Ok(Restart {
        system: system.name.clone(),
        data_bytes,
        first_answer_s,
        all_read_s,
        forgotten_bytes: files.iter().map(|(_, bytes)| bytes).sum(),
    })
}

/// Seconds from `begun` to the first answer.
fn first_answer(target: &Target, begun: Instant, given_up: &AtomicBool) -> Option<f64> {
    let ask = || -> DriverResult<Option<String>> {
        Admin::connect(target)?.value("SELECT i_name FROM bmsql_item WHERE i_id = 1")
    };
    while begun.elapsed() < PATIENCE && !given_up.load(Ordering::Relaxed) {
        if let Ok(Some(_)) = ask() {
            return Some(begun.elapsed().as_secs_f64());
        }
        std::thread::sleep(ASKED_EVERY);
    }
    None
}

fn data_directory(system: &Present) -> Result<PathBuf, String> {
    if let Some(own) = &system.data {
        return Ok(own.clone());
    }
    let settings = system.settings_now()?;
    let named = settings["data_directory"]
        .as_str()
        .or(settings["datadir"].as_str());
    named
        .map(PathBuf::from)
        .ok_or_else(|| "it does not say where its data lies".to_string())
}

/// What the system says of the size of its database.
fn size(admin: &mut Admin) -> Option<f64> {
    let asked = match admin.system() {
        System::Postgres => "SELECT pg_database_size(current_database())",
        _ => {
            "SELECT sum(data_length + index_length) FROM information_schema.tables WHERE table_schema = database()"
        }
    };
    admin.value(asked).ok()??.parse().ok()
}
