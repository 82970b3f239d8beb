//! The twelve conditions of order entry, computed twice: by the server's SQL, and by the client from rows that COPY streams. One
//! corrupted row for each condition is found by both, with the same counts.

use std::process::Command;

use mote_it::TestServer;
use mote_it::clients::{Said, psql_strict, run_with_input};
use mote_it::server::mote_binary;
use serde_json::Value;

fn bench(arguments: &[&str]) -> Said {
    let mut command = Command::new(mote_binary());
    command.arg("bench").args(arguments);
    run_with_input(&mut command, "", "the mote binary itself")
}

/// What corrupts one row for each condition, and what mends it.
const CORRUPTIONS: [(&str, &str); 12] = [
    (
        "UPDATE bmsql_district SET d_ytd = d_ytd + 0.01 WHERE d_id = 1",
        "UPDATE bmsql_district SET d_ytd = d_ytd - 0.01 WHERE d_id = 1",
    ),
    (
        "UPDATE bmsql_district SET d_next_o_id = d_next_o_id + 1 WHERE d_id = 2",
        "UPDATE bmsql_district SET d_next_o_id = d_next_o_id - 1 WHERE d_id = 2",
    ),
    (
        "DELETE FROM bmsql_new_order WHERE no_d_id = 3 AND no_o_id = (SELECT min(no_o_id) + 1 FROM bmsql_new_order WHERE no_d_id = 3)",
        "INSERT INTO bmsql_new_order SELECT 1, 3, min(no_o_id) + 1 FROM bmsql_new_order WHERE no_d_id = 3",
    ),
    (
        "UPDATE bmsql_oorder SET o_ol_cnt = o_ol_cnt + 1 WHERE o_d_id = 4 AND o_id = 7",
        "UPDATE bmsql_oorder SET o_ol_cnt = o_ol_cnt - 1 WHERE o_d_id = 4 AND o_id = 7",
    ),
    (
        "UPDATE bmsql_oorder SET o_carrier_id = NULL WHERE o_d_id = 5 AND o_id = 7",
        "UPDATE bmsql_oorder SET o_carrier_id = 1 WHERE o_d_id = 5 AND o_id = 7",
    ),
    (
        "UPDATE bmsql_order_line SET ol_o_id = 8, ol_number = 99 WHERE ol_d_id = 6 AND ol_o_id = 7 AND ol_number = 1",
        "UPDATE bmsql_order_line SET ol_o_id = 7, ol_number = 1 WHERE ol_d_id = 6 AND ol_o_id = 8 AND ol_number = 99",
    ),
    (
        "UPDATE bmsql_order_line SET ol_delivery_d = NULL WHERE ol_d_id = 7 AND ol_o_id = 7 AND ol_number = 1",
        "UPDATE bmsql_order_line SET ol_delivery_d = now() WHERE ol_d_id = 7 AND ol_o_id = 7 AND ol_number = 1",
    ),
    (
        "UPDATE bmsql_warehouse SET w_ytd = w_ytd + 0.01",
        "UPDATE bmsql_warehouse SET w_ytd = w_ytd - 0.01",
    ),
    (
        "UPDATE bmsql_district SET d_ytd = d_ytd - 1 WHERE d_id = 9",
        "UPDATE bmsql_district SET d_ytd = d_ytd + 1 WHERE d_id = 9",
    ),
    (
        "UPDATE bmsql_customer SET c_balance = c_balance + 1, c_ytd_payment = c_ytd_payment - 1 WHERE c_d_id = 10 AND c_id = 7",
        "UPDATE bmsql_customer SET c_balance = c_balance - 1, c_ytd_payment = c_ytd_payment + 1 WHERE c_d_id = 10 AND c_id = 7",
    ),
    (
        "UPDATE bmsql_customer SET c_delivery_cnt = c_delivery_cnt + 1 WHERE c_d_id = 1 AND c_id = 7",
        "UPDATE bmsql_customer SET c_delivery_cnt = c_delivery_cnt - 1 WHERE c_d_id = 1 AND c_id = 7",
    ),
    (
        "UPDATE bmsql_customer SET c_ytd_payment = c_ytd_payment + 0.01 WHERE c_d_id = 2 AND c_id = 7",
        "UPDATE bmsql_customer SET c_ytd_payment = c_ytd_payment - 0.01 WHERE c_d_id = 2 AND c_id = 7",
    ),
];

/// Leaves twenty delivered and twenty new orders in each district, so that fourteen checks take no minutes in a debug build. A customer
/// counts the delivered ones that are gone, for the eleventh condition.
const FEWER_ORDERS: &str = "DELETE FROM bmsql_new_order WHERE no_o_id < 2981;
    DELETE FROM bmsql_order_line WHERE ol_o_id BETWEEN 21 AND 2980;
    DELETE FROM bmsql_oorder WHERE o_id BETWEEN 21 AND 2980;
    UPDATE bmsql_customer SET c_delivery_cnt = c_delivery_cnt - 2080 WHERE c_id = 1;";

#[test]
fn a_corrupted_row_is_found_by_the_server_and_by_the_client() {
    let server = TestServer::start("rows");
    let url = server.url();
    bench(&[
        "tpcc", "-w", "1", "-c", "2", "-q", "--load", "only", "--target", &url,
    ])
    .good();
    psql_strict(&server, FEWER_ORDERS).good();
    // Its own proofs miss the orders that are gone; what it leaves behind meets the conditions.
    bench(&[
        "tpcc", "-w", "1", "-c", "2", "-d", "1", "--warmup", "0.1", "-q", "--load", "never", "--target", &url,
    ]);
    let json = std::env::temp_dir().join(format!("mote-it-{}-rows.json", std::process::id()));
    let path = json.display().to_string();
    let verify = || {
        let arguments = [
            "verify",
            "--check-only",
            "--from-rows",
            "--target",
            &url,
            "--json",
            &path,
        ];
        let said = bench(&arguments);
        let document = std::fs::read_to_string(&json).expect("it was written");
        let document: Value = serde_json::from_str(&document).expect("JSON");
        let counts = |list: &str| -> Vec<i64> {
            let all = document[list].as_array().expect("a list").iter();
            all.map(|one| one["violations"].as_i64().expect("a count"))
                .collect()
        };
        let counts = (counts("consistency"), counts("consistency_from_rows"));
        assert_eq!(
            counts.0, counts.1,
            "server and client count the same: {}",
            said.out
        );
        (said, counts.0)
    };
    let (said, counts) = verify();
    assert_eq!(counts, vec![0; 12], "{}", said.out);
    said.good();
    for (number, (corrupt, mend)) in CORRUPTIONS.iter().enumerate() {
        psql_strict(&server, &format!("{corrupt};")).good();
        let (said, counts) = verify();
        assert!(counts[number] > 0, "condition {}: {}", number + 1, said.out);
        assert!(said.out.contains("FAIL"), "{}", said.out);
        psql_strict(&server, &format!("{mend};")).good();
    }
    assert_eq!(verify().1, vec![0; 12]);
    std::fs::remove_file(&json).expect("it is ours");
}
