//! What order entry says to Oracle and to Db2, and how it defines its tables on openGauss and Klustron, kept in golden files: none of
//! these servers stands beside a build, so every change of a word is looked at. `MOTE_GOLDEN_WRITE=1` writes the files anew.

use mote_driver::dialect::{db2, oracle};
use mote_driver::{StatementId, Target};

use super::load::Database;
use super::{consistency, schema, statements};
use crate::definitions::Definitions;
use crate::loader::Data;

type Translate = fn(&str) -> Result<std::borrow::Cow<'_, str>, String>;

/// All that a load, a run and its check say, in this order.
fn said() -> Vec<String> {
    let mut all = vec![
        "CREATE TABLE IF NOT EXISTS bench_load (workload varchar(32), step varchar(200), PRIMARY KEY (workload, step))"
            .to_string(),
    ];
    all.extend(
        schema::TABLES
            .iter()
            .map(|table| format!("DROP TABLE IF EXISTS {table}")),
    );
    let fixed = [
        &schema::CREATE_TABLES[..],
        &schema::CREATE_KEYS[..],
        &schema::CREATE_FOREIGN_KEYS[..],
    ];
    all.extend(fixed.concat().iter().map(|statement| statement.to_string()));
    all.push("VACUUM ANALYZE bmsql_item".into());
    let set = statements::statement_set();
    let controls = ["BEGIN", "COMMIT", "ROLLBACK"];
    let run = (0..set.len()).map(|number| set.sql(StatementId(number as u8)));
    all.extend(run.filter(|sql| !controls.contains(sql)).map(String::from));
    all.extend(
        consistency::CONDITIONS
            .iter()
            .map(|condition| condition.violations.to_string()),
    );
    all
}

fn compare(name: &str, golden: &str, translate: Translate) {
    let words: Vec<String> = said()
        .iter()
        .map(|sql| {
            translate(sql)
                .unwrap_or_else(|refused| panic!("{name}: {refused}"))
                .into_owned()
        })
        .collect();
    compare_words(name, golden, &words);
}

fn compare_words(name: &str, golden: &str, words: &[String]) {
    if std::env::var_os("MOTE_GOLDEN_WRITE").is_some() {
        let path = format!("{}/src/tpcc/golden/{name}.sql", env!("CARGO_MANIFEST_DIR"));
        std::fs::write(path, words.join("\n") + "\n").expect("the golden file is written");
        return;
    }
    let golden: Vec<&str> = golden.lines().collect();
    for (number, (words, golden)) in words.iter().zip(&golden).enumerate() {
        assert_eq!(words, golden, "{name}, line {}", number + 1);
    }
    assert_eq!(words.len(), golden.len(), "{name}");
}

#[test]
fn oracle_is_told_the_golden_statements() {
    compare("oracle", include_str!("golden/oracle.sql"), |sql| {
        oracle::translate(sql)
    });
}

#[test]
fn db2_is_told_the_golden_statements() {
    compare("db2", include_str!("golden/db2.sql"), db2::translate);
}

/// Every definition on this system, then what it leaves out.
fn defined(url: &str) -> Vec<String> {
    let target = Target::parse(url).expect("a URL");
    let data = Database::whole(2, 1);
    let said = Definitions {
        create: data.create(),
        phases: data.phases(),
        notes: Vec::new(),
    };
    let defined = Definitions::on(&target, said, |column| data.holds_null(column));
    let drops = data.tables().iter();
    let drops = drops.map(|table| Definitions::drop_table(&target, table));
    let follow = defined.phases.into_iter().flat_map(|phase| phase.statements);
    let notes = defined.notes.into_iter().map(|note| format!("-- {note}"));
    drops.chain(defined.create).chain(follow).chain(notes).collect()
}

#[test]
fn opengauss_is_told_the_golden_definitions() {
    let words = defined("opengauss://h/d?engine=mot");
    compare_words("opengauss", include_str!("golden/opengauss.sql"), &words);
}

#[test]
fn klustron_is_told_the_golden_definitions() {
    let words = defined("klustron://h/d?partitions=2");
    compare_words("klustron", include_str!("golden/klustron.sql"), &words);
}
