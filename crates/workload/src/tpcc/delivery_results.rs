//! The delivery result file of clause 2.7.2: what the deferred part of each delivery did, one line each.
//!
//! ```text
//! queued_at,completed_at,w_id,o_carrier_id,d_1,d_2,d_3,d_4,d_5,d_6,d_7,d_8,d_9,d_10
//! 2026-11-24 23:59:59.001,2026-11-24 23:59:59.114,3,7,2101,2101,,2104,2101,2101,2101,2101,2102,2101
//! ```
//! Times are UTC. A district without an order stays empty. Lines of one driver thread are in the order of completion.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};

use super::input::DeliveryInput;
use super::transactions::Stamp;
use super::transactions::delivery::Delivered;

/// The file, shared by all terminals of a run.
pub struct DeliveryResults {
    /// The first failure is kept until the end.
    state: Mutex<(BufWriter<File>, std::io::Result<()>)>,
}

impl DeliveryResults {
    pub fn create(path: &Path) -> std::io::Result<DeliveryResults> {
        let mut file = BufWriter::new(File::create(path)?);
        let districts: Vec<String> = (1..=Delivered::default().len())
            .map(|number| format!("d_{number}"))
            .collect();
        writeln!(
            file,
            "queued_at,completed_at,w_id,o_carrier_id,{}",
            districts.join(",")
        )?;
        Ok(DeliveryResults {
            state: Mutex::new((file, Ok(()))),
        })
    }

    /// `due_ns` and `now_ns` are of the run's clock: the second one is now.
    pub fn record(&self, input: &DeliveryInput, due_ns: u64, now_ns: u64, delivered: &Delivered) {
        let now_ms = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default()
            .as_millis() as u64;
        let queued_ms = now_ms.saturating_sub(now_ns.saturating_sub(due_ns) / 1_000_000);
        let mut state = self.state.lock().expect("no panic while held");
        let (file, outcome) = &mut *state;
        let line = line(input, queued_ms, now_ms, delivered);
        if outcome.is_ok() {
            *outcome = file.write_all(line.as_bytes());
        }
    }

    pub fn finish(&self) -> std::io::Result<()> {
        let mut state = self.state.lock().expect("no panic while held");
        std::mem::replace(&mut state.1, Ok(()))?;
        state.0.flush()
    }
}

fn line(input: &DeliveryInput, queued_ms: u64, completed_ms: u64, delivered: &Delivered) -> String {
    let (queued, completed) = (Stamp::at_ms(queued_ms), Stamp::at_ms(completed_ms));
    let mut line = format!(
        "{},{},{},{}",
        queued.as_str(),
        completed.as_str(),
        input.warehouse,
        input.carrier
    );
    for order in delivered {
        line.push(',');
        if *order != 0 {
            line += &order.to_string();
        }
    }
    line.push('\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_what_was_delivered_and_what_was_not() {
        let input = DeliveryInput {
            warehouse: 3,
            carrier: 7,
        };
        let mut delivered: Delivered = [2101; 10];
        delivered[2] = 0;
        assert_eq!(
            line(&input, 951_827_696_789, 951_827_696_889, &delivered),
            "2000-02-29 12:34:56.789,2000-02-29 12:34:56.889,3,7,2101,2101,,2101,2101,2101,2101,2101,2101,2101\n"
        );
    }
}
