//! Statements as every session of a run uses them: the constant bytes of Parse, Bind and Execute are made once.
//!
//! A Bind message is a constant head (name, parameter formats), the values, and a constant tail (result formats and
//! the Execute message after it). Per execution only the values and the length are new.

use std::borrow::Cow;

use super::wire;

/// How a parameter travels. The pairs of type and format are those that BenchmarkSQL's JDBC driver sends.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Param {
    /// int4, binary.
    Int,
    /// int8, binary.
    Long,
    /// float8, binary: JDBC's `setDouble`, into numeric columns too.
    Float,
    /// varchar, text.
    Text,
    /// Text without a type: the server infers timestamp from the context.
    Timestamp,
}

impl Param {
    fn oid(self) -> u32 {
        match self {
            Param::Int => 23,
            Param::Long => 20,
            Param::Float => 701,
            Param::Text => 1043,
            Param::Timestamp => 0,
        }
    }

    fn format(self) -> i16 {
        matches!(self, Param::Int | Param::Long | Param::Float) as i16
    }
}

/// The format a result column is asked for.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Format {
    Text = 0,
    Binary = 1,
}

/// A statement as source code writes it.
#[derive(Clone, Debug)]
pub struct Definition {
    pub sql: Cow<'static, str>,
    pub params: Cow<'static, [Param]>,
    /// One per result column; empty for statements without rows.
    pub results: &'static [Format],
}

/// Index into a [`StatementSet`]. The server knows the statement as `S_<number>`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StatementId(pub u8);

struct Prepared {
    bind_head: Vec<u8>,
    bind_tail: Vec<u8>,
    params: usize,
}

/// All statements of a workload.
pub struct StatementSet {
    definitions: Vec<Definition>,
    prepared: Vec<Prepared>,
}

impl StatementSet {
    pub fn new(definitions: Vec<Definition>) -> StatementSet {
        assert!(definitions.len() <= 256);
        let prepared = definitions
            .iter()
            .enumerate()
            .map(|(number, definition)| Prepared::new(number, definition))
            .collect();
        StatementSet {
            definitions,
            prepared,
        }
    }

    pub fn len(&self) -> usize {
        self.definitions.len()
    }

    pub fn is_empty(&self) -> bool {
        self.definitions.is_empty()
    }

    pub fn sql(&self, id: StatementId) -> &str {
        &self.definitions[id.0 as usize].sql
    }

    /// Parse messages for all statements, without a Sync.
    pub fn write_parses(&self, out: &mut Vec<u8>) {
        for (number, definition) in self.definitions.iter().enumerate() {
            let types = definition.params.iter().map(|param| param.oid());
            wire::parse(out, &format!("S_{number}"), &definition.sql, types);
        }
    }

    /// Begins Bind and Execute; the values follow through the returned writer.
    pub fn bind<'a>(&self, out: &'a mut Vec<u8>, id: StatementId) -> BindWriter<'a>
    where
        Self: 'a,
    {
        let prepared = &self.prepared[id.0 as usize];
        let at = wire::begin(out, b'B');
        out.extend_from_slice(&prepared.bind_head);
        BindWriter {
            at,
            out,
            missing: prepared.params,
        }
    }

    /// Ends what [`StatementSet::bind`] began.
    pub fn end_bind(&self, id: StatementId, writer: BindWriter<'_>) {
        assert!(writer.missing == 0, "every parameter of S_{} gets a value", id.0);
        let prepared = &self.prepared[id.0 as usize];
        let BindWriter { out, at, .. } = writer;
        out.extend_from_slice(&prepared.bind_tail);
        wire::finish(out, at);
        // Execute of the unnamed portal, all rows.
        out.extend_from_slice(&[b'E', 0, 0, 0, 9, 0, 0, 0, 0, 0]);
    }
}

impl Prepared {
    fn new(number: usize, definition: &Definition) -> Prepared {
        let mut bind_head = vec![0]; // the unnamed portal
        wire::put_string(&mut bind_head, &format!("S_{number}"));
        wire::put_i16(&mut bind_head, definition.params.len() as i16);
        definition
            .params
            .iter()
            .for_each(|param| wire::put_i16(&mut bind_head, param.format()));
        wire::put_i16(&mut bind_head, definition.params.len() as i16);
        let mut bind_tail = Vec::new();
        wire::put_i16(&mut bind_tail, definition.results.len() as i16);
        definition
            .results
            .iter()
            .for_each(|&format| wire::put_i16(&mut bind_tail, format as i16));
        Prepared {
            bind_head,
            bind_tail,
            params: definition.params.len(),
        }
    }
}

/// Appends parameter values in order.
pub struct BindWriter<'a> {
    out: &'a mut Vec<u8>,
    at: usize,
    missing: usize,
}

impl BindWriter<'_> {
    fn value(mut self, bytes: &[u8]) -> Self {
        assert!(self.missing > 0, "a value without a parameter");
        self.missing -= 1;
        wire::put_i32(self.out, bytes.len() as i32);
        self.out.extend_from_slice(bytes);
        self
    }

    pub fn int(self, value: i32) -> Self {
        self.value(&value.to_be_bytes())
    }

    pub fn long(self, value: i64) -> Self {
        self.value(&value.to_be_bytes())
    }

    pub fn float(self, value: f64) -> Self {
        self.value(&value.to_be_bytes())
    }

    pub fn text(self, value: &str) -> Self {
        self.value(value.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Frames;

    #[test]
    fn bind_and_execute_bytes() {
        let set = StatementSet::new(vec![Definition {
            sql: "select a from t where b = $1 and c = $2".into(),
            params: (&[Param::Int, Param::Text]).into(),
            results: &[Format::Binary],
        }]);
        let mut out = Vec::new();
        let id = StatementId(0);
        let writer = set.bind(&mut out, id).int(7).text("x");
        set.end_bind(id, writer);
        let frames: Vec<_> = Frames(&out).collect();
        assert_eq!(
            frames.iter().map(|frame| frame.kind).collect::<Vec<_>>(),
            vec![b'B', b'E']
        );
        let expect = b"\0S_0\0\0\x02\0\x01\0\0\0\x02\0\0\0\x04\0\0\0\x07\0\0\0\x01x\0\x01\0\x01";
        assert_eq!(frames[0].body, expect);
        let mut parses = Vec::new();
        set.write_parses(&mut parses);
        let parse = Frames(&parses).next().expect("one Parse");
        assert!(parse.body.ends_with(&[0, 2, 0, 0, 0, 23, 0, 0, 4, 19]));
    }
}
