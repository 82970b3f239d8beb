//! Parameters of built-in functions as pg_proc keeps them and `\df` shows them: modes, names, types and defaults.
//!
//! Of a user's function its definition tells that (`routine_text`).

use mote_common::Oid;
use mote_grammar::ast::deparse::identifier;
use mote_sql::builtin::function::{FunctionSignature, only_output, out_columns};
use mote_sql::routine::RoutineMode;
use mote_types::{ColumnType, Datum, format_type, oid};

use super::row::{NULL, oid_array, text_array};

/// One parameter; without a name: "".
pub struct Parameter {
    pub mode: RoutineMode,
    pub name: &'static str,
    pub ty: Oid,
    pub default: Option<&'static str>,
}

/// The parameters of one function: those that a call gives, then those of its result.
#[derive(Default)]
pub struct Parameters {
    list: Vec<Parameter>,
    /// Of an aggregate over an ordered set: how many come before ORDER BY.
    direct: Option<usize>,
}

impl Parameters {
    pub fn of(function: &FunctionSignature) -> Parameters {
        let required = function.arguments.len() - usize::from(function.defaults);
        let last = function.arguments.len().wrapping_sub(1);
        let input = |(position, &ty): (usize, &Oid)| {
            let variadic = function.variadic.filter(|_| position == last);
            // The type of a variadic parameter is the array of its elements; of "any" there is none.
            let array = variadic.and_then(|element| ColumnType::new(element).array_of());
            let default = position.checked_sub(required);
            Parameter {
                mode: variadic.map_or(RoutineMode::In, |_| RoutineMode::Variadic),
                name: function.names.get(position).unwrap_or(&""),
                ty: array.map_or(ty, |array| array.oid),
                default: default.and_then(|place| function.default_texts.get(place).copied()),
            }
        };
        let only = only_output(function.body).map(|name| (name, function.result));
        let outputs = out_columns(function.body).into_iter().flatten().copied();
        let output = |(name, ty)| Parameter {
            mode: RoutineMode::Out,
            name,
            ty,
            default: None,
        };
        let inputs = function.arguments.iter().enumerate().map(input);
        Parameters {
            list: inputs.chain(outputs.chain(only).map(output)).collect(),
            direct: None,
        }
    }

    /// Of a function that is called by position only.
    pub fn unnamed(types: &[Oid]) -> Parameters {
        let input = |&ty| Parameter {
            mode: RoutineMode::In,
            name: "",
            ty,
            default: None,
        };
        Parameters {
            list: types.iter().map(input).collect(),
            direct: None,
        }
    }

    pub fn of_ordered_set(types: &[Oid], direct: u8) -> Parameters {
        Parameters {
            direct: Some(direct.into()),
            ..Parameters::unnamed(types)
        }
    }

    /// proallargtypes and proargmodes: NULL where there are but plain ones.
    pub fn types_and_modes(&self) -> (Datum, Datum) {
        if self
            .list
            .iter()
            .all(|parameter| parameter.mode == RoutineMode::In)
        {
            return (NULL, NULL);
        }
        let letters = self.list.iter().map(|parameter| mode_letter(parameter.mode));
        (
            oid_array(self.list.iter().map(|parameter| parameter.ty)),
            Datum::array(oid::CHAR, letters.map(Datum::text).collect()),
        )
    }

    /// proargnames.
    pub fn names(&self) -> Datum {
        match self.list.iter().all(|parameter| parameter.name.is_empty()) {
            true => NULL,
            false => text_array(self.list.iter().map(|parameter| parameter.name)),
        }
    }

    /// proargdefaults, as the text that stands here for a tree.
    pub fn defaults(&self) -> Option<String> {
        let defaults: Vec<&str> = self
            .list
            .iter()
            .filter_map(|parameter| parameter.default)
            .collect();
        (!defaults.is_empty()).then(|| defaults.join(", "))
    }

    /// pg_get_function_arguments, and without defaults pg_get_function_identity_arguments.
    pub fn text(&self, with_defaults: bool) -> String {
        let mut text = String::new();
        for (position, parameter) in self.list.iter().enumerate() {
            let separator = match self.direct == Some(position) {
                true if position == 0 => "ORDER BY ",
                true => " ORDER BY ",
                false if position == 0 => "",
                false => ", ",
            };
            text.push_str(separator);
            parameter.write(with_defaults, &mut text);
        }
        text
    }
}

impl Parameter {
    fn write(&self, with_default: bool, text: &mut String) {
        text.push_str(match self.mode {
            RoutineMode::Out => "OUT ",
            RoutineMode::Variadic => "VARIADIC ",
            _ => "",
        });
        if !self.name.is_empty() {
            text.push_str(&identifier(self.name));
            text.push(' ');
        }
        // Without a modifier: so `character` and not `bpchar`.
        text.push_str(&format_type(self.ty, -2));
        if let Some(default) = self.default.filter(|_| with_default) {
            text.push_str(" DEFAULT ");
            text.push_str(default);
        }
    }
}

/// The letter of a mode in proargmodes.
pub fn mode_letter(mode: RoutineMode) -> &'static str {
    match mode {
        RoutineMode::In => "i",
        RoutineMode::Out => "o",
        RoutineMode::InOut => "b",
        RoutineMode::Variadic => "v",
        RoutineMode::Table => "t",
    }
}

/// proretset: functions that answer one record, as PostgreSQL has them, are run here as if they answered a set of them.
pub fn returns_set(function: &FunctionSignature) -> bool {
    let one_row = matches!(
        function.name,
        "pg_create_physical_replication_slot"
            | "pg_copy_physical_replication_slot"
            | "pg_create_logical_replication_slot"
            | "pg_identify_object"
            | "pg_identify_object_as_address"
    );
    function.returns_set && !one_row
}
