//! The door through which the engine gets expression keys and predicates of indexes compiled.
//!
//! CREATE INDEX refuses both for now (0A000), so no definition with expressions can exist; one that does come here is a
//! data directory of a later release.

use std::sync::Arc;

use mote_common::{SqlError, SqlResult};
use mote_engine::{KeyExpressionProvider, KeyExpressions};

struct NoExpressions;

impl KeyExpressionProvider for NoExpressions {
    fn compile(&self, _: &[u8]) -> SqlResult<Arc<dyn KeyExpressions>> {
        Err(SqlError::unsupported(
            "an index on an expression or with a predicate",
        ))
    }
}

pub fn provider() -> Arc<dyn KeyExpressionProvider> {
    Arc::new(NoExpressions)
}
