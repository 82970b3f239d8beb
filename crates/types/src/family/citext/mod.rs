//! `citext`: a text that compares without regard to case, of the extension of that name.
//!
//! The value is `FoldedText`. What SQL computes from other functions (`regexp_match`, `strpos`, `split_part`, ..) is in the
//! extension's script (catalog/src/extensions/citext).
//!
//! Source: PostgreSQL's contrib/citext.

use std::cmp::Ordering;

use super::comparisons::{Comparisons, comparisons, order};
use super::{Representation, Routine, TypeDescriptor, TypeFamily, body, listed, routine};
use crate::catalog::extension::CITEXT;
use crate::compare::compare;
use crate::datum::{Datum, FoldedText, copy_text, without_blanks};
use crate::family::network::INET;
use crate::oid::*;
use crate::signature::{
    AggregateSignature, CastContext, CastRow, FunctionSignature, OperatorClass, OperatorRow, aggregate, cast,
    class, default_class, function, operator,
};
use compact_str::CompactString;
use mote_common::error::state;
use mote_common::{SqlError, SqlResult};

pub const FAMILY: TypeFamily = TypeFamily {
    types: &[TypeDescriptor {
        oid: CITEXT,
        representation: Representation::FoldedText,
        input: |text, _| value(text),
        output: |datum, _, out| out.extend_from_slice(datum.as_str().unwrap_or_default().as_bytes()),
        receive: |bytes| match std::str::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => value(text),
            _ => Err(SqlError::new(
                state::CHARACTER_NOT_IN_REPERTOIRE,
                "invalid byte sequence for encoding \"UTF8\"",
            )),
        },
        send: |datum, out| out.extend_from_slice(datum.as_str().unwrap_or_default().as_bytes()),
    }],
    compared: &["citext", "citext_pattern"],
    comparisons: COMPARISONS,
    routines: ROUTINES,
    input_output: INPUT_OUTPUT,
    operators: OPERATORS,
    aggregates: AGGREGATES,
    casts: CASTS,
    classes: CLASSES,
    hash_classes: &[default_class(15294, "citext_ops", 15295, CITEXT)],
};

#[rustfmt::skip]
const INPUT_OUTPUT: &[FunctionSignature] = &[
    function(15210, "citextin", "citextin", &[CSTRING], CITEXT),
    function(15211, "citextout", "citextout", &[CITEXT], CSTRING),
    function(15212, "citextrecv", "citextrecv", &[INTERNAL], CITEXT).stable(),
    function(15213, "citextsend", "citextsend", &[CITEXT], BYTEA).stable(),
];

#[rustfmt::skip]
const ROUTINES: &[Routine] = &[
    routine(function(15214, "citext", "citext_of_bpchar", &[BPCHAR], CITEXT), |a| {
        value(without_blanks(a[0].as_str().unwrap_or_default()))
    }),
    routine(function(15215, "citext", "citext_of_bool", &[BOOL], CITEXT), |a| {
        value(if a[0].as_bool() == Some(true) { "true" } else { "false" })
    }),
    routine(function(15216, "citext", "citext_of_inet", &[INET], CITEXT), |a| {
        let shown = body("network_show").ok_or_else(|| SqlError::internal("network_show has code"))?;
        value(shown(a)?.as_str().unwrap_or_default())
    }),
    routine(function(15224, "citext_smaller", "citext_smaller", &[CITEXT, CITEXT], CITEXT), |a| {
        chosen(a, Ordering::Less)
    }),
    routine(function(15225, "citext_larger", "citext_larger", &[CITEXT, CITEXT], CITEXT), |a| {
        chosen(a, Ordering::Greater)
    }),
    // Their bodies are those of ILIKE and `~*`, which look at the text as it is shown.
    listed(function(15226, "texticlike", "texticlike", &[CITEXT, CITEXT], BOOL)),
    listed(function(15227, "texticnlike", "texticnlike", &[CITEXT, CITEXT], BOOL)),
    listed(function(15228, "texticregexeq", "texticregexeq", &[CITEXT, CITEXT], BOOL)),
    listed(function(15229, "texticregexne", "texticregexne", &[CITEXT, CITEXT], BOOL)),
    listed(function(15230, "texticlike", "texticlike", &[CITEXT, TEXT], BOOL)),
    listed(function(15231, "texticnlike", "texticnlike", &[CITEXT, TEXT], BOOL)),
    listed(function(15232, "texticregexeq", "texticregexeq", &[CITEXT, TEXT], BOOL)),
    listed(function(15233, "texticregexne", "texticregexne", &[CITEXT, TEXT], BOOL)),
    listed(function(15234, "citext_pattern_lt", "citext_pattern_lt", &[CITEXT, CITEXT], BOOL)),
    listed(function(15235, "citext_pattern_le", "citext_pattern_le", &[CITEXT, CITEXT], BOOL)),
    listed(function(15236, "citext_pattern_gt", "citext_pattern_gt", &[CITEXT, CITEXT], BOOL)),
    listed(function(15237, "citext_pattern_ge", "citext_pattern_ge", &[CITEXT, CITEXT], BOOL)),
    routine(function(15238, "citext_pattern_cmp", "citext_pattern_cmp", &[CITEXT, CITEXT], INT4), order),
];

#[rustfmt::skip]
const COMPARISONS: &[Comparisons] = &[
    comparisons!(CITEXT, "citext_", [15219, 15220, 15217, 15222, 15221, 15218, 15223], [15242, 15243, 15240, 15245, 15244, 15241]),
];

#[rustfmt::skip]
const OPERATORS: &[OperatorRow] = &[
    operator(15246, "~", CITEXT, CITEXT, BOOL, 15228, 0, 15247),
    operator(15247, "!~", CITEXT, CITEXT, BOOL, 15229, 0, 15246),
    operator(15248, "~*", CITEXT, CITEXT, BOOL, 15228, 0, 15249),
    operator(15249, "!~*", CITEXT, CITEXT, BOOL, 15229, 0, 15248),
    operator(15250, "~~", CITEXT, CITEXT, BOOL, 15226, 0, 15251),
    operator(15251, "!~~", CITEXT, CITEXT, BOOL, 15227, 0, 15250),
    operator(15252, "~~*", CITEXT, CITEXT, BOOL, 15226, 0, 15253),
    operator(15253, "!~~*", CITEXT, CITEXT, BOOL, 15227, 0, 15252),
    operator(15254, "~", CITEXT, TEXT, BOOL, 15232, 0, 15255),
    operator(15255, "!~", CITEXT, TEXT, BOOL, 15233, 0, 15254),
    operator(15256, "~*", CITEXT, TEXT, BOOL, 15232, 0, 15257),
    operator(15257, "!~*", CITEXT, TEXT, BOOL, 15233, 0, 15256),
    operator(15258, "~~", CITEXT, TEXT, BOOL, 15230, 0, 15259),
    operator(15259, "!~~", CITEXT, TEXT, BOOL, 15231, 0, 15258),
    operator(15260, "~~*", CITEXT, TEXT, BOOL, 15230, 0, 15261),
    operator(15261, "!~~*", CITEXT, TEXT, BOOL, 15231, 0, 15260),
    operator(15262, "~<~", CITEXT, CITEXT, BOOL, 15234, 15264, 15265),
    operator(15263, "~<=~", CITEXT, CITEXT, BOOL, 15235, 15265, 15264),
    operator(15264, "~>~", CITEXT, CITEXT, BOOL, 15236, 15262, 15263),
    operator(15265, "~>=~", CITEXT, CITEXT, BOOL, 15237, 15263, 15262),
];

const AGGREGATES: &[AggregateSignature] = &[
    aggregate(15270, "min", "min_citext", &[CITEXT], CITEXT),
    aggregate(15271, "max", "max_citext", &[CITEXT], CITEXT),
];

#[rustfmt::skip]
const CASTS: &[CastRow] = &[
    cast(15280, CITEXT, TEXT, CastContext::Implicit, true, 0),
    cast(15281, CITEXT, VARCHAR, CastContext::Implicit, true, 0),
    cast(15282, CITEXT, BPCHAR, CastContext::Assignment, true, 0),
    cast(15283, TEXT, CITEXT, CastContext::Assignment, true, 0),
    cast(15284, VARCHAR, CITEXT, CastContext::Assignment, true, 0),
    cast(15285, BPCHAR, CITEXT, CastContext::Assignment, false, 15214),
    cast(15286, BOOL, CITEXT, CastContext::Assignment, false, 15215),
    cast(15287, INET, CITEXT, CastContext::Assignment, false, 15216),
];

const CLASSES: &[OperatorClass] = &[
    default_class(15290, "citext_ops", 15292, CITEXT),
    class(
        15291,
        "citext_pattern_ops",
        15293,
        15200,
        false,
        0,
        "citext_pattern_ops",
    ),
];

/// A `citext` with this text.
pub fn value(text: &str) -> SqlResult<Datum> {
    of_text(copy_text(text)?)
}

fn of_text(text: CompactString) -> SqlResult<Datum> {
    Ok(Datum::Folded(Box::new(FoldedText::new(text)?)))
}

/// The first argument if it compares so with the second, else the second.
fn chosen(arguments: &[Datum], wanted: Ordering) -> SqlResult<Datum> {
    let second = compare(&arguments[0], &arguments[1]) != wanted;
    arguments[usize::from(second)].try_clone()
}
