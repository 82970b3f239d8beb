//! What the scheme of a URL says: which wire the server speaks, and who answers on it.

/// Which wire the server speaks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum System {
    Postgres,
    /// MySQL and MariaDB.
    Mysql,
    /// Through ODBC only, as the next.
    Oracle,
    Db2,
}

impl System {
    pub(super) const SCHEMES: [(&'static str, System); 6] = [
        ("postgres", System::Postgres),
        ("postgresql", System::Postgres),
        ("mysql", System::Mysql),
        ("mariadb", System::Mysql),
        ("oracle", System::Oracle),
        ("db2", System::Db2),
    ];

    pub(super) fn scheme(self) -> &'static str {
        match self {
            System::Postgres => "postgres",
            System::Mysql => "mysql",
            System::Oracle => "oracle",
            System::Db2 => "db2",
        }
    }

    /// As Debian's packages odbc-postgresql and odbc-mariadb name them, and as the makers of the others do.
    pub(super) fn odbc_driver(self) -> &'static str {
        match self {
            System::Postgres => "PostgreSQL Unicode",
            System::Mysql => "MariaDB Unicode",
            System::Oracle => "Oracle 19 ODBC driver",
            System::Db2 => "IBM DB2 ODBC DRIVER",
        }
    }

    pub(super) fn default_port(self) -> u16 {
        match self {
            System::Postgres => 5432,
            System::Mysql => 3306,
            System::Oracle => 1521,
            System::Db2 => 50_000,
        }
    }

    pub(super) fn superuser(self) -> &'static str {
        match self {
            System::Postgres => "postgres",
            System::Mysql => "root",
            System::Oracle => "system",
            System::Db2 => "db2inst1",
        }
    }
}

/// Who answers in PostgreSQL's protocol, as far as tables are defined otherwise.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Product {
    PostgreSql,
    /// Its tables on disk, which are defined as PostgreSQL's.
    OpenGauss,
    /// Its tables in memory.
    OpenGaussMot,
    /// Tables in as many hash partitions, which it spreads over its shards.
    Klustron {
        partitions: u32,
    },
}

/// Of a table of Klustron, unless `?partitions=` says otherwise.
pub(super) const PARTITIONS: u32 = 16;
/// More make a load of definitions.
pub(super) const PARTITIONS_MAX: u32 = 1_000;

impl Product {
    pub(super) const SCHEMES: [(&'static str, Product); 2] = [
        ("opengauss", Product::OpenGauss),
        (
            "klustron",
            Product::Klustron {
                partitions: PARTITIONS,
            },
        ),
    ];

    pub(super) fn scheme(self) -> Option<&'static str> {
        match self {
            Product::PostgreSql => None,
            Product::OpenGauss | Product::OpenGaussMot => Some("opengauss"),
            Product::Klustron { .. } => Some("klustron"),
        }
    }

    pub(super) fn option(self) -> Option<(&'static str, String)> {
        match self {
            Product::PostgreSql | Product::OpenGauss => None,
            Product::OpenGaussMot => Some(("engine", "mot".into())),
            Product::Klustron { partitions } => Some(("partitions", partitions.to_string())),
        }
    }
}
