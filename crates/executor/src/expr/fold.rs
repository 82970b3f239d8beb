//! Constant folding for the planner: immutable expressions over constants, evaluated without a statement.

use mote_common::work;
use mote_sql::expr::ConstantFolder;
use mote_sql::expr::Expr;
use mote_types::catalog::range::without_range;
use mote_types::{ColumnType, Datum, oid};

use super::compile;
use crate::runtime::{Runtime, Values};

/// What folding one expression may cost. What costs more is left to the execution, which can be suspended and ended.
const FOLD_UNITS: usize = 64 << 10;

/// Hands the planner the executor's evaluation.
pub struct Folder;

/// The one folder: it has no state.
pub static FOLDER: Folder = Folder;

impl ConstantFolder for Folder {
    /// None: it is left as it is. An error is none here: the planner must not fail on `1/0` in a branch that never
    /// runs.
    fn fold(&self, expr: &Expr) -> Option<Datum> {
        if let Expr::Cast { from, ty, .. } = expr
            && (depends_on_session(*from) || depends_on_session(*ty))
        {
            return None;
        }
        let expression = compile(expr).ok()?;
        let mut values = Values::default();
        // Without a statement: whatever asked for settings or the catalog would not be a constant.
        let mut runtime = Runtime::detached(&mut values);
        work::limited(FOLD_UNITS, || expression.evaluate(&[], &mut runtime)).ok()
    }
}

/// Types whose text or conversions depend on settings or the catalog: their casts are stable, not immutable.
fn depends_on_session(ty: ColumnType) -> bool {
    let ty = ty.element().map_or(ty.oid, |element| element.oid);
    let ty = without_range(ty);
    mote_types::catalog::is_reg_type(ty)
        || mote_types::catalog::user::is_user_type(ty)
        || matches!(
            ty,
            oid::DATE | oid::TIME | oid::TIMETZ | oid::TIMESTAMP | oid::TIMESTAMPTZ | oid::INTERVAL
        )
        || mote_types::catalog::user::is_row(ty)
        || matches!(ty, oid::FLOAT4 | oid::FLOAT8 | oid::BYTEA)
}
