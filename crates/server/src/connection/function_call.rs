//! The function call message (`F`) and its answer (`V`), then ReadyForQuery: what libpq calls PQfn.

use corosensei::Yielder;
use mote_common::{Oid, SqlResult};

use super::Connection;
use super::extended::{malformed_in, parameter};
use crate::pgwire::frontend::{FunctionCall, protocol_violation};
use crate::suspension::Suspend;

impl Connection {
    pub(super) fn function_call(&mut self, body: &[u8], yielder: &Yielder<(), Suspend>) -> SqlResult<()> {
        let call = FunctionCall::read(body)?;
        let converter = self.wire.converter;
        self.wire.result.formats.clear();
        self.wire.result.formats.push(call.result_format);
        self.wire.result.of_call = true;
        let called = self.with_host(yielder, false, |session, host| {
            let function = session.called_function(Oid(call.function), host)?;
            let required = function.arguments.len();
            if call.arguments.count != required {
                return Err(protocol_violation(format!(
                    "function call message contains {} arguments but function requires {required}",
                    call.arguments.count
                )));
            }
            let settings = session.format();
            let values = call.arguments.iter().zip(&function.arguments);
            let values = values
                .enumerate()
                .map(|(index, (value, ty))| {
                    parameter(value, *ty, converter, settings).map_err(|(error, _)| {
                        let place = format!("function argument {}", index + 1);
                        malformed_in(&place, &error).unwrap_or(error)
                    })
                })
                .collect::<SqlResult<_>>()?;
            session.call_function(function, values, host)
        });
        self.wire.result.of_call = false;
        called?;
        self.ready();
        Ok(())
    }
}
