//! Texts of a session whose settings say that backslashes escape in plain strings, or that quotes must not be escaped.

use mote_catalog::host::Host;
use mote_common::SqlResult;
use mote_grammar::lexer::written;

use super::Session;

impl Session {
    /// Runs `work` on a client's text as the grammar reads it; positions are those of the client's.
    #[inline]
    pub(super) fn read<T>(
        &mut self,
        text: &str,
        host: &mut dyn Host,
        work: impl FnOnce(&mut Session, &str, &mut dyn Host) -> SqlResult<T>,
    ) -> SqlResult<T> {
        match self.state.settings.effective.strings.are_standard() {
            true => work(self, text, host),
            false => self.read_anew(text, host, work),
        }
    }

    #[cold]
    fn read_anew<T>(
        &mut self,
        text: &str,
        host: &mut dyn Host,
        work: impl FnOnce(&mut Session, &str, &mut dyn Host) -> SqlResult<T>,
    ) -> SqlResult<T> {
        let mut read = written(text, self.state.settings.effective.strings)?;
        for warning in std::mem::take(&mut read.warnings) {
            host.notice(warning);
        }
        work(self, &read.text, host).map_err(|error| read.led_back(error))
    }
}
