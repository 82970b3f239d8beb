//! What is called: chosen from PostgreSQL's catalog where mote's has it under the same OID.

use std::collections::HashSet;

use mote_common::prng::Prng;
use mote_it::TestServer;
use mote_it::wire::RawClient;

use crate::values;

pub struct Call {
    /// The function with its argument types, the operator with its operands', the cast.
    pub name: String,
    pub text: String,
}

/// Functions whose answer is about the server, its files, its sessions or the moment, or is read by another test.
const ELSEWHERE: &[&str] = &[
    "pg_stat_",
    "pg_ls_",
    "pg_read_",
    "pg_current_",
    "pg_last_",
    "pg_backup_",
    "pg_wal",
    "pg_size",
    "pg_database_size",
    "pg_relation_",
    "pg_table_size",
    "pg_indexes_size",
    "pg_total_relation",
    "pg_tablespace_",
    "pg_snapshot",
    "txid_",
    "pg_xact_",
    "pg_conf",
    "pg_postmaster",
    "pg_my_temp",
    "pg_listening",
    "pg_safe_snapshot",
    "pg_blocking",
    "pg_control",
    "pg_mcv_",
    "pg_notification",
    "pg_is_",
    "pg_backend_pid",
    "inet_",
    "now",
    "statement_timestamp",
    "current_",
    "session_",
    "getdatabaseencoding",
    "pg_client_encoding",
    "version",
    "row_security_active",
    "pg_get_",
    "pg_show_",
    "pg_timezone_",
    "pg_cursor",
    "pg_prepared_",
    "pg_lock_status",
    "pg_hba_",
    "pg_ident_",
    "pg_event_trigger",
    "pg_available_",
    "pg_extension",
    "has_",
    "pg_has_role",
    "timeofday",
    "clock_timestamp",
    "transaction_timestamp",
    "mxid_age",
    "age(xid",
    "hashtext",
    "pg_settings",
    "pg_stop_",
    "pg_start_",
    "pg_shmem",
    "pg_options_",
    "pg_replication",
    "pg_logical",
    "pg_visible",
    "generate_series",
    "unnest(anyarray",
    "pg_describe_object",
    "pg_identify_",
    "obj_description",
    "col_description",
    "shobj_",
    "pg_sequence",
    "pg_get",
    "pg_filenode",
    "pg_import",
    "pg_export",
    "database_to_xml",
    "to_reg",
    "currtid",
    "pg_partition",
    "pg_index",
    "pg_column",
    "pg_split_walfile",
    "pg_walfile",
    "pg_trigger_depth",
    "pg_isolation",
    "pg_basetype",
    "_pg_",
    "format_type",
    "regclassin",
    "regprocin",
    "regprocedurein",
    "regoperin",
    "regoperatorin",
    "regtypein",
    "regrolein",
    "regnamespacein",
    "regcollationin",
    "regconfigin",
    "regdictionaryin",
    "pg_type_is_visible",
    // Large objects, by their own scripts: what one call makes, the next one meets.
    "lo_",
    "loread",
    "lowrite",
];

const FUNCTIONS: &str = "\
select p.oid, p.proname, p.proretset, p.provariadic <> 0,
       (select coalesce(string_agg(t.typname, ',' order by o), '')
          from unnest(p.proargtypes::oid[]) with ordinality a(ty, o) join pg_type t on t.oid = a.ty)
  from pg_proc p
 where p.pronamespace = 'pg_catalog'::regnamespace and p.prokind = 'f' and p.provolatile <> 'v'
   and p.prorettype not in ('internal'::regtype, 'trigger'::regtype, 'event_trigger'::regtype, 'void'::regtype)
 order by p.oid";

const OPERATORS: &str = "\
select o.oid, o.oprname, coalesce(l.typname, ''), r.typname
  from pg_operator o left join pg_type l on l.oid = o.oprleft join pg_type r on r.oid = o.oprright
 where o.oprcode <> 0 order by o.oid";

const CASTS: &str = "\
select s.typname, d.typname from pg_cast c join pg_type s on s.oid = c.castsource join pg_type d on d.oid = c.casttarget
 where s.oid <> d.oid order by c.castsource, c.casttarget";

/// Calls of everything that both servers have, some of each.
pub fn of_catalogs(control: &TestServer, mote: &TestServer, seed: u64, each: usize) -> Vec<Call> {
    let mut ours = RawClient::connect(mote);
    let mut theirs = RawClient::connect(control);
    let mut known = |query: &str| ours.rows(query).into_iter().collect::<HashSet<String>>();
    let functions = known("select oid from pg_proc");
    let operators = known("select oid from pg_operator");
    let casts = known(CASTS);
    let types = known("select typname from pg_type");
    let mut maker = Maker {
        seed,
        prng: Prng::new(seed),
        types,
        each,
        calls: Vec::new(),
    };
    for row in theirs.rows(FUNCTIONS) {
        let fields: Vec<&str> = row.split('|').collect();
        let [oid, name, set, variadic, arguments] = fields[..] else {
            panic!("five columns: {row}");
        };
        let signature = format!("{name}({arguments}");
        let elsewhere = ELSEWHERE.iter().any(|begin| signature.starts_with(begin));
        if functions.contains(oid) && !elsewhere {
            maker.function(name, arguments, set == "t", variadic == "t");
        }
    }
    for row in theirs.rows(OPERATORS) {
        // An operator's name may contain the bar that separates columns.
        let (oid, rest) = row.split_once('|').expect("an OID");
        let (rest, right) = rest.rsplit_once('|').expect("a right operand");
        let (name, left) = rest.rsplit_once('|').expect("a left operand");
        if operators.contains(oid) {
            maker.operator(name, left, right);
        }
    }
    for row in theirs.rows(CASTS) {
        let (from, to) = row.split_once('|').expect("two columns");
        if casts.contains(&row) {
            maker.cast(from, to);
        }
    }
    maker.calls
}

struct Maker {
    seed: u64,
    /// Of the function, operator or cast whose calls are made: what else is called does not change them.
    prng: Prng,
    /// The types that mote has.
    types: HashSet<String>,
    each: usize,
    calls: Vec<Call>,
}

impl Maker {
    fn function(&mut self, name: &str, arguments: &str, set: bool, variadic: bool) {
        let types: Vec<&str> = arguments.split(',').filter(|ty| !ty.is_empty()).collect();
        let signature = format!("{name}({arguments})");
        self.draw_for(&signature);
        let wanted = self.wanted(&types);
        for _ in 0..wanted {
            let Some(mut values) = self.arguments(&types) else {
                return;
            };
            if variadic && let Some(last) = values.last_mut() {
                *last = format!("variadic {last}");
            }
            let values = values.join(", ");
            let text = match set {
                true => format!("select * from \"{name}\"({values}) limit 20"),
                false => format!("select \"{name}\"({values})"),
            };
            self.push(&signature, text);
        }
    }

    fn operator(&mut self, name: &str, left: &str, right: &str) {
        let types: Vec<&str> = [left, right].into_iter().filter(|ty| !ty.is_empty()).collect();
        let signature = format!("{left} {name} {right}");
        self.draw_for(&signature);
        let wanted = self.wanted(&types).min(3);
        for _ in 0..wanted {
            let Some(values) = self.arguments(&types) else {
                return;
            };
            let text = match &values[..] {
                [left, right] => format!("select {left} {name} {right}"),
                [right] => format!("select {name} {right}"),
                _ => unreachable!("an operator has one operand or two"),
            };
            self.push(signature.trim_start(), text);
        }
    }

    fn cast(&mut self, from: &str, to: &str) {
        let signature = format!("{from}::{to}");
        self.draw_for(&signature);
        for _ in 0..self.wanted(&[from]) {
            let Some(values) = self.arguments(&[from]) else {
                return;
            };
            self.push(&signature, format!("select {}::\"{to}\"", values[0]));
        }
    }

    /// From here on, draws follow from the seed and this name alone.
    fn draw_for(&mut self, signature: &str) {
        // FNV-1a: the same on every machine and with every compiler.
        let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        let hash = signature.bytes().fold(0xcbf2_9ce4_8422_2325, step);
        self.prng = Prng::fork(self.seed, hash);
    }

    /// The same call twice says nothing new.
    fn push(&mut self, name: &str, text: String) {
        let begin = self
            .calls
            .iter()
            .rposition(|call| call.name != name)
            .map_or(0, |at| at + 1);
        if self.calls[begin..].iter().all(|call| call.text != text) {
            self.calls.push(Call {
                name: name.to_string(),
                text,
            });
        }
    }

    /// Fewer for fewer arguments: their values repeat sooner.
    fn wanted(&self, types: &[&str]) -> usize {
        match types.len() {
            0 => 1,
            1 => self.each,
            _ => self.each + types.len(),
        }
    }

    /// One value for each argument; None where mote lacks a type or none is known.
    fn arguments(&mut self, types: &[&str]) -> Option<Vec<String>> {
        let choice = self.prng.next_u64();
        let mut values = Vec::new();
        for &ty in types {
            let ty = match values::stand_ins(ty) {
                Some(choices) => choices[choice as usize % choices.len()],
                None => ty,
            };
            values.push(self.value(ty)?);
        }
        Some(values)
    }

    fn value(&mut self, ty: &str) -> Option<String> {
        let pool = match ty {
            "_mood" => &["{}", "{sad,NULL,happy}"],
            _ => values::of_type(ty)?,
        };
        if !self.types.contains(ty) {
            return None;
        }
        if self.prng.chance(1, 12) {
            return Some(format!("null::\"{ty}\""));
        }
        let value = pool[self.prng.below(pool.len() as u64) as usize];
        Some(format!("'{}'::\"{ty}\"", value.replace('\'', "''")))
    }
}
