//! RowDescriptions as they went out before: drivers describe the portal of each run, and a plan's columns do not change.
//!
//! A table per thread, mapped directly by the address of the plan's columns: who comes later takes the place. An entry holds
//! its columns, so that no other plan's can come to lie at their address while it stands. Leaves out: formats that differ by
//! column, and what is longer than [`KEPT_BYTES_MAX`]; at most a megabyte a thread is kept.

use std::cell::RefCell;
use std::sync::Arc;

use mote_catalog::host::OutputColumn;

use super::backend;

const SLOTS: usize = 256;
/// A longer message is put together each time.
const KEPT_BYTES_MAX: usize = 4 << 10;

struct Kept {
    columns: Arc<[OutputColumn]>,
    format: i16,
    message: Box<[u8]>,
}

mote_common::per_thread! {
    static TABLE: RefCell<Vec<Option<Kept>>> = const { RefCell::new(Vec::new()) };
}

/// Appends the message: what a portal with these columns yields.
pub fn row_description(out: &mut Vec<u8>, columns: &Arc<[OutputColumn]>, formats: &[i16]) {
    match formats {
        &[format] => TABLE.with(|table| append(&mut table.borrow_mut(), out, columns, format)),
        _ => backend::row_description(out, columns, formats),
    }
}

fn append(table: &mut Vec<Option<Kept>>, out: &mut Vec<u8>, columns: &Arc<[OutputColumn]>, format: i16) {
    if table.is_empty() {
        table.resize_with(SLOTS, || None);
    }
    // Allocations lie 16 bytes apart at least.
    let slot = &mut table[(Arc::as_ptr(columns).addr() >> 4) % SLOTS];
    match slot {
        Some(kept) if Arc::ptr_eq(&kept.columns, columns) && kept.format == format => {
            out.extend_from_slice(&kept.message);
        }
        _ => {
            let start = out.len();
            backend::row_description(out, columns, &[format]);
            if out.len() - start <= KEPT_BYTES_MAX {
                *slot = Some(Kept {
                    columns: columns.clone(),
                    format,
                    message: out[start..].into(),
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use mote_common::Oid;
    use mote_types::ColumnType;

    use super::*;

    fn columns(name: &str) -> Arc<[OutputColumn]> {
        let column = OutputColumn {
            name: name.to_owned(),
            ty: ColumnType::TEXT,
            table: Oid(0),
            attribute: 0,
        };
        [column].into()
    }

    fn described(columns: &Arc<[OutputColumn]>, formats: &[i16]) -> Vec<u8> {
        let mut out = Vec::new();
        row_description(&mut out, columns, formats);
        out
    }

    #[test]
    fn is_what_the_columns_say_the_first_time_and_later() {
        // More than there are slots: some share one.
        let all: Vec<_> = (0..3 * SLOTS).map(|i| columns(&format!("c{i}"))).collect();
        for _ in 0..2 {
            for columns in &all {
                for formats in [&[][..], &[0], &[1], &[0, 1]] {
                    let mut expected = Vec::new();
                    backend::row_description(&mut expected, columns, formats);
                    assert_eq!(described(columns, formats), expected);
                }
            }
        }
    }

    #[test]
    fn a_long_one_is_not_kept() {
        let long = columns(&"x".repeat(KEPT_BYTES_MAX));
        assert_eq!(described(&long, &[0]), described(&long, &[0]));
        assert_eq!(Arc::strong_count(&long), 1);
        let short = columns("x");
        described(&short, &[0]);
        assert_eq!(Arc::strong_count(&short), 2);
    }
}
