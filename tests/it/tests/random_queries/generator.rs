//! Random queries that PostgreSQL accepts and answers in one way only.
//!
//! Everything follows from the seed. A query reads three small tables; below, beside and inside it stand further
//! queries: derived tables, WITH, LATERAL, set operations, sub-queries in expressions, correlated or not. Predicates compare
//! numbers and times of different types, columns with columns, constants, lists and arrays. Rows are
//! compared as a multiset, so LIMIT comes only with an order over all columns, and window functions only where peers
//! share their value. An order below LIMIT, DISTINCT ON or string_agg decides what they see. Rows of single tables are locked at
//! times. Values of types that the generator does not know are in `compound`. No expression can fail: no division, small numbers,
//! sub-queries of one row where one is needed.

use mote_common::prng::Prng;

/// The tables, with NULLs, duplicates and an empty one.
pub const TABLES: &str = "
create domain counted as int check (value > -100000);
create domain short as varchar(3) check (value <> 'impossible');
create table t1 (a int, b int, c text);
create table t2 (a int primary key, b int, c varchar(5));
create table t3 (a int, d bool, c text);
create table t4 (a int, b bigint);
create table t5 (a int, s smallint, k bigint, n numeric(8,2), m numeric, f float8, r real);
create table t6 (a int, e date, p timestamp, z timestamptz);
create index on t1 (a, b);
create index on t3 (c);
create index on t5 (k);
create index on t5 (n, s);
create index on t5 (f);
create index on t6 (e);
create index on t6 (p);
create index on t6 (z);
insert into t1 values (1, 10, 'x'), (1, 20, 'y'), (2, null, 'x'), (null, 30, null), (3, 10, ''), (4, 40, 'zz');
insert into t2 values (1, 1, 'x'), (2, 3, 'y'), (3, null, 'zz'), (5, 2, null);
insert into t3 values (1, true, 'x'), (2, false, 'x'), (null, null, 'y'), (3, true, null), (3, false, 'zz');
insert into t5 values (1, 1, 1, 1.00, 1, 1, 1), (2, 2, 3, 2.50, 2.5, 2.5, 2.5), (3, null, 10, 'nan', 'nan', 'nan', 'nan'),
    (null, -1, null, 10.00, 10.0, 'infinity', 10), (4, 3, 9223372036854775807, null, 9223372036854775807, -0.0, 0.1),
    (5, 32767, -1, 0.10, 0.1, 0.1, null), (5, 32767, 2, 2.00, null, null, 3);
insert into t6 values (1, '2024-01-31', '2024-01-31', '2024-01-31'), (2, '2024-02-29', '2024-02-29 12:00', '2024-02-29 12:00'),
    (3, null, 'infinity', '-infinity'), (null, '-infinity', null, '2024-03-31 02:30'), (4, 'infinity', '2024-01-31 00:00:00.000001', null);";

/// Numbers of several types, all of which compare with each other.
const NUMBERS: &[&str] = &[
    "1",
    "2::smallint",
    "3::bigint",
    "2.5",
    "2.50::numeric(8,2)",
    "1::float8",
    "0.1::float8",
    "0.1::real",
    "10.0",
    "'nan'::numeric",
    "'nan'::float8",
    "'infinity'::float8",
    "(-1)",
    "9223372036854775807",
    "9223372036854775808",
    "32768",
    "0.099",
    "null::numeric",
    "null::bigint",
];

/// The same of times.
const MOMENTS: &[&str] = &[
    "date '2024-01-31'",
    "date '2024-02-29'",
    "timestamp '2024-01-31'",
    "timestamp '2024-02-29 12:00'",
    "timestamptz '2024-01-31'",
    "timestamptz '2024-03-31 02:30'",
    "date 'infinity'",
    "timestamp '-infinity'",
    "null::date",
    "null::timestamp",
    "(date '2024-01-31' + interval '29' day)",
    "(timestamp '2024-01-31' + interval '1' month)",
];

const LEVELS_MAX: u32 = 4;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Type {
    Int,
    Text,
    Bool,
    /// A number of any other type; of these there are columns and comparisons alone.
    Number,
    /// A date or a time stamp, likewise.
    Moment,
}

use Type::*;

/// Something of a type that may stand in an expression.
#[derive(Clone)]
pub struct Leaf {
    text: String,
    ty: Type,
    /// It means the same inside of a sub-query: not so a window function, nor an aggregate without a column.
    anywhere: bool,
}

type Column = (String, Type);

/// A WITH query in sight.
#[derive(Clone)]
struct Named {
    name: String,
    columns: Vec<Column>,
}

pub struct Generator {
    random: Prng,
    next_name: u32,
    with: Vec<Named>,
    level: u32,
    /// The query just made reads one table row by row, so that its rows can be locked.
    can_lock: bool,
    /// The query is an arm of a set operation, which can lock none.
    in_arm: bool,
}

impl Generator {
    pub fn new(seed: u64) -> Generator {
        Generator {
            random: Prng::new(seed),
            next_name: 0,
            with: Vec::new(),
            level: 0,
            can_lock: false,
            in_arm: false,
        }
    }

    pub fn statement(&mut self) -> String {
        let width = self.between(1, 4);
        let types = self.types(width);
        self.query(&types, &[]).0
    }

    pub fn chance(&mut self, percent: u64) -> bool {
        self.random.below(100) < percent
    }

    pub fn random_below(&mut self, end: u64) -> u64 {
        self.random.below(end)
    }

    /// A query may stand here.
    pub fn may_nest(&self) -> bool {
        self.level <= LEVELS_MAX
    }

    pub fn between(&mut self, low: usize, high: usize) -> usize {
        self.random.between(low as i64, high as i64) as usize
    }

    pub fn pick<T: Clone>(&mut self, list: &[T]) -> T {
        let position = self.random.below(list.len() as u64) as usize;
        list[position].clone()
    }

    pub fn name(&mut self, prefix: &str) -> String {
        self.next_name += 1;
        format!("{prefix}{}", self.next_name)
    }

    fn types(&mut self, count: usize) -> Vec<Type> {
        (0..count).map(|_| self.pick(&[Int, Int, Text, Bool])).collect()
    }

    /// A query with columns of these types that may read `outer`; its text and its columns.
    pub fn query(&mut self, types: &[Type], outer: &[Leaf]) -> (String, Vec<Column>) {
        let outer: Vec<Leaf> = outer.iter().filter(|leaf| leaf.anywhere).cloned().collect();
        let outer = &outer[..];
        let in_arm = std::mem::take(&mut self.in_arm);
        self.level += 1;
        let known = self.with.len();
        let mut text = String::new();
        if self.level <= LEVELS_MAX && self.chance(20) {
            text = self.with_clause(outer);
        }
        let form = self.random.below(10);
        self.can_lock = false;
        let (body, columns) = match form {
            0 if self.level <= LEVELS_MAX => self.set_operation(types, outer),
            1 => self.values(types, outer),
            _ => self.select(types, outer),
        };
        text.push_str(&body);
        let can_lock = self.can_lock && !in_arm;
        if self.level <= LEVELS_MAX && self.chance(12) {
            text = self.ordered_below(&text, &columns, outer.is_empty());
        } else if self.chance(25) {
            text.push_str(&self.order_over_all(types.len()));
            if self.chance(60) {
                text.push_str(&format!(" limit {}", self.between(0, 6)));
            }
            if self.chance(20) {
                text.push_str(&format!(" offset {}", self.between(0, 2)));
            }
            if can_lock && self.chance(30) {
                text.push_str(self.pick(&[" for update", " for share", " for no key update"]));
            }
        } else if can_lock && self.chance(10) {
            text.push_str(" for key share");
        }
        self.with.truncate(known);
        self.level -= 1;
        (text, columns)
    }

    pub fn order_over_all(&mut self, columns: usize) -> String {
        let order: Vec<String> = (1..=columns)
            .map(|n| {
                let direction = self.pick(&["", " desc", " nulls first", " desc nulls last"]);
                format!("{n}{direction}")
            })
            .collect();
        format!(" order by {}", order.join(", "))
    }

    /// The rows of a query by way of a sub-query or WITH query in an order that decides which of them remain.
    fn ordered_below(&mut self, query: &str, columns: &[Column], alone: bool) -> String {
        let (inner, outer) = (self.name("o"), self.name("o"));
        let list: Vec<String> = columns
            .iter()
            .map(|(name, _)| format!("{outer}.{name}"))
            .collect();
        let list = list.join(", ");
        let order = self.order_over_all(columns.len());
        let limit = format!("limit {}", self.between(0, 6));
        match self.random.below(4) {
            0 => {
                let keys = self.between(1, columns.len());
                let keys: Vec<String> = (1..=keys).map(|n| n.to_string()).collect();
                let keys = keys.join(", ");
                format!("select distinct on ({keys}) {list} from ({query}) as {outer}{order}")
            }
            1 if alone => {
                format!(
                    "with {outer} as (select * from ({query}) as {inner}{order}) select {list} from {outer} {limit}"
                )
            }
            _ => format!("select {list} from (select * from ({query}) as {inner}{order}) as {outer} {limit}"),
        }
    }

    fn with_clause(&mut self, outer: &[Leaf]) -> String {
        let mut parts = Vec::new();
        let mut recursive = "";
        for _ in 0..self.between(1, 2) {
            let name = self.name("w");
            if self.chance(15) {
                recursive = "recursive ";
                let base = self.between(0, 2);
                parts.push(format!(
                    "{name}(n) as (select {base} as n union {}select n + 1 from {name} where n < {})",
                    self.pick(&["", "all "]),
                    base + self.between(0, 4)
                ));
                let columns = vec![("n".to_string(), Int)];
                self.with.push(Named { name, columns });
                continue;
            }
            let width = self.between(1, 3);
            let types = self.types(width);
            // Often for each row of the query around it anew.
            let sight = if self.chance(50) { outer } else { &[] };
            let (query, columns) = self.query(&types, sight);
            let form = self.pick(&["", "", "materialized ", "not materialized "]);
            parts.push(format!("{name} as {form}({query})"));
            self.with.push(Named { name, columns });
        }
        format!("with {recursive}{} ", parts.join(", "))
    }

    fn set_operation(&mut self, types: &[Type], outer: &[Leaf]) -> (String, Vec<Column>) {
        self.in_arm = true;
        let (left, columns) = self.query(types, outer);
        self.in_arm = true;
        let (right, _) = self.query(types, outer);
        let operator = self.pick(&[
            "union",
            "union all",
            "intersect",
            "intersect all",
            "except",
            "except all",
        ]);
        self.can_lock = false;
        (format!("({left}) {operator} ({right})"), columns)
    }

    fn values(&mut self, types: &[Type], outer: &[Leaf]) -> (String, Vec<Column>) {
        let mut rows = Vec::new();
        for _ in 0..self.between(1, 3) {
            let row: Vec<String> = types.iter().map(|ty| self.expression(*ty, outer, 1)).collect();
            rows.push(format!("({})", row.join(", ")));
        }
        self.can_lock = false;
        let columns = types
            .iter()
            .enumerate()
            .map(|(n, ty)| (format!("column{}", n + 1), *ty));
        (format!("values {}", rows.join(", ")), columns.collect())
    }

    fn select(&mut self, types: &[Type], outer: &[Leaf]) -> (String, Vec<Column>) {
        let mut scope = Vec::new();
        let mut from = String::new();
        if !self.chance(10) {
            let mut items = Vec::new();
            for _ in 0..self.pick(&[1, 1, 1, 2]) {
                items.push(self.from_item(&mut scope, outer));
            }
            from = format!(" from {}", items.join(", "));
        }
        let own: Vec<Leaf> = scope.clone();
        let mut leaves = scope;
        leaves.extend_from_slice(outer);
        let filter = match self.chance(50) {
            true => format!(" where {}", self.expression(Bool, &leaves, 2)),
            false => String::new(),
        };
        let mut tail = String::new();
        let mut distinct = "";
        // One table and nothing beside it.
        let mut is_plain = from.starts_with(" from t") && from.split(' ').count() == 5;
        if self.chance(25) {
            leaves = self.grouped(&own, outer, &mut tail);
        } else if !own.is_empty() && self.chance(20) {
            let windows: Vec<Leaf> = (0..2).map(|_| self.window(&own)).collect();
            leaves.extend(windows.iter().cloned());
            leaves.extend(windows);
        } else if self.chance(15) {
            distinct = "distinct ";
        }
        is_plain &= tail.is_empty() && distinct.is_empty();
        let mut targets = Vec::new();
        let mut columns = Vec::new();
        for ty in types {
            let name = self.name("c");
            let is_set = self.chance(3);
            is_plain &= !is_set && leaves.iter().all(|leaf| leaf.anywhere);
            let value = match (*ty, is_set) {
                (Int, true) => format!(
                    "generate_series(greatest({}, -2), 2)",
                    self.expression(Int, &leaves, 0)
                ),
                (Text, true) => format!("unnest(array[{}, 'x'])", self.expression(Text, &leaves, 1)),
                _ => self.expression(*ty, &leaves, 2),
            };
            targets.push(format!("{value} as {name}"));
            columns.push((name, *ty));
        }
        self.can_lock = is_plain;
        (
            format!("select {distinct}{}{from}{filter}{tail}", targets.join(", ")),
            columns,
        )
    }

    /// GROUP BY and HAVING; what expressions above may read.
    fn grouped(&mut self, own: &[Leaf], outer: &[Leaf], tail: &mut String) -> Vec<Leaf> {
        let (mut keys, mut groupings): (Vec<Leaf>, Vec<Leaf>) = Default::default();
        if !own.is_empty() {
            for _ in 0..self.between(0, 2) {
                let key = self.pick(own);
                if !keys.iter().any(|known| known.text == key.text) {
                    // Inside of a sub-query PostgreSQL knows a key only if it is a column.
                    let anywhere = key.text.contains('.');
                    keys.push(Leaf { anywhere, ..key });
                }
            }
        }
        if !keys.is_empty() {
            let list: Vec<&str> = keys.iter().map(|key| &*key.text).collect();
            let (first, last) = (list[0], list[list.len() - 1]);
            let list = list.join(", ");
            let sets = match self.random.below(12) {
                0 => format!("rollup ({list})"),
                1 => format!("grouping sets (({list}), ())"),
                2 => format!("cube ({list})"),
                3 => format!("{first}, rollup ({last})"),
                4 => format!("grouping sets (({first}), ({last}), ({list}))"),
                _ => String::new(),
            };
            if sets.is_empty() {
                tail.push_str(&format!(" group by {list}"));
            } else {
                tail.push_str(&format!(" group by {sets}"));
                groupings.push(Leaf {
                    text: format!("grouping({list})"),
                    ty: Int,
                    anywhere: false,
                });
            }
        }
        let mut leaves = keys;
        leaves.extend(groupings);
        for _ in 0..2 {
            leaves.push(self.aggregate(own));
        }
        leaves.extend_from_slice(outer);
        if self.chance(30) {
            tail.push_str(&format!(" having {}", self.expression(Bool, &leaves, 1)));
        }
        leaves
    }

    fn aggregate(&mut self, own: &[Leaf]) -> Leaf {
        let ty = self.pick(&[Int, Int, Text, Bool]);
        let argument = self.expression(ty, own, 1);
        // Queries written alike are not the same to an order: COMPAT.md.
        let distinct = match argument.contains("select ") {
            true => "",
            false => self.pick(&["", "", "distinct "]),
        };
        let (mut text, result) = match (ty, self.random.below(7)) {
            (Int, 6) => (
                format!("percentile_disc(0.5) within group (order by {argument})"),
                Int,
            ),
            (Int | Text, 4) => (
                format!("array_agg({distinct}{argument} order by {argument} desc)"),
                Text,
            ),
            (Int | Text, 5) => (format!("jsonb_agg({argument} order by {argument})"), Text),
            (Int, 0) => (format!("sum({distinct}{argument})"), Int),
            (Int, 1) => (format!("max({argument})"), Int),
            (Int | Text, 2) => (format!("min({argument})"), ty),
            (Text, 1) => (format!("string_agg({argument}, ',' order by {argument})"), Text),
            (Bool, 1) => (format!("bool_or({argument})"), Bool),
            (_, 3) => ("count(*)".to_string(), Int),
            _ => (format!("count({distinct}{argument})"), Int),
        };
        if self.chance(15) {
            text = format!("{text} filter (where {})", self.expression(Bool, own, 1));
        }
        // Sums are numeric over bigint; all integers here are to be of one kind.
        if text.starts_with("sum") {
            text = format!("({text})::int");
        } else if text.starts_with("array_agg") || text.starts_with("jsonb_agg") {
            text = format!("({text})::text");
        }
        Leaf {
            // The columns may all be those of queries inside of it.
            anywhere: text.contains('.') && !text.contains("select "),
            text,
            ty: result,
        }
    }

    fn window(&mut self, own: &[Leaf]) -> Leaf {
        let argument = self.expression(Int, own, 1);
        let partition = match self.chance(60) {
            true => format!("partition by {} ", self.pick(own).text),
            false => String::new(),
        };
        let order = match self.chance(60) {
            true => format!("order by {}", self.pick(own).text),
            false => String::new(),
        };
        let call = match self.random.below(7) {
            0 => "rank()".to_string(),
            1 => "dense_rank()".to_string(),
            2 => format!("max({argument})"),
            3 => format!("count({argument})"),
            4 => format!("first_value({}) ", "1"),
            5 => format!("sum({argument})"),
            _ => "count(*)".to_string(),
        };
        let numbers: Vec<Leaf> = own.iter().filter(|leaf| leaf.ty == Int).cloned().collect();
        let order = match numbers.is_empty() || self.chance(50) {
            true => order,
            false => {
                let key = self.pick(&numbers).text;
                self.offset_frame(&key)
            }
        };
        let text = format!("{call} over ({partition}{order})");
        Leaf {
            // Sums are numeric over bigint.
            text: match call.starts_with("sum") {
                true => format!("({text})::int"),
                false => text,
            },
            ty: Int,
            anywhere: false,
        }
    }

    /// An order with a frame by distance; rows that the order does not tell apart have the same one, but for themselves.
    fn offset_frame(&mut self, key: &str) -> String {
        let (key, offsets): (String, &[&str]) = match self.random.below(4) {
            0 => (
                format!("{key}::float8"),
                &["0", "1.5", "'infinity'", "'10'", "1e300"],
            ),
            1 => (format!("{key}::numeric"), &["0", "0.5", "'infinity'", "100"]),
            2 => (
                format!("{key}::smallint"),
                &["0", "1", "32767", "9223372036854775807"],
            ),
            _ => (key.to_string(), &["0", "1", "2", "20", "2147483647"]),
        };
        let mode = self.pick(&["range", "range", "range", "groups"]);
        let offsets = if mode == "range" {
            offsets
        } else {
            &["0", "1", "2"]
        };
        let bound = |this: &mut Generator| {
            format!(
                "{} {}",
                this.pick(offsets),
                this.pick(&["preceding", "following"])
            )
        };
        let start = match self.chance(25) {
            true => "unbounded preceding".to_string(),
            false => format!("{} preceding", self.pick(offsets)),
        };
        let end = match self.random.below(4) {
            0 => "unbounded following".to_string(),
            1 => "current row".to_string(),
            _ => bound(self),
        };
        let direction = self.pick(&["", " desc", " nulls first", " desc nulls last"]);
        let exclude = self.pick(&["", "", " exclude current row", " exclude group", " exclude ties"]);
        format!("order by {key}{direction} {mode} between {start} and {end}{exclude}")
    }

    /// One item of FROM; its columns go into `scope`.
    fn from_item(&mut self, scope: &mut Vec<Leaf>, outer: &[Leaf]) -> String {
        if self.level <= LEVELS_MAX && self.chance(35) {
            return self.join(scope, outer);
        }
        let alias = self.name("s");
        let form = self.random.below(11);
        let (text, columns) = match form {
            10 => {
                let mut sight = scope.clone();
                sight.extend_from_slice(outer);
                self.rows_of_array(&sight, &alias)
            }
            0..=2 if self.level <= LEVELS_MAX => {
                let width = self.between(1, 3);
                let types = self.types(width);
                // The neighbours to the left too, if LATERAL.
                let lateral = self.chance(30);
                let mut sight = if lateral { scope.clone() } else { Vec::new() };
                sight.extend_from_slice(outer);
                let (query, columns) = self.query(&types, &sight);
                (
                    format!("{}({query}) as {alias}", if lateral { "lateral " } else { "" }),
                    columns,
                )
            }
            3 => {
                let to = self.between(0, 4);
                (
                    format!("generate_series(1, {to}) as {alias}(g)"),
                    vec![("g".to_string(), Int)],
                )
            }
            4 | 5 if !self.with.is_empty() => {
                let with = self.with.clone();
                let named = self.pick(&with);
                (format!("{} as {alias}", named.name), named.columns)
            }
            _ => {
                let (name, columns): (&str, &[(&str, Type)]) = match self.random.below(10) {
                    7 | 8 => {
                        let columns: &[(&str, Type)] = &[
                            ("a", Int),
                            ("s", Number),
                            ("k", Number),
                            ("n", Number),
                            ("m", Number),
                            ("f", Number),
                            ("r", Number),
                        ];
                        ("t5", columns)
                    }
                    9 => ("t6", &[("a", Int), ("e", Moment), ("p", Moment), ("z", Moment)]),
                    0 | 1 => ("t1", &[("a", Int), ("b", Int), ("c", Text)]),
                    2 | 3 => ("t2", &[("a", Int), ("b", Int), ("c", Text)]),
                    4 | 5 => ("t3", &[("a", Int), ("d", Bool), ("c", Text)]),
                    _ => ("t4", &[("a", Int), ("b", Int)]),
                };
                let columns = columns.iter().map(|(name, ty)| (name.to_string(), *ty));
                (format!("{name} as {alias}"), columns.collect())
            }
        };
        // A single column of a function would mean itself.
        if columns.len() > 1 && self.chance(25) {
            let (text, ty) = self.pick(&[
                ("({} is null)", Bool),
                ("({} is not null)", Bool),
                ("{}::text", Text),
            ]);
            scope.push(Leaf {
                text: text.replace("{}", &alias),
                ty,
                anywhere: true,
            });
        }
        for (column, ty) in columns {
            scope.push(Leaf {
                text: format!("{alias}.{column}"),
                ty,
                anywhere: true,
            });
        }
        text
    }

    fn join(&mut self, scope: &mut Vec<Leaf>, outer: &[Leaf]) -> String {
        let kind = self.pick(&[
            "join",
            "join",
            "left join",
            "left join",
            "right join",
            "full join",
            "cross join",
        ]);
        self.level += 1;
        let mut own = Vec::new();
        // Below RIGHT and FULL, LATERAL may not look left; the simplest is that it never does.
        let left = self.from_item(&mut own, outer);
        let split = own.len();
        let mut right_scope = Vec::new();
        let right = self.from_item(&mut right_scope, outer);
        own.extend(right_scope);
        self.level -= 1;
        let condition = match kind {
            "cross join" => String::new(),
            "full join" => {
                let (left, right) = own.split_at(split);
                let (a, b) = (self.expression(Int, left, 0), self.expression(Int, right, 0));
                match own.is_empty() || !a.contains('.') || !b.contains('.') {
                    true => " on true".to_string(),
                    false => format!(" on {a} = {b}"),
                }
            }
            _ => {
                let mut sight = own.clone();
                sight.extend_from_slice(outer);
                let equal = match self.chance(60) {
                    true if self.chance(25) => {
                        let (left, right) = own.split_at(split);
                        let ty = match left.iter().chain(right).any(|leaf| leaf.ty == Moment) {
                            true => Moment,
                            false => Number,
                        };
                        Some(format!(
                            "{} = {}",
                            self.comparable(ty, left),
                            self.comparable(ty, right)
                        ))
                    }
                    true => {
                        let (left, right) = own.split_at(split);
                        Some(format!(
                            "{} = {}",
                            self.expression(Int, left, 0),
                            self.expression(Int, right, 0)
                        ))
                    }
                    false => None,
                };
                let other = match equal.is_none() || self.chance(30) {
                    true => Some(self.expression(Bool, &sight, 1)),
                    false => None,
                };
                let terms: Vec<String> = equal.into_iter().chain(other).collect();
                format!(" on {}", terms.join(" and "))
            }
        };
        scope.extend(own);
        format!("({left} {kind} {right}{condition})")
    }

    /// An expression over the leaves.
    pub fn expression(&mut self, ty: Type, leaves: &[Leaf], depth: u32) -> String {
        let fitting: Vec<Leaf> = leaves.iter().filter(|leaf| leaf.ty == ty).cloned().collect();
        if depth == 0 || self.chance(35) {
            return match fitting.is_empty() || self.chance(15) {
                true => self.constant(ty),
                false => self.pick(&fitting).text,
            };
        }
        if self.level <= LEVELS_MAX && self.chance(12) {
            return self.scalar_query(ty, leaves);
        }
        match ty {
            Int => self.integer(leaves, depth),
            Text => self.text(leaves, depth),
            Bool => self.boolean(leaves, depth),
            Number | Moment => self.comparable(ty, leaves),
        }
    }

    fn constant(&mut self, ty: Type) -> String {
        match ty {
            Int => self
                .pick(&["0", "1", "2", "3", "10", "(-1)", "null::int"])
                .to_string(),
            Text => self
                .pick(&["'x'::text", "'y'::text", "''::text", "'zz'::text", "null::text"])
                .to_string(),
            Bool => self.pick(&["true", "false", "null::bool"]).to_string(),
            Number => self.pick(NUMBERS).to_string(),
            Moment => self.pick(MOMENTS).to_string(),
        }
    }

    /// A column or a constant that compares with all others of its kind; integers are numbers as well.
    fn comparable(&mut self, ty: Type, leaves: &[Leaf]) -> String {
        let fits = |leaf: &&Leaf| leaf.ty == ty || ty == Number && leaf.ty == Int;
        let fitting: Vec<Leaf> = leaves.iter().filter(fits).cloned().collect();
        match fitting.is_empty() || self.chance(30) {
            true => self.constant(ty),
            false => self.pick(&fitting).text,
        }
    }

    /// A predicate over values of different types.
    fn across_types(&mut self, leaves: &[Leaf]) -> String {
        let there = |ty: Type| leaves.iter().any(|leaf| leaf.ty == ty);
        let ty = match (there(Number), there(Moment)) {
            (true, true) => self.pick(&[Number, Moment]),
            (false, true) => Moment,
            _ => Number,
        };
        let value = self.comparable(ty, leaves);
        match self.random.below(8) {
            0 => {
                let (a, b) = (self.comparable(ty, leaves), self.comparable(ty, leaves));
                format!("({value} between {a} and {b})")
            }
            1 if ty == Number => {
                let list: Vec<String> = (0..self.between(1, 11)).map(|_| self.constant(ty)).collect();
                format!("({value} {} ({}))", self.pick(&["in", "not in"]), list.join(", "))
            }
            2 if ty == Number => {
                let list = self.pick(&[
                    "'{1,2,null}'::int[]",
                    "'{1,2}'::bigint[]",
                    "'{2.5,nan}'::numeric[]",
                    "'{0.1,2.5}'::float8[]",
                ]);
                let operator = self.pick(&["= any", "<> all", "< any", ">= all"]);
                format!("({value} {operator} ({list}))")
            }
            3 => format!("({value} is distinct from {})", self.comparable(ty, leaves)),
            _ => {
                let operator = self.pick(&["=", "=", "=", "<", ">", "<=", ">=", "<>"]);
                format!("({value} {operator} {})", self.comparable(ty, leaves))
            }
        }
    }

    fn integer(&mut self, leaves: &[Leaf], depth: u32) -> String {
        let next = depth - 1;
        if self.chance(15) {
            return self.compound_integer(leaves, next);
        }
        match self.random.below(9) {
            0 | 1 => {
                let operator = self.pick(&["+", "-"]);
                let (a, b) = (
                    self.expression(Int, leaves, next),
                    self.expression(Int, leaves, next),
                );
                format!("({a} {operator} {b})")
            }
            2 => format!("(-({}))", self.expression(Int, leaves, next)),
            3 => {
                let (a, b) = (
                    self.expression(Int, leaves, next),
                    self.expression(Int, leaves, next),
                );
                format!("coalesce({a}, {b})")
            }
            4 => {
                let test = self.expression(Bool, leaves, next);
                let (a, b) = (
                    self.expression(Int, leaves, next),
                    self.expression(Int, leaves, next),
                );
                format!("case when {test} then {a} else {b} end")
            }
            5 => format!("length({})", self.expression(Text, leaves, next)),
            6 => {
                let (a, b) = (
                    self.expression(Int, leaves, next),
                    self.expression(Int, leaves, next),
                );
                format!("{}({a}, {b})", self.pick(&["greatest", "least"]))
            }
            7 => {
                let (a, b) = (
                    self.expression(Int, leaves, next),
                    self.expression(Int, leaves, next),
                );
                format!("nullif({a}, {b})")
            }
            _ => format!("abs({})", self.expression(Int, leaves, next)),
        }
    }

    fn text(&mut self, leaves: &[Leaf], depth: u32) -> String {
        let next = depth - 1;
        if self.chance(35) {
            return self.compound_text(leaves, next);
        }
        match self.random.below(5) {
            0 => {
                let (a, b) = (
                    self.expression(Text, leaves, next),
                    self.expression(Text, leaves, next),
                );
                format!("({a} || {b})")
            }
            1 => format!("upper({})", self.expression(Text, leaves, next)),
            2 => {
                let (a, b) = (
                    self.expression(Text, leaves, next),
                    self.expression(Text, leaves, next),
                );
                format!("coalesce({a}, {b})")
            }
            3 => format!("({})::text", self.expression(Int, leaves, next)),
            _ => {
                let test = self.expression(Bool, leaves, next);
                let (a, b) = (
                    self.expression(Text, leaves, next),
                    self.expression(Text, leaves, next),
                );
                format!("case when {test} then {a} when {a} is null then {b} end")
            }
        }
    }

    fn boolean(&mut self, leaves: &[Leaf], depth: u32) -> String {
        let next = depth - 1;
        let ty = self.pick(&[Int, Int, Text]);
        if leaves.iter().any(|leaf| matches!(leaf.ty, Number | Moment)) && self.chance(40) {
            return self.across_types(leaves);
        }
        if self.chance(18) {
            return self.compound_boolean(leaves, next);
        }
        match self.random.below(13) {
            0..=2 => {
                let operator = self.pick(&["=", "<", ">", "<=", ">=", "<>", "is distinct from"]);
                let (a, b) = (
                    self.expression(ty, leaves, next),
                    self.expression(ty, leaves, next),
                );
                format!("({a} {operator} {b})")
            }
            3 => {
                let (a, b) = (
                    self.expression(Bool, leaves, next),
                    self.expression(Bool, leaves, next),
                );
                format!("({a} {} {b})", self.pick(&["and", "or"]))
            }
            4 => format!("(not {})", self.expression(Bool, leaves, next)),
            5 => {
                let test = self.pick(&["is null", "is not null"]);
                let any = self.pick(&[Int, Text, Bool]);
                format!("({} {test})", self.expression(any, leaves, next))
            }
            6 => {
                let test = self.pick(&["is true", "is not false", "is unknown"]);
                format!("({} {test})", self.expression(Bool, leaves, next))
            }
            7 => {
                let value = self.expression(ty, leaves, next);
                let list: Vec<String> = (0..self.between(1, 3))
                    .map(|_| self.expression(ty, leaves, 0))
                    .collect();
                format!("({value} {} ({}))", self.pick(&["in", "not in"]), list.join(", "))
            }
            8 => {
                let value = self.expression(Int, leaves, next);
                let (a, b) = (self.expression(Int, leaves, 0), self.expression(Int, leaves, 0));
                format!("({value} between {a} and {b})")
            }
            9 if self.level <= LEVELS_MAX => {
                let (query, _) = self.query(&[ty], leaves);
                format!("({}exists ({query}))", self.pick(&["", "not "]))
            }
            10 if self.level <= LEVELS_MAX => {
                let value = self.expression(ty, leaves, next);
                let (query, _) = self.query(&[ty], leaves);
                let operator = self.pick(&["in", "in", "not in", "= any", "< all", ">= any"]);
                format!("({value} {operator} ({query}))")
            }
            11 => {
                let (a, b) = (self.expression(Int, leaves, 0), self.expression(Int, leaves, 0));
                let (c, d) = (self.expression(Text, leaves, 0), self.expression(Text, leaves, 0));
                format!("(({a}, {c}) {} ({b}, {d}))", self.pick(&["=", "<>", "<", ">="]))
            }
            _ => {
                let value = self.expression(Text, leaves, next);
                match self.pick(&[
                    "like '%x%'",
                    "like 'x%'",
                    "~ '^z'",
                    "~ '^(x|y)'",
                    "^@ 'z'",
                    "starts_with",
                ]) {
                    "starts_with" => format!("starts_with({value}, 'x')"),
                    pattern => format!("({value} {pattern})"),
                }
            }
        }
    }

    /// A sub-query of exactly one row.
    fn scalar_query(&mut self, ty: Type, leaves: &[Leaf]) -> String {
        let (query, columns) = self.query(&[ty], leaves);
        let alias = self.name("q");
        if ty == Text && self.chance(30) {
            let (column, inner) = (&columns[0].0, self.name("q"));
            let order = self.order_over_all(1);
            return format!(
                "(select string_agg({alias}.{column}, ',') from (select * from ({query}) as {inner}{order}) as {alias})"
            );
        }
        let aggregate = match ty {
            Int => "max",
            Text => "min",
            Bool => "bool_and",
            Number | Moment => "count",
        };
        format!(
            "(select {aggregate}({alias}.{}) from ({query}) as {alias})",
            columns[0].0
        )
    }
}
