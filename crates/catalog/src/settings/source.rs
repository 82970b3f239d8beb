//! Where the value of a setting is from, the nearest to the session last: a nearer source wins.

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Source {
    /// The table of settings, and what the server says of itself.
    Default,
    /// The server's file: ALTER SYSTEM.
    File,
    /// ALTER ROLE ALL.
    Global,
    /// ALTER DATABASE.
    Database,
    /// ALTER ROLE.
    User,
    /// ALTER ROLE .. IN DATABASE.
    DatabaseUser,
    /// The start-up packet.
    Client,
    /// SET.
    Session,
}

impl Source {
    /// As pg_settings names it.
    pub fn name(self) -> &'static str {
        match self {
            Source::Default => "default",
            Source::File => "configuration file",
            Source::Global => "global",
            Source::Database => "database",
            Source::User => "user",
            Source::DatabaseUser => "database user",
            Source::Client => "client",
            Source::Session => "session",
        }
    }
}
