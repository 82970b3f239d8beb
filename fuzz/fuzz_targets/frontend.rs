//! What a client sends: start-up packets and messages, in pieces of any size.
#![no_main]

use libfuzzer_sys::fuzz_target;

// The server's own module, without the server: that would be a hundred crates under a sanitizer.
#[allow(dead_code)]
#[path = "../../crates/server/src/pgwire/frontend.rs"]
mod frontend;

use frontend::{Bind, Fields, FunctionCall, MESSAGE_BYTES_MAX, Parse, ReadBuffer, Values};

/// As many as the message says, and no more bytes than it has.
fn values(values: Values<'_>, body: &[u8]) {
    let bytes: usize = values.iter().filter_map(|(value, _)| Some(value?.len())).sum();
    assert!(bytes <= body.len() && values.iter().count() == values.count);
}

fn message(kind: u8, body: &[u8]) {
    let mut fields = Fields::new(body);
    match kind {
        b'P' => {
            if let Ok(parse) = Parse::read(body) {
                assert!(parse.types().len() * 4 <= body.len() && parse.name.len() + parse.text.len() < body.len());
            }
        }
        b'B' => {
            if let Ok(bind) = Bind::read(body) {
                values(bind.parameters, body);
                let _ = bind.result_formats().count();
            }
        }
        b'F' => {
            if let Ok(call) = FunctionCall::read(body) {
                values(call.arguments, body);
            }
        }
        // Names, then numbers, then strings, as the other messages mix them.
        _ => while fields.u8().is_ok() && fields.string().is_ok() && fields.i32().is_ok() && fields.i16().is_ok() {},
    }
}

fuzz_target!(|input: &[u8]| {
    let Some((&piece, mut rest)) = input.split_first() else { return };
    let mut buffer = ReadBuffer::default();
    let mut started = false;
    while !rest.is_empty() {
        let (some, left) = rest.split_at(rest.len().min(usize::from(piece) + 1));
        buffer.space(some.len()).extend_from_slice(some);
        rest = left;
        loop {
            let range = if started {
                match buffer.peek(MESSAGE_BYTES_MAX) {
                    Ok(Some((kind, range))) => {
                        message(kind, &buffer.unread()[range.clone()]);
                        range
                    }
                    Ok(None) => break,
                    Err(_) => return,
                }
            } else {
                match buffer.peek_startup() {
                    Ok(Some(range)) => {
                        let mut fields = Fields::new(&buffer.unread()[range.clone()]);
                        drop(fields.i32());
                        while fields.string().is_ok_and(|name| !name.is_empty()) {
                            drop(fields.string());
                        }
                        started = true;
                        range
                    }
                    Ok(None) => break,
                    Err(_) => return,
                }
            };
            buffer.consume(range.end);
        }
        buffer.shrink(1 << 16);
    }
});
