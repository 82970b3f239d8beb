//! The error that reaches a client: SQLSTATE, message, detail, hint, position, in PostgreSQL's words.
//!
//! Three kinds of failure are never mixed. *Outcomes* (a write conflict, a duplicate key) are small enums of the
//! layer that produces them; *SQL errors* are this type, made at the edge where an outcome becomes a statement's
//! failure; *bugs and broken storage* panic or stop the process.

use std::fmt;

/// A five-character SQLSTATE.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SqlState(pub [u8; 5]);

impl SqlState {
    pub const fn new(code: &str) -> SqlState {
        let b = code.as_bytes();
        assert!(b.len() == 5);
        SqlState([b[0], b[1], b[2], b[3], b[4]])
    }

    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("SQLSTATEs are ASCII")
    }

    /// The first two characters: the class.
    pub fn class(&self) -> &str {
        &self.as_str()[..2]
    }
}

impl fmt::Debug for SqlState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for SqlState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

macro_rules! sqlstates {
    ($($(#[$meta:meta])* $name:ident = $code:literal;)*) => {
        /// The codes mote raises, under PostgreSQL's condition names.
        pub mod state {
            use super::SqlState;
            $($(#[$meta])* pub const $name: SqlState = SqlState::new($code);)*
        }
    };
}

sqlstates! {
    SUCCESSFUL_COMPLETION = "00000";
    WARNING = "01000";
    CONNECTION_EXCEPTION = "08000";
    CONNECTION_FAILURE = "08006";
    PROTOCOL_VIOLATION = "08P01";
    FEATURE_NOT_SUPPORTED = "0A000";
    CARDINALITY_VIOLATION = "21000";
    DATA_EXCEPTION = "22000";
    STRING_DATA_RIGHT_TRUNCATION = "22001";
    NULL_VALUE_NOT_ALLOWED = "22004";
    NUMERIC_VALUE_OUT_OF_RANGE = "22003";
    INVALID_DATETIME_FORMAT = "22007";
    DATETIME_FIELD_OVERFLOW = "22008";
    INVALID_TIME_ZONE_DISPLACEMENT_VALUE = "22009";
    SUBSTRING_ERROR = "22011";
    DIVISION_BY_ZERO = "22012";
    INTERVAL_FIELD_OVERFLOW = "22015";
    CHARACTER_NOT_IN_REPERTOIRE = "22021";
    INVALID_PARAMETER_VALUE = "22023";
    INVALID_USE_OF_ESCAPE_CHARACTER = "2200C";
    INVALID_ESCAPE_SEQUENCE = "22025";
    STRING_DATA_LENGTH_MISMATCH = "22026";
    INVALID_REGULAR_EXPRESSION = "2201B";
    INVALID_ROW_COUNT_IN_LIMIT_CLAUSE = "2201W";
    INVALID_ROW_COUNT_IN_RESULT_OFFSET_CLAUSE = "2201X";
    INVALID_ARGUMENT_FOR_LOG = "2201E";
    INVALID_ARGUMENT_FOR_POWER_FUNCTION = "2201F";
    ARRAY_SUBSCRIPT_ERROR = "2202E";
    INVALID_TEXT_REPRESENTATION = "22P02";
    INVALID_BINARY_REPRESENTATION = "22P03";
    BAD_COPY_FILE_FORMAT = "22P04";
    UNTRANSLATABLE_CHARACTER = "22P05";
    INTEGRITY_CONSTRAINT_VIOLATION = "23000";
    NOT_NULL_VIOLATION = "23502";
    FOREIGN_KEY_VIOLATION = "23503";
    UNIQUE_VIOLATION = "23505";
    CHECK_VIOLATION = "23514";
    INVALID_CURSOR_STATE = "24000";
    ACTIVE_SQL_TRANSACTION = "25001";
    READ_ONLY_SQL_TRANSACTION = "25006";
    NO_ACTIVE_SQL_TRANSACTION = "25P01";
    IN_FAILED_SQL_TRANSACTION = "25P02";
    IDLE_IN_TRANSACTION_SESSION_TIMEOUT = "25P03";
    INVALID_SQL_STATEMENT_NAME = "26000";
    TRIGGERED_DATA_CHANGE_VIOLATION = "27000";
    INVALID_AUTHORIZATION_SPECIFICATION = "28000";
    INVALID_PASSWORD = "28P01";
    DEPENDENT_OBJECTS_STILL_EXIST = "2BP01";
    INVALID_CURSOR_NAME = "34000";
    INVALID_SAVEPOINT_SPECIFICATION = "3B001";
    INVALID_CATALOG_NAME = "3D000";
    INVALID_SCHEMA_NAME = "3F000";
    SERIALIZATION_FAILURE = "40001";
    DEADLOCK_DETECTED = "40P01";
    SYNTAX_ERROR = "42601";
    INSUFFICIENT_PRIVILEGE = "42501";
    CANNOT_COERCE = "42846";
    GROUPING_ERROR = "42803";
    WINDOWING_ERROR = "42P20";
    INVALID_RECURSION = "42P19";
    INVALID_FOREIGN_KEY = "42830";
    INVALID_NAME = "42602";
    NAME_TOO_LONG = "42622";
    RESERVED_NAME = "42939";
    DATATYPE_MISMATCH = "42804";
    INDETERMINATE_DATATYPE = "42P18";
    COLLATION_MISMATCH = "42P21";
    WRONG_OBJECT_TYPE = "42809";
    UNDEFINED_COLUMN = "42703";
    UNDEFINED_FUNCTION = "42883";
    UNDEFINED_TABLE = "42P01";
    UNDEFINED_PARAMETER = "42P02";
    UNDEFINED_OBJECT = "42704";
    DUPLICATE_COLUMN = "42701";
    DUPLICATE_CURSOR = "42P03";
    DUPLICATE_DATABASE = "42P04";
    DUPLICATE_FUNCTION = "42723";
    DUPLICATE_PREPARED_STATEMENT = "42P05";
    DUPLICATE_SCHEMA = "42P06";
    DUPLICATE_TABLE = "42P07";
    DUPLICATE_ALIAS = "42712";
    DUPLICATE_OBJECT = "42710";
    AMBIGUOUS_COLUMN = "42702";
    AMBIGUOUS_FUNCTION = "42725";
    AMBIGUOUS_PARAMETER = "42P08";
    INVALID_COLUMN_REFERENCE = "42P10";
    INVALID_COLUMN_DEFINITION = "42611";
    INVALID_CURSOR_DEFINITION = "42P11";
    INVALID_FUNCTION_DEFINITION = "42P13";
    INVALID_TABLE_DEFINITION = "42P16";
    INVALID_OBJECT_DEFINITION = "42P17";
    TRIGGER_PROTOCOL_VIOLATED = "39P01";
    WITH_CHECK_OPTION_VIOLATION = "44000";
    INSUFFICIENT_RESOURCES = "53000";
    DISK_FULL = "53100";
    OUT_OF_MEMORY = "53200";
    TOO_MANY_CONNECTIONS = "53300";
    CONFIGURATION_LIMIT_EXCEEDED = "53400";
    PROGRAM_LIMIT_EXCEEDED = "54000";
    STATEMENT_TOO_COMPLEX = "54001";
    TOO_MANY_COLUMNS = "54011";
    TOO_MANY_ARGUMENTS = "54023";
    OBJECT_NOT_IN_PREREQUISITE_STATE = "55000";
    OBJECT_IN_USE = "55006";
    CANT_CHANGE_RUNTIME_PARAM = "55P02";
    LOCK_NOT_AVAILABLE = "55P03";
    UNSAFE_NEW_ENUM_VALUE_USAGE = "55P04";
    QUERY_CANCELED = "57014";
    ADMIN_SHUTDOWN = "57P01";
    CRASH_SHUTDOWN = "57P02";
    CANNOT_CONNECT_NOW = "57P03";
    IDLE_SESSION_TIMEOUT = "57P05";
    CONFIG_FILE_ERROR = "F0000";
    IO_ERROR = "58030";
    UNDEFINED_FILE = "58P01";
    SNAPSHOT_TOO_OLD = "72000";
    RAISE_EXCEPTION = "P0001";
    INTERNAL_ERROR = "XX000";
    DATA_CORRUPTED = "XX001";
    INDEX_CORRUPTED = "XX002";
}

/// How loud a message is. Only `Error` and worse end a statement. Ordered from quiet to loud.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Severity {
    Debug,
    Log,
    Info,
    Notice,
    Warning,
    Error,
    /// Ends the session.
    Fatal,
    /// Ends the server.
    Panic,
}

impl Severity {
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Debug => "DEBUG",
            Severity::Log => "LOG",
            Severity::Info => "INFO",
            Severity::Notice => "NOTICE",
            Severity::Warning => "WARNING",
            Severity::Error => "ERROR",
            Severity::Fatal => "FATAL",
            Severity::Panic => "PANIC",
        }
    }
}

/// Everything PostgreSQL's ErrorResponse and NoticeResponse can carry that mote fills.
#[derive(Clone, Debug, PartialEq)]
pub struct ErrorFields {
    pub severity: Severity,
    pub state: SqlState,
    /// Primary message: short, lower-case, no full stop.
    pub message: String,
    /// A full sentence.
    pub detail: Option<String>,
    /// A full sentence that says what to do.
    pub hint: Option<String>,
    /// 1-based position in characters within the statement's text.
    pub position: Option<u32>,
    /// The text a function ran where the error is in that text, with the position in it.
    pub internal_query: Option<String>,
    pub internal_position: Option<u32>,
    /// A call stack in words: "COPY t, line 3, column a".
    pub context: Option<String>,
    pub schema: Option<String>,
    pub table: Option<String>,
    pub column: Option<String>,
    pub data_type: Option<String>,
    pub constraint: Option<String>,
    /// PostgreSQL's routine, where a driver decides by it (pgjdbc prepares again on RevalidateCachedQuery).
    pub routine: Option<&'static str>,
}

/// A statement's failure (or, with a low severity, a notice). One pointer wide: results stay small on hot paths.
#[derive(Clone, PartialEq)]
pub struct SqlError(Box<ErrorFields>);

pub type SqlResult<T> = Result<T, SqlError>;

impl SqlError {
    #[cold]
    pub fn new(state: SqlState, message: impl Into<String>) -> SqlError {
        SqlError(Box::new(ErrorFields {
            severity: Severity::Error,
            state,
            message: message.into(),
            detail: None,
            hint: None,
            position: None,
            internal_query: None,
            internal_position: None,
            context: None,
            schema: None,
            table: None,
            column: None,
            data_type: None,
            constraint: None,
            routine: None,
        }))
    }

    /// `0A000`, naming the clause: nothing is parsed and then ignored.
    #[cold]
    pub fn unsupported(what: impl fmt::Display) -> SqlError {
        SqlError::new(state::FEATURE_NOT_SUPPORTED, format!("{what} is not supported"))
    }

    /// A bug of ours that one session can survive.
    #[cold]
    pub fn internal(message: impl Into<String>) -> SqlError {
        SqlError::new(state::INTERNAL_ERROR, message)
    }

    pub fn severity(mut self, severity: Severity) -> SqlError {
        self.0.severity = severity;
        self
    }

    pub fn detail(mut self, detail: impl Into<String>) -> SqlError {
        self.0.detail = Some(detail.into());
        self
    }

    pub fn hint(mut self, hint: impl Into<String>) -> SqlError {
        self.0.hint = Some(hint.into());
        self
    }

    /// Sets the position (1-based, characters) unless one is known already: the innermost place wins.
    pub fn at(mut self, position: u32) -> SqlError {
        if self.0.position.is_none() && position > 0 {
            self.0.position = Some(position);
        }
        self
    }

    /// Replaces the position, if there is one: what was at fault stands elsewhere in the text that the client sent.
    pub fn moved_to(mut self, position: u32) -> SqlError {
        if self.0.position.is_some() {
            self.0.position = (position > 0).then_some(position);
        }
        self
    }

    /// Turns the position into one of `query`, which a function ran: the client's own text does not show it. Without a
    /// position nothing changes.
    pub fn within(mut self, query: impl Into<String>) -> SqlError {
        if let Some(position) = self.0.position.take() {
            self.0.internal_position = Some(position);
            self.0.internal_query = Some(query.into());
        }
        self
    }

    pub fn context(mut self, line: impl Into<String>) -> SqlError {
        let line = line.into();
        self.0.context = Some(match self.0.context.take() {
            Some(inner) => format!("{inner}\n{line}"),
            None => line,
        });
        self
    }

    pub fn table(mut self, schema: impl Into<String>, table: impl Into<String>) -> SqlError {
        self.0.schema = Some(schema.into());
        self.0.table = Some(table.into());
        self
    }

    /// The context said anew.
    pub fn replace_context(mut self, text: impl Into<String>) -> SqlError {
        self.0.context = Some(text.into());
        self
    }

    /// Names of a schema and a table, each where it is known.
    pub fn relation_names(mut self, schema: Option<String>, table: Option<String>) -> SqlError {
        self.0.schema = schema;
        self.0.table = table;
        self
    }

    pub fn column(mut self, column: impl Into<String>) -> SqlError {
        self.0.column = Some(column.into());
        self
    }

    pub fn data_type(mut self, name: impl Into<String>) -> SqlError {
        self.0.data_type = Some(name.into());
        self
    }

    pub fn constraint(mut self, name: impl Into<String>) -> SqlError {
        self.0.constraint = Some(name.into());
        self
    }

    pub fn routine(mut self, name: &'static str) -> SqlError {
        self.0.routine = Some(name);
        self
    }

    pub fn fields(&self) -> &ErrorFields {
        &self.0
    }

    pub fn state(&self) -> SqlState {
        self.0.state
    }

    pub fn message(&self) -> &str {
        &self.0.message
    }
}

impl fmt::Debug for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {} ({})",
            self.0.severity.as_str(),
            self.0.message,
            self.0.state
        )
    }
}

impl std::error::Error for SqlError {}

const _: () = assert!(size_of::<SqlError>() == 8);
