//! What a canned server answers to order entry: constant rows with which every transaction goes through, so that what is left of
//! a run is the driver's own work.
//!
//! Leaves out: any state. Each district's next order is the same, and nothing is ever written; the conditions cannot hold.

use std::collections::HashMap;
use std::sync::LazyLock;

use mote_driver::StatementId;
use mote_driver::wire;

use crate::tpcc::schema::ITEMS;
use crate::tpcc::statements as st;

/// What is sent for each execution of a statement.
pub struct Answer {
    /// Rows and the command's tag.
    pub bytes: Vec<u8>,
    /// What ReadyForQuery says from here on, if the statement changes it.
    pub status: Option<u8>,
    /// The first parameter is an item: the one that does not exist has no row.
    pub of_item: bool,
}

/// The tag of an item that was not found.
pub const NO_ROW: &[u8] = b"C\0\0\0\x0dSELECT 0\0";

/// By the statement's text.
pub static ANSWERS: LazyLock<HashMap<String, Answer>> = LazyLock::new(|| {
    let set = st::statement_set();
    let each = (0..set.len()).map(|number| {
        let id = StatementId(number as u8);
        (set.sql(id).to_string(), answer(id, set.sql(id)))
    });
    each.collect()
});

/// A database large enough for ten thousand terminals.
pub const CONFIG: [(&str, &str); 3] = [("warehouses", "1000"), ("nURandCLast", "1"), ("loaded", "1")];

#[derive(Clone, Copy)]
enum Value {
    Int(i32),
    Long(i64),
    /// 0.1, in binary.
    Numeric,
    /// The year 2000, in binary.
    Time,
    Text(&'static str),
}

use Value::{Int, Long, Numeric, Text, Time};

const DIST: Value = Text("abcdefghijklmnopqrstuvwx");

fn answer(id: StatementId, sql: &str) -> Answer {
    let address = [
        Text("name"),
        Text("street"),
        Text("street"),
        Text("city"),
        Text("st"),
        Text("123411111"),
    ];
    let mut stock = vec![Int(50), Text("a text of some thirty letters ")];
    stock.extend([DIST; 10]);
    let rows: Vec<Vec<Value>> = match id {
        st::NEW_ORDER_DISTRICT => vec![vec![Numeric, Int(3_001)]],
        st::NEW_ORDER_CUSTOMER => vec![vec![Numeric, Text("BARBARBAR"), Text("GC"), Numeric]],
        st::NEW_ORDER_ITEM => vec![vec![
            Numeric,
            Text("an item's name"),
            Text("a text of some thirty letters "),
        ]],
        st::NEW_ORDER_STOCK => vec![stock],
        st::PAYMENT_DISTRICT | st::PAYMENT_WAREHOUSE => vec![address.to_vec()],
        // A name is that of three customers, in the mean.
        st::CUSTOMERS_BY_NAME => vec![vec![Int(1)], vec![Int(2)], vec![Int(3)]],
        st::PAYMENT_CUSTOMER => {
            let mut row = vec![Text("first name"), Text("OE"), Text("BARBARBAR")];
            row.extend(&address[1..]);
            row.extend([
                Text("1234567890123456"),
                Time,
                Text("GC"),
                Numeric,
                Numeric,
                Numeric,
            ]);
            vec![row]
        }
        st::PAYMENT_CUSTOMER_DATA => vec![vec![Text("what was written of a customer")]],
        st::ORDER_STATUS_CUSTOMER => vec![vec![Text("first name"), Text("OE"), Text("BARBARBAR"), Numeric]],
        st::ORDER_STATUS_ORDER => vec![vec![Int(1), Time, Int(1)]],
        st::ORDER_STATUS_LINES => vec![vec![Int(1), Int(1), Int(5), Numeric, Time]; 10],
        st::STOCK_LEVEL_COUNT => vec![vec![Long(0)]],
        st::DELIVERY_OLDEST => vec![vec![Int(2_101)]],
        st::DELIVERY_ORDER_CUSTOMER => vec![vec![Int(1)]],
        st::DELIVERY_AMOUNT => vec![vec![Numeric]],
        _ => Vec::new(),
    };
    let mut bytes = Vec::new();
    for row in &rows {
        put_row(&mut bytes, row);
    }
    wire::message(&mut bytes, b'C', |out| {
        wire::put_string(out, &tag(sql, rows.len()))
    });
    let status = match id {
        st::BEGIN => Some(b'T'),
        st::COMMIT | st::ROLLBACK => Some(b'I'),
        _ => None,
    };
    Answer {
        bytes,
        status,
        of_item: id == st::NEW_ORDER_ITEM,
    }
}

fn tag(sql: &str, rows: usize) -> String {
    let word = sql.split(' ').next().unwrap_or_default();
    match word {
        "SELECT" => format!("SELECT {rows}"),
        "INSERT" => "INSERT 0 1".to_string(),
        "UPDATE" | "DELETE" => format!("{word} 1"),
        other => other.to_string(),
    }
}

fn put_row(out: &mut Vec<u8>, values: &[Value]) {
    wire::message(out, b'D', |out| {
        wire::put_i16(out, values.len() as i16);
        for value in values {
            let bytes: &[u8] = match value {
                Int(value) => &value.to_be_bytes(),
                Long(value) => &value.to_be_bytes(),
                // One digit of base 10000, of weight -1, positive, with four decimals: 1000.
                Numeric => &[0, 1, 0xff, 0xff, 0, 0, 0, 4, 0x03, 0xe8],
                Time => &[0; 8],
                Text(text) => text.as_bytes(),
            };
            wire::put_i32(out, bytes.len() as i32);
            out.extend_from_slice(bytes);
        }
    });
}

/// Whether a Bind's first parameter, an int4, is an item that does not exist. `values` begins behind the statement's name.
pub fn is_unused_item(values: &[u8]) -> bool {
    let int = || {
        let formats = i16::from_be_bytes(*values.first_chunk::<2>()?);
        // The formats, the number of values, the first one's length.
        let at = 2 + 2 * formats as usize + 2 + 4;
        Some(i32::from_be_bytes(*values.get(at..)?.first_chunk::<4>()?))
    };
    int().is_some_and(|item| item > ITEMS)
}
