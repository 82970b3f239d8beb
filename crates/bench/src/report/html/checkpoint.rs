//! The page of an experiment about checkpoints.

use serde_json::Value;

use super::{card, members, small_print};
use crate::report::charts::{self, Mark};
use crate::report::page::{Page, Rendered};

/// What the page of a checkpoint experiment shows.
pub struct CheckpointPicture {
    pub seconds: Vec<f64>,
    /// Latencies of new orders in milliseconds, and new orders a minute, by second.
    pub p99: Vec<f64>,
    pub p50: Vec<f64>,
    pub new_orders: Vec<f64>,
    /// When checkpoints began.
    pub begun: Vec<f64>,
    pub rise_percent: f64,
    pub rows: Vec<Vec<String>>,
}

/// The page of a checkpoint experiment.
pub fn checkpoint(picture: &CheckpointPicture, settings: &Value) -> Rendered {
    let mut page = Page::new(
        "Latency while checkpoints run",
        "Seconds with a checkpoint beside seconds without one",
    );
    page.cards(&[card(
        "99th percentile of new orders while a checkpoint runs",
        format!("{:+.0} %", picture.rise_percent),
    )]);
    let header = [
        "",
        "quiet p50 ms",
        "with p50",
        "quiet p99 ms",
        "with p99",
        "p99 rise",
    ];
    page.table(&header, &picture.rows);
    let marks: Vec<Mark> = picture
        .begun
        .iter()
        .map(|second| Mark {
            second: *second,
            what: "checkpoint".into(),
        })
        .collect();
    page.charts(&[
        charts::lines(
            "New orders: response time",
            "ms",
            &picture.seconds,
            &[("p99", picture.p99.clone()), ("p50", picture.p50.clone())],
            &marks,
        ),
        charts::lines(
            "New orders per minute",
            "NOPM",
            &picture.seconds,
            &[("NOPM", picture.new_orders.clone())],
            &marks,
        ),
    ]);
    page.heading("Settings");
    members(&mut page, settings);
    page.finish(&small_print())
}
