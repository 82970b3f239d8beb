//! COPY's rows as INSERTs of many rows each: what every system takes through ODBC.

use super::super::error::ServerError;
use super::super::url::System;
use super::error;

/// An INSERT is sent when it is as long as this.
const INSERT_BYTES: usize = 64 * 1024;

pub struct Load {
    head: String,
    system: System,
    insert: String,
    /// The beginning of a row whose end has not come.
    rest: Vec<u8>,
    rows: u64,
}

impl Load {
    /// `table (columns) FROM STDIN`
    pub fn into_table(copy: &str, system: System) -> Result<Load, ServerError> {
        let target = copy
            .strip_suffix(" FROM STDIN")
            .filter(|target| !target.starts_with('('));
        let target = target.ok_or_else(|| {
            error::refused(&format!(
                "COPY {copy}: only COPY table (columns) FROM STDIN can be said in ODBC"
            ))
        })?;
        Ok(Load {
            head: format!("INSERT INTO {target} "),
            system,
            insert: String::new(),
            rest: Vec::new(),
            rows: 0,
        })
    }

    /// Takes a piece of the data; `run` does the INSERTs that are full.
    pub fn take(
        &mut self,
        data: &[u8],
        mut run: impl FnMut(&str) -> Result<(), ServerError>,
    ) -> Result<(), ServerError> {
        self.rest.extend_from_slice(data);
        let whole = self
            .rest
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |at| at + 1);
        let lines: Vec<u8> = self.rest.drain(..whole).collect();
        for line in lines.split_inclusive(|byte| *byte == b'\n') {
            self.row(&line[..line.len() - 1])?;
            if self.insert.len() >= INSERT_BYTES {
                run(&self.insert)?;
                self.insert.clear();
            }
        }
        Ok(())
    }

    /// Does what is left; answers how many rows there were.
    pub fn finish(
        mut self,
        mut run: impl FnMut(&str) -> Result<(), ServerError>,
    ) -> Result<u64, ServerError> {
        if !self.rest.is_empty() {
            return Err(error::refused("the last row has no end"));
        }
        if !self.insert.is_empty() {
            run(&std::mem::take(&mut self.insert))?;
        }
        Ok(self.rows)
    }

    fn row(&mut self, line: &[u8]) -> Result<(), ServerError> {
        let line = std::str::from_utf8(line).map_err(|_| error::refused("a row is not UTF-8"))?;
        let (first, next, end) = self.brackets();
        match self.insert.is_empty() {
            true => {
                self.insert.push_str(&self.head);
                self.insert.push_str(first);
            }
            false => self.insert.push_str(next),
        }
        for (number, value) in line.split('\t').enumerate() {
            if number > 0 {
                self.insert.push(',');
            }
            self.value(value);
        }
        self.insert.push_str(end);
        self.rows += 1;
        Ok(())
    }

    /// What stands before the first row, before each other, and behind each. Oracle's INSERT has one row of VALUES.
    fn brackets(&self) -> (&'static str, &'static str, &'static str) {
        match self.system {
            System::Oracle => ("SELECT ", " UNION ALL SELECT ", " FROM dual"),
            System::Postgres | System::Mysql | System::Db2 => ("VALUES (", ",(", ")"),
        }
    }

    /// A value in COPY's escapes, as a literal of SQL.
    fn value(&mut self, value: &str) {
        if value == "\\N" {
            return self.insert.push_str("NULL");
        }
        self.insert.push('\'');
        let mut letters = value.chars();
        while let Some(letter) = letters.next() {
            let meant = match letter {
                '\\' => match letters.next() {
                    Some('t') => '\t',
                    Some('n') => '\n',
                    Some('r') => '\r',
                    Some(other) => other,
                    None => '\\',
                },
                other => other,
            };
            match meant {
                '\'' => self.insert.push_str("''"),
                // Other literals have no escapes.
                '\\' if self.system == System::Mysql => self.insert.push_str("\\\\"),
                other => self.insert.push(other),
            }
        }
        self.insert.push('\'');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_become_inserts() {
        let inserts = |system| {
            let mut load = Load::into_table("t (a, b) FROM STDIN", system).expect("known");
            let mut said = Vec::new();
            let mut run = |insert: &str| {
                said.push(insert.to_string());
                Ok(())
            };
            for piece in ["1\tit's\n2\t\\", "N\n3\ta\\\\b\\tc\n"] {
                load.take(piece.as_bytes(), &mut run).expect("rows");
            }
            assert_eq!(load.finish(&mut run).expect("whole rows"), 3);
            said
        };
        assert_eq!(
            inserts(System::Postgres),
            ["INSERT INTO t (a, b) VALUES ('1','it''s'),('2',NULL),('3','a\\b\tc')"]
        );
        assert_eq!(
            inserts(System::Mysql),
            ["INSERT INTO t (a, b) VALUES ('1','it''s'),('2',NULL),('3','a\\\\b\tc')"]
        );
        assert_eq!(
            inserts(System::Oracle),
            [
                "INSERT INTO t (a, b) SELECT '1','it''s' FROM dual UNION ALL SELECT '2',NULL FROM dual \
              UNION ALL SELECT '3','a\\b\tc' FROM dual"
            ]
        );
        assert_eq!(inserts(System::Db2), inserts(System::Postgres));
        assert!(Load::into_table("(SELECT 1) TO STDOUT", System::Postgres).is_err());
    }
}
