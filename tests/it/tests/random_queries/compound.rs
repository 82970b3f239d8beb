//! Expressions by way of values that the generator's own types are not: arrays, ranges, documents, days, and texts taken apart.
//!
//! What goes in and what comes out is an integer, a text or a boolean of the generator. Nothing here fails: bounds of ranges stand in
//! order, positions may be anywhere, and what is cast back was one.

use crate::generator::{Generator, Leaf, Type};
use Type::*;

impl Generator {
    /// An integer as functions want it that have no form for bigint.
    fn int4(&mut self, leaves: &[Leaf], depth: u32) -> String {
        format!("({})::int", self.expression(Int, leaves, depth))
    }

    /// One that stays small, for what grows with it.
    fn small(&mut self, leaves: &[Leaf], depth: u32) -> String {
        format!("({} % 40)", self.int4(leaves, depth))
    }

    fn list(&mut self, ty: Type, leaves: &[Leaf], depth: u32) -> String {
        let values: Vec<String> = (0..self.between(1, 3))
            .map(|_| self.expression(ty, leaves, depth))
            .collect();
        values.join(", ")
    }

    fn array(&mut self, ty: Type, leaves: &[Leaf], depth: u32) -> String {
        // Of integers of two kinds there are arrays of two types.
        let name = if ty == Int { "int" } else { "text" };
        if self.may_nest() && self.chance(15) {
            let (query, _) = self.query(&[ty], leaves);
            // The order of an ARRAY of a query is the query's.
            let (alias, order) = (self.name("q"), self.order_over_all(1));
            return format!("array(select * from ({query}) as {alias}{order})::{name}[]");
        }
        let array = format!("array[{}]::{name}[]", self.list(ty, leaves, depth));
        match self.random_below(8) {
            0 => format!("({array} || {})", self.expression(ty, leaves, 0)),
            1 => format!("array_remove({array}, {})", self.expression(ty, leaves, 0)),
            2 => format!("({array})[{}:{}]", self.between(0, 2), self.between(1, 3)),
            3 if ty == Text => {
                let value = self.expression(ty, leaves, 0);
                format!("string_to_array({value}, {})", self.pick(&["'x'", "''", "null"]))
            }
            _ => array,
        }
    }

    fn range(&mut self, leaves: &[Leaf], depth: u32) -> String {
        let (a, b) = (self.int4(leaves, depth), self.int4(leaves, depth));
        let bounds = self.pick(&["[]", "[)", "(]", "()"]);
        let range = format!("int4range(least({a}, {b}), greatest({a}, {b}), '{bounds}')");
        match self.random_below(5) {
            0 => format!("({range} * {})", self.range_constant()),
            1 => format!("range_merge({range}, {})", self.range_constant()),
            _ => range,
        }
    }

    fn range_constant(&mut self) -> String {
        self.pick(&[
            "int4range(1, 3)",
            "int4range(2, 2)",
            "int4range(null, 10)",
            "int4range(3, null)",
            "int4range(null, null)",
            "null::int4range",
        ])
        .to_string()
    }

    fn multirange(&mut self, leaves: &[Leaf], depth: u32) -> String {
        // It takes no NULL for a member.
        let member = |range: String| format!("coalesce({range}, 'empty')");
        let first = format!("int4multirange({})", member(self.range(leaves, depth)));
        let (a, b) = (member(self.range_constant()), member(self.range_constant()));
        let second = format!("int4multirange({a}, {b})");
        match self.random_below(4) {
            0 => format!("({first} - {second})"),
            1 => format!("({first} + {second})"),
            2 => format!("({second} - {first})"),
            _ => first,
        }
    }

    fn document(&mut self, leaves: &[Leaf], depth: u32) -> String {
        let number = self.expression(Int, leaves, depth);
        let text = self.expression(Text, leaves, depth);
        match self.random_below(6) {
            0 => format!("jsonb_build_array({number}, {text})"),
            1 => format!("to_jsonb({number})"),
            2 => format!("(jsonb_build_object('a', {number}) || jsonb_build_object('b', {text}))"),
            3 => format!("(jsonb_build_object('a', {number}, 'b', {text}) - 'a')"),
            4 => format!("jsonb_set('{{\"a\": {{\"b\": 1}}}}', '{{a,b}}', to_jsonb({number}))"),
            _ => format!("jsonb_build_object('a', {number}, 'b', {text})"),
        }
    }

    /// A day that is no infinity.
    fn day(&mut self, leaves: &[Leaf], depth: u32) -> String {
        let from = self.pick(&["date '2024-01-31'", "date '2024-02-29'", "date '1999-12-31'"]);
        match self.random_below(4) {
            0 => {
                let unit = self.pick(&["day", "month", "year", "hour"]);
                let number = self.small(leaves, depth);
                format!("({from} + {number} * interval '1 {unit}')::date")
            }
            _ => format!("({from} + {})", self.small(leaves, depth)),
        }
    }

    pub fn compound_integer(&mut self, leaves: &[Leaf], depth: u32) -> String {
        match self.random_below(14) {
            0 => format!(
                "(array[{}])[{}]",
                self.list(Int, leaves, depth),
                self.between(0, 3)
            ),
            1 => format!("cardinality({})", self.array(Text, leaves, depth)),
            2 => format!("coalesce(array_upper({}, 1), 0)", self.array(Int, leaves, depth)),
            3 => {
                let array = self.array(Text, leaves, depth);
                format!("array_position({array}, {})", self.expression(Text, leaves, 0))
            }
            4 => format!(
                "{}({})",
                self.pick(&["lower", "upper"]),
                self.range(leaves, depth)
            ),
            5 => format!(
                "{}({})",
                self.pick(&["lower", "upper"]),
                self.multirange(leaves, depth)
            ),
            6 => {
                let document = self.expression(Int, leaves, depth);
                format!("(jsonb_build_object('a', {document}) ->> 'a')::int")
            }
            7 => format!("({} - date '2024-01-01')", self.day(leaves, depth)),
            8 => {
                let part = self.pick(&["day", "month", "isodow", "week", "doy", "quarter"]);
                format!("extract({part} from {})::int", self.day(leaves, depth))
            }
            9 => format!(
                "strpos({}, {})",
                self.expression(Text, leaves, depth),
                self.expression(Text, leaves, 0)
            ),
            10 => format!("ascii({})", self.expression(Text, leaves, depth)),
            11 => format!("({})::counted", self.expression(Int, leaves, depth)),
            12 => format!("num_nulls({})", self.list(Int, leaves, depth)),
            _ => format!("width_bucket({}, array[1, 2, 10])", self.int4(leaves, depth)),
        }
    }

    pub fn compound_text(&mut self, leaves: &[Leaf], depth: u32) -> String {
        match self.random_below(18) {
            0 => format!("array_to_string({}, ',', '-')", self.array(Text, leaves, depth)),
            1 => format!("({})::text", self.array(Int, leaves, depth)),
            2 => format!("({})::text", self.range(leaves, depth)),
            3 => format!("({})::text", self.multirange(leaves, depth)),
            4 => format!("({})::text", self.document(leaves, depth)),
            5 => {
                let way = self.pick(&["->> 'b'", "->> 1", "#>> '{a,b}'", "->> 'a'"]);
                format!("({} {way})", self.document(leaves, depth))
            }
            6 => {
                let picture = self.pick(&["YYYY-MM-DD", "Dy DDD IW", "FMMonth fmDDth, Q"]);
                format!("to_char({}, '{picture}')", self.day(leaves, depth))
            }
            7 => {
                let unit = self.pick(&["month", "week", "quarter", "decade"]);
                format!(
                    "date_trunc('{unit}', {}::timestamp)::text",
                    self.day(leaves, depth)
                )
            }
            8 => format!("age({}, {})::text", self.day(leaves, depth), self.day(leaves, 0)),
            9 => {
                let number = self.small(leaves, depth);
                let unit = self.pick(&["days", "hours", "months"]);
                format!("justify_interval(make_interval({unit} => {number}))::text")
            }
            10 => {
                let function = self.pick(&["left", "right"]);
                let text = self.expression(Text, leaves, depth);
                format!("{function}({text}, {})", self.small(leaves, 0))
            }
            11 => {
                let function = self.pick(&["lpad", "rpad"]);
                let text = self.expression(Text, leaves, depth);
                format!("{function}({text}, {}, 'ab')", self.small(leaves, 0))
            }
            12 => {
                let (text, from) = (self.expression(Text, leaves, depth), self.small(leaves, 0));
                format!("substr({text}, {from}, {})", self.between(0, 3))
            }
            13 => {
                let text = self.expression(Text, leaves, depth);
                match self.random_below(4) {
                    0 => format!("replace({text}, 'x', 'yz')"),
                    1 => format!("regexp_replace({text}, '(x|z)(y)?', '<\\2\\1>', 'g')"),
                    2 => format!("translate({text}, 'xyz', 'ba')"),
                    _ => format!("split_part({text}, 'x', {})", self.pick(&[1, 2, -1])),
                }
            }
            14 => {
                let function = self.pick(&["reverse", "initcap", "md5", "quote_literal", "quote_nullable"]);
                format!("{function}({})", self.expression(Text, leaves, depth))
            }
            15 => format!("concat_ws('-', {})", self.list(Text, leaves, depth)),
            16 => {
                let (a, b) = (
                    self.expression(Text, leaves, depth),
                    self.expression(Int, leaves, 0),
                );
                format!("format('%s:%5s|%L', {a}, {b}, {a})")
            }
            _ => format!("({})::short", self.expression(Text, leaves, depth)),
        }
    }

    pub fn compound_boolean(&mut self, leaves: &[Leaf], depth: u32) -> String {
        match self.random_below(9) {
            0 => {
                let ty = self.pick(&[Int, Text]);
                let (a, b) = (self.array(ty, leaves, depth), self.array(ty, leaves, 0));
                let operator = self.pick(&["@>", "<@", "&&", "=", "<>", "<", ">="]);
                format!("({a} {operator} {b})")
            }
            1 => {
                let ty = self.pick(&[Int, Text]);
                let (value, array) = (self.expression(ty, leaves, depth), self.array(ty, leaves, depth));
                let operator = self.pick(&["= any", "<> all", "< any", ">= all"]);
                format!("({value} {operator} ({array}))")
            }
            2 => {
                let (a, b) = (self.range(leaves, depth), self.range(leaves, 0));
                let operator = self.pick(&["&&", "@>", "<@", "-|-", "<<", "&>", "=", "<", ">="]);
                format!("({a} {operator} {b})")
            }
            3 => {
                let (range, value) = (self.range(leaves, depth), self.int4(leaves, depth));
                match self.chance(50) {
                    true => format!("({range} @> {value})"),
                    false => format!("({value} <@ {range})"),
                }
            }
            4 => {
                let (a, b) = (self.multirange(leaves, depth), self.multirange(leaves, 0));
                let operator = self.pick(&["&&", "@>", "-|-", "=", "<"]);
                format!("({a} {operator} {b})")
            }
            5 => {
                let (a, b) = (self.document(leaves, depth), self.document(leaves, 0));
                let operator = self.pick(&["@>", "<@", "=", "<>", "<", ">="]);
                format!("({a} {operator} {b})")
            }
            6 => {
                let document = self.document(leaves, depth);
                let test = self.pick(&[
                    "? 'a'",
                    "?| array['b', 'x']",
                    "@? '$.a ? (@ > 1)'",
                    "@@ '$.b == \"x\"'",
                ]);
                format!("({document} {test})")
            }
            7 => {
                let (a, b) = (self.day(leaves, depth), self.day(leaves, 0));
                let operator = self.pick(&["<", ">=", "=", "<>"]);
                format!("({a} {operator} {b})")
            }
            _ if self.may_nest() => {
                let (a, b) = (
                    self.expression(Int, leaves, depth),
                    self.expression(Text, leaves, depth),
                );
                let (query, _) = self.query(&[Int, Text], leaves);
                let operator = self.pick(&["in", "not in", "= any", "<> all", "< any"]);
                format!("(({a}, {b}) {operator} ({query}))")
            }
            _ => format!("isempty({})", self.range(leaves, depth)),
        }
    }

    /// An item of FROM that makes rows of an array; its columns.
    pub fn rows_of_array(&mut self, sight: &[Leaf], alias: &str) -> (String, Vec<(String, Type)>) {
        let ty = self.pick(&[Int, Text]);
        let array = self.array(ty, sight, 1);
        let columns = |names: &[(&str, Type)]| {
            let columns = names.iter().map(|(name, ty)| (name.to_string(), *ty));
            columns.collect()
        };
        match self.random_below(3) {
            0 => (
                format!("unnest({array}) with ordinality as {alias}(v, o)"),
                columns(&[("v", ty), ("o", Int)]),
            ),
            1 => {
                let other = self.array(Int, sight, 1);
                (
                    format!("unnest({array}, {other}) as {alias}(v, o)"),
                    columns(&[("v", ty), ("o", Int)]),
                )
            }
            _ => (
                format!(
                    "jsonb_to_recordset(jsonb_build_array({})) as {alias}(a int, b text)",
                    {
                        let first = self.expression(Int, sight, 1);
                        let second = self.expression(Text, sight, 1);
                        format!("jsonb_build_object('a', {first}, 'b', {second}), '{{\"a\": 2}}'::jsonb")
                    }
                ),
                columns(&[("a", Int), ("b", Text)]),
            ),
        }
    }
}
