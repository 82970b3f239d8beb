//! Times parsing and fingerprinting of each TPC-C statement: `cargo run --release -p mote-grammar --example parse_time`.

use std::hint::black_box;
use std::time::Instant;

use mote_grammar::lexer::Fingerprint;
use mote_grammar::parser::{PARSE_STACK_BYTES, parse};

const ROUNDS: u32 = 20_000;

fn nanoseconds(mut work: impl FnMut()) -> u128 {
    work();
    let start = Instant::now();
    for _ in 0..ROUNDS {
        work();
    }
    start.elapsed().as_nanos() / u128::from(ROUNDS)
}

fn report() {
    println!("{:>9}  {:>14}  statement", "parse, ns", "fingerprint, ns");
    for text in include_str!("../src/parser/tests/golden/tpcc.sql").lines() {
        let parsing = nanoseconds(|| {
            black_box(parse(black_box(text))).expect("the statement parses");
        });
        // A client of the simple protocol sends literals where these statements have parameters.
        let literals = text.replace('$', "10");
        let mut fingerprint = Fingerprint::new();
        let stripping = nanoseconds(|| assert!(black_box(&mut fingerprint).fill(black_box(&literals))));
        println!("{parsing:>9}  {stripping:>14}  {}", &text[..text.len().min(60)]);
    }
}

fn main() {
    let thread = std::thread::Builder::new()
        .stack_size(PARSE_STACK_BYTES)
        .spawn(report);
    thread
        .expect("a thread starts")
        .join()
        .expect("the measurement ends");
}
