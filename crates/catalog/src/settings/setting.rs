//! What a setting is, and how the tables (`table`, `advice`, `statements`) say it.

/// Who may change a setting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Context {
    /// Facts about the server.
    Internal,
    /// Fixed at start.
    Server,
    /// The server's file says it, and is read again on a reload. No session sets it.
    Reload,
    /// Fixed when a session starts, by what its client asks for.
    Backend,
    /// The same, for superusers.
    SuperuserBackend,
    /// Sessions of superusers.
    Superuser,
    /// Any session.
    User,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Kind {
    Bool,
    /// Range, and the unit a bare number has: "" | "ms" | "s" | "B" | "kB" | "8kB".
    Integer(i64, i64, &'static str),
    /// Likewise.
    Real(f64, f64, &'static str),
    Enum(&'static [&'static str]),
    String,
}

#[derive(Clone)]
pub struct Setting {
    pub name: &'static str,
    pub kind: Kind,
    pub default: &'static str,
    pub context: Context,
    /// The client is told of changes.
    pub reported: bool,
    /// Part of `Effective`.
    pub effective: bool,
    /// Transaction characteristics are not touched by RESET ALL.
    pub keeps_on_reset_all: bool,
    /// If not empty, the only values that mote can obey; PostgreSQL's others are refused by name.
    pub supported: &'static [&'static str],
    pub category: &'static str,
    pub description: &'static str,
}

pub(super) const fn user(
    name: &'static str,
    kind: Kind,
    default: &'static str,
    category: &'static str,
    description: &'static str,
) -> Setting {
    Setting {
        name,
        kind,
        default,
        context: Context::User,
        reported: false,
        effective: false,
        keeps_on_reset_all: false,
        supported: &[],
        category,
        description,
    }
}

pub(super) const fn effective(setting: Setting) -> Setting {
    Setting {
        effective: true,
        ..setting
    }
}

/// Fixed at start.
pub(super) const fn server(setting: Setting) -> Setting {
    Setting {
        context: Context::Server,
        ..setting
    }
}

/// Read again on a reload.
pub(super) const fn reloaded(setting: Setting) -> Setting {
    Setting {
        context: Context::Reload,
        ..setting
    }
}

pub(super) const fn superuser(setting: Setting) -> Setting {
    Setting {
        context: Context::Superuser,
        ..setting
    }
}

pub(super) const fn backend(setting: Setting) -> Setting {
    Setting {
        context: Context::Backend,
        ..setting
    }
}

pub(super) const fn superuser_backend(setting: Setting) -> Setting {
    Setting {
        context: Context::SuperuserBackend,
        ..setting
    }
}

pub(super) const fn supporting(values: &'static [&'static str], setting: Setting) -> Setting {
    Setting {
        supported: values,
        ..setting
    }
}
