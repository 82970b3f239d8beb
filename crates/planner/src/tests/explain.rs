//! EXPLAIN's formats, of plans that ran and of plans that did not.

use super::plan;
use crate::plan::explain::{About, ExplainFormat, ExplainOptions, explain};
use crate::plan::measured::{Measurement, Measurements, Observed, measured, nodes_of};
use crate::plan::{PlanBody, QueryPlan};

fn query(sql: &str) -> QueryPlan {
    match plan(sql).unwrap_or_else(|error| panic!("{sql}\n{error:?}")).body {
        PlanBody::Query(query) => *query,
        PlanBody::Utility(_) => panic!("{sql} is no query"),
    }
}

fn shown(sql: &str, options: ExplainOptions, about: &About<'_>) -> String {
    explain(&query(sql), &options, about).join("\n")
}

const PLAIN: ExplainOptions = ExplainOptions {
    analyze: false,
    verbose: false,
    costs: false,
    settings: false,
    buffers: false,
    timing: false,
    summary: false,
    format: ExplainFormat::Text,
};

/// A run in which every node had two loops with five rows each, the last one excepted: it never ran.
fn run_of(plan: &QueryPlan, timed: bool) -> Measurements {
    let ran = Measurement {
        loops: 2,
        rows: 10,
        startup_ns: 2_000_000,
        total_ns: 5_000_000,
        observed: Observed {
            removed_by_filter: 6,
            removed_by_join_filter: 1,
            memory_bytes: 3000,
            cut: false,
        },
    };
    let mut run = Measurements {
        nodes: vec![ran; nodes_of(plan)],
        triggers: Vec::new(),
        timed,
    };
    run.nodes[0] = Measurement::default();
    run.note_trigger("b_audit", false, "t", 1_500_000);
    run.note_trigger("a_check", true, "t", 250_000);
    run.note_trigger("b_audit", false, "t", 1_500_000);
    run
}

#[test]
fn what_ran_stands_beside_the_nodes() {
    let sql = "SELECT b, count(*) FROM t WHERE b <> 'x' GROUP BY b HAVING count(*) > 1 ORDER BY 2";
    let plan = measured(&query(sql), true);
    let run = run_of(&plan, true);
    let about = About {
        run: Some(&run),
        planning_ns: 1_234_567,
        execution_ns: 7_000_000,
        ..About::default()
    };
    let mut options = ExplainOptions {
        analyze: true,
        timing: true,
        summary: true,
        ..PLAIN
    };
    assert_eq!(
        explain(&plan, &options, &about).join("\n"),
        "\
Sort (actual time=1.000..2.500 rows=5 loops=2)
  Sort Key: count(*)
  Sort Method: merge sort  Memory: 3kB
  ->  HashAggregate (actual time=1.000..2.500 rows=5 loops=2)
        Group Key: b
        Filter: (count(*) > 1)
        Rows Removed by Filter: 3
        Batches: 1  Memory Usage: 3kB
        ->  Seq Scan on t (never executed)
              Filter: (b <> 'x'::text)
Planning Time: 1.235 ms
Trigger for constraint a_check: time=0.250 calls=1
Trigger b_audit: time=3.000 calls=2
Execution Time: 7.000 ms"
    );
    options.timing = false;
    options.summary = false;
    options.verbose = true;
    let untimed = run_of(&plan, false);
    let about = About {
        run: Some(&untimed),
        ..About::default()
    };
    let text = explain(&plan, &options, &about).join("\n");
    assert!(text.contains("\n  Output: b, count(*)\n"), "{text}");
    assert!(text.contains("Seq Scan on public.t (never executed)"), "{text}");
    assert!(text.ends_with("Trigger b_audit on t: calls=2"), "{text}");
}

#[test]
fn structured_forms_say_the_same() {
    let sql = "SELECT x.a FROM t x, t y WHERE x.a = y.g AND x.b = 'q\"<&' AND y.a < 5";
    let json = shown(
        sql,
        ExplainOptions {
            format: ExplainFormat::Json,
            settings: true,
            ..PLAIN
        },
        &About {
            settings: vec![("work_mem".to_owned(), "1MB".to_owned())],
            ..About::default()
        },
    );
    let expected = r#"[
  {
    "Plan": {
      "Node Type": "Nested Loop",
      "Parallel Aware": false,
      "Async Capable": false,
      "Join Type": "Inner",
      "Plans": [
        {
          "Node Type": "Seq Scan",
          "Parent Relationship": "Outer",
          "Parallel Aware": false,
          "Async Capable": false,
          "Relation Name": "t",
          "Alias": "x",
          "Filter": "(b = 'q"<&'::text)"
        },
        {
          "Node Type": "Index Scan",
          "Parent Relationship": "Inner",
          "Parallel Aware": false,
          "Async Capable": false,
          "Scan Direction": "Forward",
          "Index Name": "t_g",
          "Relation Name": "t",
          "Alias": "y",
          "Index Cond": "(g = x.a)",
          "Filter": "(a < 5)"
        }
      ]
    },
    "Settings": {
      "work_mem": "1MB"
    }
  }
]"#;
    assert_eq!(json.replace("\\\"", "\""), expected, "{json}");
    assert!(json.contains("'q\\\"<&'"));
    let of = |format| shown(sql, ExplainOptions { format, ..PLAIN }, &About::default());
    let xml = of(ExplainFormat::Xml);
    assert!(
        xml.starts_with(
            "<explain xmlns=\"http://www.postgresql.org/2009/explain\">\n  <Query>\n    <Plan>\n      \
             <Node-Type>Nested Loop</Node-Type>\n"
        ),
        "{xml}"
    );
    assert!(xml.contains("      <Plans>\n        <Plan>\n          <Node-Type>Seq Scan</Node-Type>\n"));
    assert!(
        xml.contains("<Filter>(b = 'q\"&lt;&amp;'::text)</Filter>"),
        "{xml}"
    );
    assert!(xml.ends_with("    </Plan>\n  </Query>\n</explain>"), "{xml}");
    let yaml = of(ExplainFormat::Yaml);
    let start = "- Plan: \n    Node Type: \"Nested Loop\"\n    Parallel Aware: false\n";
    assert!(yaml.starts_with(start), "{yaml}");
    let inner = "\n    Plans: \n      - Node Type: \"Seq Scan\"\n        Parent Relationship: \"Outer\"\n";
    assert!(yaml.contains(inner), "{yaml}");
}

#[test]
fn sub_plans_stand_where_they_are_called() {
    let text = shown(
        "WITH w AS MATERIALIZED (SELECT 1 AS one) SELECT a, (SELECT max(c) FROM t y WHERE y.b = x.b) FROM t x WHERE g \
         = (SELECT min(a) FROM t) AND a IN (SELECT one FROM w)",
        PLAIN,
        &About::default(),
    );
    let lines: Vec<&str> = text.lines().map(str::trim_start).collect();
    let at = |line: &str| {
        lines
            .iter()
            .position(|other| *other == line)
            .unwrap_or_else(|| panic!("{line}\n{text}"))
    };
    assert!(
        at("CTE w") < at("InitPlan 1 (returns $1)") && at("InitPlan 1 (returns $1)") < at("SubPlan 2"),
        "{text}"
    );
    for line in ["CTE w", "InitPlan 1 (returns $1)", "SubPlan 2"] {
        assert_eq!(lines.iter().filter(|other| **other == line).count(), 1, "{text}");
    }
}

#[test]
fn blocks_are_counted_as_none() {
    let options = ExplainOptions {
        buffers: true,
        format: ExplainFormat::Json,
        ..PLAIN
    };
    let json = shown("SELECT a FROM t", options, &About::default());
    assert_eq!(json.matches("\"Shared Hit Blocks\": 0").count(), 2, "{json}");
    let text = ExplainOptions {
        buffers: true,
        ..PLAIN
    };
    assert_eq!(shown("SELECT a FROM t", text, &About::default()), "Seq Scan on t");
}
