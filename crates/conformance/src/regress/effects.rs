//! What a statement names: what it would make or change, what it reads, and what its definitions stand for.
//!
//! Only words in the place of a relation, a function, a type or a cursor count as read: a column that has the name of
//! a table is none.

use super::words::{Word, words};

#[derive(Debug, Clone, PartialEq, Default)]
pub enum Block {
    Begin,
    /// COMMIT, and PREPARE TRANSACTION.
    End,
    Rollback,
    Savepoint(String),
    RollbackTo(String),
    #[default]
    None,
}

/// How much of an object differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// Only what catalogs tell of it: owner, comment, privileges, indexes, statistics.
    Catalog,
    /// Its rows, or what it computes.
    Data,
    /// One server has it and the other does not.
    Existence,
}

#[derive(Debug, Default, PartialEq)]
pub struct Effects {
    pub block: Block,
    pub targets: Vec<(String, Scope)>,
    /// Relations, functions, types, cursors and prepared statements that it names.
    pub reads: Vec<String>,
    /// Names that stand in literals: what a query of catalogs asks for.
    pub literals: Vec<String>,
    pub variables: Vec<String>,
    /// psql's variables that it sets, or the prefix of their names.
    pub sets: Vec<String>,
    pub asks_catalog: bool,
    /// The tables that it writes itself.
    pub writes: Vec<String>,
    /// A view, function, cursor or prepared statement stands for what it names.
    pub defines: Option<String>,
    /// A table and what goes with it: a partition, a child, the table of a cascading foreign key.
    pub descends: Vec<(String, String)>,
    /// A table and the function of its new trigger.
    pub fires: Option<(String, String)>,
    /// What it creates or drops: afterwards the name has no history.
    pub renews: Vec<String>,
    pub drops: bool,
    /// What the function or rule that it defines writes.
    pub body_writes: Vec<String>,
}

/// Words between CREATE and the kind of object.
const FILLERS: [&str; 14] = [
    "or",
    "replace",
    "temp",
    "temporary",
    "unlogged",
    "global",
    "local",
    "unique",
    "recursive",
    "materialized",
    "default",
    "trusted",
    "procedural",
    "constraint",
];
/// First words of kinds that have two or three.
const LONG_KINDS: [&str; 8] = [
    "foreign", "event", "access", "text", "user", "operator", "search", "data",
];
/// What follows a kind of two words.
const KIND_ENDS: [&str; 16] = [
    "table",
    "wrapper",
    "trigger",
    "method",
    "search",
    "configuration",
    "dictionary",
    "parser",
    "template",
    "mapping",
    "class",
    "family",
    "data",
    "privileges",
    "system",
    "policy",
];
/// Actions of ALTER TABLE after which rows and results stay as they were.
const DESCRIPTIVE: [&str; 12] = [
    "statistics",
    "owner",
    "cluster",
    "identity",
    "storage",
    "logged",
    "unlogged",
    "tablespace",
    "compression",
    "reset",
    "n_distinct",
    "fillfactor",
];

/// What is no name in GRANT, COMMENT and their kin.
const KEYWORDS: [&str; 96] = [
    "select",
    "insert",
    "update",
    "delete",
    "truncate",
    "references",
    "trigger",
    "usage",
    "create",
    "connect",
    "temporary",
    "temp",
    "execute",
    "all",
    "privileges",
    "on",
    "table",
    "tables",
    "sequence",
    "sequences",
    "database",
    "domain",
    "foreign",
    "data",
    "wrapper",
    "server",
    "function",
    "functions",
    "procedure",
    "routine",
    "language",
    "large",
    "object",
    "schema",
    "schemas",
    "tablespace",
    "type",
    "to",
    "from",
    "public",
    "with",
    "grant",
    "option",
    "granted",
    "by",
    "for",
    "cascade",
    "restrict",
    "in",
    "is",
    "column",
    "constraint",
    "index",
    "view",
    "materialized",
    "rule",
    "policy",
    "operator",
    "aggregate",
    "cast",
    "as",
    "collation",
    "conversion",
    "access",
    "method",
    "event",
    "publication",
    "subscription",
    "role",
    "statistics",
    "text",
    "search",
    "configuration",
    "dictionary",
    "parser",
    "template",
    "default",
    "owned",
    "if",
    "exists",
    "concurrently",
    "current_user",
    "session_user",
    "verbose",
    "full",
    "system",
    "owner",
    "set",
    "null",
    "user",
    "mapping",
    "group",
    "alter",
    "revoke",
    "class",
    "family",
];

impl Effects {
    pub fn of(body: &str) -> Effects {
        let words = words(body);
        let mut effects = Effects::default();
        effects.take_words(&words, body);
        let reader = Reader { words: &words };
        effects.writes = reader.writes();
        if let Some(Word::Name(verb)) = words.first() {
            effects.take_verb(verb, &reader);
        }
        if words.first().is_some_and(|word| word.is("do")) {
            effects.writes.append(&mut effects.body_writes);
        }
        let writes = effects.writes.iter().cloned().map(|name| (name, Scope::Data));
        effects.targets.extend(writes);
        let renews = &effects.renews;
        effects.reads.retain(|name| !renews.contains(name));
        effects
    }

    fn take_words(&mut self, words: &[Word], body: &str) {
        let defining = words
            .first()
            .is_some_and(|word| word.is("create") || word.is("do") || word.is("alter"));
        let reader = Reader { words };
        self.reads = reader.reads();
        let command = body.starts_with('\\');
        for word in words {
            match word {
                Word::Literal(text) if defining && text.contains(char::is_whitespace) => {
                    let inner = Effects::of(text);
                    self.reads.extend(inner.reads);
                    self.reads.extend(inner.writes.iter().cloned());
                    self.body_writes.extend(inner.writes);
                }
                Word::Literal(text) => self.literals.extend(qualified_name(text)),
                Word::Variable(name) => self.variables.push(name.clone()),
                Word::Name(name) if command => self.literals.push(name.clone()),
                _ => {}
            }
        }
        self.asks_catalog = command || words.iter().any(is_of_catalog);
        if let Some(at) = words.iter().position(|word| word.is("gset")) {
            let prefix = match words.get(at + 1) {
                Some(Word::Name(prefix)) => prefix.as_str(),
                _ => "",
            };
            let names = words[..at].iter().filter_map(|word| match word {
                Word::Name(name) => Some(format!("{prefix}{name}")),
                _ => None,
            });
            self.sets = names.collect();
        }
    }

    fn take_verb(&mut self, verb: &str, reader: &Reader<'_>) {
        match verb {
            "begin" => self.block = Block::Begin,
            "start" => self.block = Block::Begin,
            "commit" | "end" => self.block = Block::End,
            "rollback" | "abort" => self.take_rollback(reader),
            "savepoint" => self.block = Block::Savepoint(reader.name_at(1).unwrap_or_default()),
            "prepare" if reader.is(1, "transaction") => {
                self.block = Block::End;
                if let Some(Word::Literal(gid)) = reader.words.get(2) {
                    self.targets.push((gid.clone(), Scope::Existence));
                    self.targets.push(("pg_prepared_xacts".to_string(), Scope::Data));
                }
            }
            "declare" | "prepare" => self.take_definition(reader.name_at(1)),
            "fetch" | "move" | "close" | "execute" => self.take_cursor(reader),
            "copy" => self.reads.extend(reader.name_at(1)),
            "create" => self.take_create(reader),
            "alter" => self.take_alter(reader),
            "drop" => self.take_drop(reader),
            "refresh" => self.take_names(reader, Scope::Data),
            "comment" | "grant" | "revoke" | "security" | "reassign" | "reindex" | "cluster" | "vacuum"
            | "analyze" => self.take_names(reader, Scope::Catalog),
            _ => {}
        }
    }

    fn take_rollback(&mut self, reader: &Reader<'_>) {
        let to = reader.find("to").map(|at| {
            if reader.is(at + 1, "savepoint") {
                at + 2
            } else {
                at + 1
            }
        });
        self.block = match to.and_then(|at| reader.name_at(at)) {
            Some(name) => Block::RollbackTo(name),
            None if reader.is(1, "prepared") => Block::None,
            None => Block::Rollback,
        };
    }

    fn take_definition(&mut self, name: Option<String>) {
        self.targets
            .extend(name.clone().map(|name| (name, Scope::Existence)));
        self.renews.extend(name.clone());
        self.defines = name;
    }

    /// A cursor moves on one side only; its name is the last word, that of a prepared statement the second.
    fn take_cursor(&mut self, reader: &Reader<'_>) {
        let last = reader
            .words
            .iter()
            .rposition(|word| matches!(word, Word::Name(_)));
        let at = if reader.is(0, "execute") { Some(1) } else { last };
        let name = at.and_then(|at| reader.name_at(at));
        self.reads.extend(name.clone());
        self.targets.extend(name.map(|name| (name, Scope::Data)));
    }

    fn take_create(&mut self, reader: &Reader<'_>) {
        let Some((kind, at)) = reader.kind(1) else { return };
        let behind = reader.behind_if(at);
        let name = reader.name_at(behind).or_else(|| reader.operator_at(behind));
        let (kind, name) = (kind.as_str(), name.filter(|name| name != "on"));
        let table = reader.find("on").and_then(|at| reader.name_at(at + 1));
        match kind {
            "trigger" => {
                let function = ["function", "procedure"]
                    .iter()
                    .find_map(|word| reader.find(word));
                let function = function.and_then(|at| reader.name_at(at + 1));
                self.fires = table.clone().zip(function);
                self.targets.extend(table.map(|table| (table, Scope::Data)));
            }
            "rule" => {
                let table = reader.find("to").and_then(|at| reader.name_at(at + 1));
                self.targets.extend(table.map(|table| (table, Scope::Data)));
                self.body_writes.append(&mut self.writes);
            }
            "policy" => self.targets.extend(table.map(|table| (table, Scope::Data))),
            "index" => {
                let unique = reader.words.iter().take(3).any(|word| word.is("unique"));
                let scope = if unique { Scope::Data } else { Scope::Catalog };
                self.targets.extend(table.map(|table| (table, scope)));
            }
            "view" | "function" | "procedure" => {
                self.body_writes.append(&mut self.writes);
                self.defines.clone_from(&name);
            }
            "table" => self.take_descent(reader, name.as_deref()),
            "statistics" => {
                let table = reader.find("from").and_then(|at| reader.name_at(at + 1));
                self.targets.extend(table.map(|table| (table, Scope::Catalog)));
            }
            _ => {}
        }
        if behind == at {
            self.renews.extend(name.clone());
        }
        self.targets.extend(name.map(|name| (name, Scope::Existence)));
    }

    /// A new table's parents, and the tables whose foreign keys cascade to it.
    fn take_descent(&mut self, reader: &Reader<'_>, name: Option<&str>) {
        let Some(name) = name else { return };
        let mut parents = Vec::new();
        if let Some(at) = reader.find("inherits") {
            let end = reader.words[at..].iter().position(|word| word.symbol(')'));
            let listed = reader.words[at + 1..at + end.unwrap_or(1)].iter();
            parents.extend(listed.filter_map(|word| match word {
                Word::Name(name) => Some(name.clone()),
                _ => None,
            }));
        }
        if let Some(at) = reader.find("partition").filter(|at| reader.is(at + 1, "of")) {
            parents.extend(reader.name_at(at + 2));
        }
        self.targets
            .extend(parents.iter().cloned().map(|name| (name, Scope::Data)));
        if reader.find("cascade").is_some() || reader.find("set").is_some() {
            let at = reader.find("references");
            parents.extend(at.and_then(|at| reader.name_at(at + 1)));
        }
        self.descends = parents
            .into_iter()
            .map(|parent| (parent, name.to_string()))
            .collect();
    }

    fn take_alter(&mut self, reader: &Reader<'_>) {
        if reader.is(1, "default") {
            return self.take_names(reader, Scope::Catalog);
        }
        let Some((kind, at)) = reader.kind(1) else { return };
        let at = reader.behind_if(at);
        let at = if reader.is(at, "only") { at + 1 } else { at };
        let Some(name) = reader.name_at(at) else { return };
        let descriptive = DESCRIPTIVE.iter().any(|word| reader.find(word).is_some());
        let table = matches!(kind.as_str(), "table" | "index" | "view" | "column");
        let scope = if table && descriptive {
            Scope::Catalog
        } else {
            Scope::Data
        };
        for word in ["rename", "inherit", "attach", "detach", "schema"] {
            let Some(found) = reader.find(word) else { continue };
            if word == "rename" && !reader.is(found + 1, "to") {
                continue; // A column.
            }
            let skipped = reader.words[found + 1..].iter();
            let skipped = skipped
                .take_while(|word| word.is("to") || word.is("partition"))
                .count();
            let other = reader.name_at(found + 1 + skipped);
            if let (Some(child), "attach") = (other.clone(), word) {
                self.descends.push((name.clone(), child));
            }
            if let (Some(parent), "inherit") = (other.clone(), word) {
                self.descends.push((parent, name.clone()));
            }
            let scope = if word == "rename" { Scope::Existence } else { scope };
            self.targets.extend(other.map(|name| (name, scope)));
        }
        let referenced = reader.find("references").and_then(|at| reader.name_at(at + 1));
        self.descends
            .extend(referenced.map(|parent| (parent, name.clone())));
        self.targets.push((name, scope));
    }

    fn take_drop(&mut self, reader: &Reader<'_>) {
        if reader.is(1, "owned") {
            return self.take_names(reader, Scope::Catalog);
        }
        let Some((kind, at)) = reader.kind(1) else { return };
        self.drops = true;
        let mut at = reader.behind_if(at);
        self.targets
            .extend(reader.operator_at(at).map(|name| (name, Scope::Existence)));
        while let Some((name, next)) = reader.qualified(at) {
            self.renews.push(name.clone());
            self.targets.push((name, Scope::Existence));
            // A function has its arguments.
            let end = reader.words[next..].iter().position(|word| word.symbol(')'));
            let parens = reader.words.get(next).is_some_and(|word| word.symbol('('));
            let next = if parens { next + end.unwrap_or(0) + 1 } else { next };
            if !reader.words.get(next).is_some_and(|word| word.symbol(',')) {
                break;
            }
            at = next + 1;
        }
        if matches!(kind.as_str(), "trigger" | "rule" | "policy") {
            let table = reader.find("on").and_then(|at| reader.name_at(at + 1));
            self.targets.extend(table.map(|table| (table, Scope::Data)));
        }
    }

    /// Every name may be an object's or a role's.
    fn take_names(&mut self, reader: &Reader<'_>, scope: Scope) {
        let names = reader.words[1..].iter().filter_map(|word| match word {
            Word::Name(name) if !KEYWORDS.contains(&name.as_str()) => Some((name.clone(), scope)),
            _ => None,
        });
        self.targets.extend(names);
    }
}

/// The parts of a literal that is nothing but a name, or a function with its arguments. Those of one or two letters
/// are codes of catalogs (`relkind = 'r'`).
fn qualified_name(text: &str) -> Vec<String> {
    let head = text.split('(').next().unwrap_or_default();
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '"' | '-') || is_of_operator(c);
    if !head.chars().all(plain) {
        return Vec::new();
    }
    let parts = head.split('.').map(|part| part.trim_matches('"').to_lowercase());
    parts.filter(|part| part.len() > 2).collect()
}

pub fn is_of_operator(c: char) -> bool {
    "+-*/<>=~!@#%^&`?".contains(c)
}

/// Whether a word belongs to a catalog or asks one by its name.
fn is_of_catalog(word: &Word) -> bool {
    let Word::Name(name) = word else { return false };
    name.starts_with("pg_") && !name.starts_with("pg_temp")
        || name == "information_schema"
        || name.starts_with("reg")
            && (name.ends_with("class") || name.ends_with("proc") || name.ends_with("type"))
        || (name.starts_with("has_") && name.ends_with("_privilege"))
        || matches!(
            name.as_str(),
            "obj_description" | "col_description" | "format_type"
        )
}

struct Reader<'a> {
    words: &'a [Word],
}

impl Reader<'_> {
    fn is(&self, at: usize, name: &str) -> bool {
        self.words.get(at).is_some_and(|word| word.is(name))
    }

    fn find(&self, name: &str) -> Option<usize> {
        self.words.iter().position(|word| word.is(name))
    }

    /// The last part of the name that stands there, and what comes behind it.
    fn qualified(&self, at: usize) -> Option<(String, usize)> {
        let Some(Word::Name(first)) = self.words.get(at) else {
            return None;
        };
        let (mut name, mut at) = (first, at + 1);
        while self.words.get(at).is_some_and(|word| word.symbol('.'))
            && let Some(Word::Name(next)) = self.words.get(at + 1)
        {
            (name, at) = (next, at + 2);
        }
        Some((name.clone(), at))
    }

    fn name_at(&self, at: usize) -> Option<String> {
        self.qualified(at).map(|(name, _)| name)
    }

    /// The operator that stands there.
    fn operator_at(&self, at: usize) -> Option<String> {
        let symbols = self.words.get(at..)?.iter().map_while(|word| match word {
            Word::Symbol(c) if is_of_operator(*c) => Some(*c),
            _ => None,
        });
        Some(symbols.collect::<String>()).filter(|name| !name.is_empty())
    }

    /// The last word of the kind of object that stands there, and what comes behind it.
    fn kind(&self, mut at: usize) -> Option<(String, usize)> {
        let name = |at: usize| match self.words.get(at) {
            Some(Word::Name(name)) => Some(name.as_str()),
            _ => None,
        };
        while name(at).is_some_and(|name| FILLERS.contains(&name)) {
            at += 1;
        }
        while name(at).is_some_and(|name| LONG_KINDS.contains(&name))
            && name(at + 1).is_some_and(|next| KIND_ENDS.contains(&next))
        {
            at += 1;
        }
        Some((name(at)?.to_string(), at + 1))
    }

    /// Behind IF EXISTS, IF NOT EXISTS and CONCURRENTLY.
    fn behind_if(&self, mut at: usize) -> usize {
        while ["if", "not", "exists", "concurrently", "for"]
            .iter()
            .any(|word| self.is(at, word))
        {
            at += 1;
        }
        at
    }

    /// The tables that INSERT, UPDATE, DELETE, MERGE, COPY and TRUNCATE write, wherever in the text.
    fn writes(&self) -> Vec<String> {
        let mut writes = Vec::new();
        for at in 0..self.words.len() {
            let Word::Name(word) = &self.words[at] else {
                continue;
            };
            let before = |name: &str| at > 0 && self.is(at - 1, name);
            let event = ["for", "key", "on", "before", "after", "or", "of", "do"]
                .iter()
                .any(|word| before(word));
            let next = match word.as_str() {
                "insert" | "merge" if self.is(at + 1, "into") => at + 2,
                "delete" if self.is(at + 1, "from") => at + 2,
                "update" if !event => at + 1,
                "truncate" if self.is(at + 1, "table") => at + 2,
                "truncate" if at == 0 => at + 1,
                "copy" if self.find("from").is_some() => at + 1,
                "into" if !before("insert") && !before("merge") && self.is(0, "select") => at + 1,
                _ => continue,
            };
            let fillers = ["only", "temp", "temporary", "unlogged", "table"];
            let skipped = self.words[next..]
                .iter()
                .take_while(|word| fillers.iter().any(|name| word.is(name)));
            writes.extend(self.name_at(next + skipped.count()));
        }
        writes
    }

    /// Names in the place of a relation, a function or a type.
    fn reads(&self) -> Vec<String> {
        const OPENING: [&str; 8] = ["from", "join", "into", "update", "only", "table", "using", "of"];
        const CLOSING: [&str; 12] = [
            "where",
            "group",
            "order",
            "having",
            "limit",
            "union",
            "intersect",
            "except",
            "set",
            "returning",
            "select",
            "window",
        ];
        let mut reads = Vec::new();
        let mut lists = vec![false]; // Whether a comma is followed by a relation, for each open parenthesis.
        let mut relation = false;
        let mut at = 0;
        while at < self.words.len() {
            let here = at;
            at += 1;
            match &self.words[here] {
                Word::Symbol('(') => lists.push(relation),
                Word::Symbol(')') => {
                    lists.pop();
                    relation = false;
                    if lists.is_empty() {
                        lists.push(false);
                    }
                }
                Word::Symbol(',') => relation = lists.last() == Some(&true),
                Word::Cast => {
                    reads.extend(self.name_at(at));
                    relation = false;
                }
                Word::Name(name) if OPENING.contains(&name.as_str()) => {
                    relation = true;
                    if matches!(name.as_str(), "from" | "using" | "table") {
                        *lists.last_mut().expect("the outermost level stays") = true;
                    }
                }
                Word::Name(name) if name == "lateral" || name == "rows" && relation => {}
                Word::Name(name) if CLOSING.contains(&name.as_str()) => {
                    relation = false;
                    *lists.last_mut().expect("the outermost level stays") = false;
                }
                Word::Name(_) => {
                    let (name, next) = self.qualified(here).expect("a name stands there");
                    let called = self.words.get(next).is_some_and(|word| word.symbol('('));
                    if relation || called {
                        reads.push(name);
                    }
                    relation = false;
                    at = next;
                }
                _ => relation = false,
            }
        }
        reads
    }
}
