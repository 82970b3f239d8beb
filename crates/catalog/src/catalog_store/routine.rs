//! From the stored form of a function or procedure to the description that the binder uses.

use mote_common::Oid;
use mote_sql::builtin::function::Volatility;
use mote_sql::routine::{ParallelSafety, Routine, RoutineArgument, RoutineKind, RoutineMode, RoutineType};
use mote_types::ColumnType;

use super::stored::{StoredRoutine, StoredType};

/// Everything but the schema's name and the version.
pub(super) fn describe_routine(stored: &StoredRoutine) -> Routine {
    let ty = |ty: &StoredType| RoutineType {
        ty: ColumnType::new(ty.type_oid()),
        row_of: ty.row_of.map(Oid),
    };
    Routine {
        oid: Oid(stored.oid),
        schema_oid: Oid(stored.schema),
        schema: String::new(),
        name: stored.name.clone(),
        kind: match stored.procedure {
            true => RoutineKind::Procedure,
            false => RoutineKind::Function,
        },
        language: stored.language.clone(),
        arguments: stored
            .arguments
            .iter()
            .map(|argument| RoutineArgument {
                name: argument.name.clone(),
                ty: ty(&argument.ty),
                mode: match argument.mode {
                    'o' => RoutineMode::Out,
                    'b' => RoutineMode::InOut,
                    'v' => RoutineMode::Variadic,
                    't' => RoutineMode::Table,
                    _ => RoutineMode::In,
                },
                default: argument.default.clone(),
            })
            .collect(),
        result: ty(&stored.result),
        returns_set: stored.returns_set,
        volatility: match stored.volatility {
            'i' => Volatility::Immutable,
            's' => Volatility::Stable,
            _ => Volatility::Volatile,
        },
        strict: stored.strict,
        security_definer: stored.security_definer,
        leakproof: stored.leakproof,
        parallel: match stored.parallel {
            's' => ParallelSafety::Safe,
            'r' => ParallelSafety::Restricted,
            _ => ParallelSafety::Unsafe,
        },
        cost: stored.cost,
        rows: stored.rows,
        settings: stored.settings.clone(),
        body: stored.body.clone(),
        standard_body: stored.standard_body,
        owner: Oid(stored.owner),
        acl: stored.acl.iter().map(Into::into).collect(),
        comment: stored.comment.clone(),
        version: 0,
    }
}
