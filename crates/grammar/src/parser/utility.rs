//! Dispatch of statements, and those about the session: transactions, settings, cursors, COPY, maintenance.

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use pg_raw_parse::list::NodeList;
use pg_raw_parse::{Node, nodes, raw};

use super::convert::{Converter, uncast};
use crate::ast::*;

/// PostgreSQL's bits of a cursor's options.
mod cursor_bit {
    pub const BINARY: i32 = 0x0001;
    pub const SCROLL: i32 = 0x0002;
    pub const NO_SCROLL: i32 = 0x0004;
    pub const INSENSITIVE: i32 = 0x0008;
    pub const ASENSITIVE: i32 = 0x0010;
    pub const HOLD: i32 = 0x0020;
}

impl Converter<'_> {
    pub(super) fn statement(&mut self, node: Node<'_>) -> SqlResult<Statement> {
        Ok(match node {
            Node::SelectStmt(node) => self.select_statement(node)?,
            Node::InsertStmt(node) => Statement::Insert(Box::new(self.insert(node)?)),
            Node::UpdateStmt(node) => Statement::Update(Box::new(self.update(node)?)),
            Node::DeleteStmt(node) => Statement::Delete(Box::new(self.delete(node)?)),
            Node::MergeStmt(node) => Statement::Merge(Box::new(self.merge(node)?)),
            Node::TransactionStmt(node) => Statement::Transaction(self.transaction(node)?),
            Node::VariableSetStmt(node) => Statement::Set(Box::new(self.set_variable(node)?)),
            Node::VariableShowStmt(node) => Statement::Show(show_variable(node)),
            Node::ConstraintsSetStmt(node) => Statement::SetConstraints(Box::new(SetConstraints {
                constraints: self.relation_list(node.constraints())?,
                deferred: node.deferred,
            })),
            Node::PrepareStmt(node) => Statement::Prepare(Box::new(self.prepare(node)?)),
            Node::ExecuteStmt(node) => Statement::Execute(Box::new(Execute {
                name: node.name().unwrap_or_default().into(),
                parameters: self.exprs(node.params())?,
            })),
            Node::DeallocateStmt(node) => Statement::Deallocate(match node.name() {
                Some(name) if !node.isall => Deallocate::Name(name.into()),
                _ => Deallocate::All,
            }),
            Node::DeclareCursorStmt(node) => Statement::DeclareCursor(Box::new(self.declare_cursor(node)?)),
            Node::FetchStmt(node) => Statement::Fetch(fetch(node)),
            Node::ClosePortalStmt(node) => Statement::ClosePortal(match node.portalname() {
                Some(name) => ClosePortal::Name(name.into()),
                None => ClosePortal::All,
            }),
            Node::CopyStmt(node) => Statement::Copy(Box::new(self.copy(node)?)),
            Node::ExplainStmt(node) => Statement::Explain(Box::new(Explain {
                options: self.options(uncast(node.options()))?,
                statement: self.deeper(|this| this.statement(node.query()))?,
            })),
            Node::CheckPointStmt(_) => Statement::Checkpoint,
            Node::VacuumStmt(node) => Statement::Vacuum(Box::new(self.vacuum(node)?)),
            Node::ClusterStmt(node) => Statement::Cluster(Box::new(Cluster {
                table: node.relation().map(|relation| self.relation_name(relation)),
                index: node.indexname().map(Name::from),
                options: self.options(uncast(node.params()))?,
            })),
            Node::ReindexStmt(node) => Statement::Reindex(Box::new(self.reindex(node)?)),
            Node::LockStmt(node) => Statement::Lock(Box::new(self.lock(node)?)),
            Node::ListenStmt(node) => Statement::Listen(Listen {
                channel: node.conditionname().unwrap_or_default().into(),
            }),
            Node::NotifyStmt(node) => Statement::Notify(Notify {
                channel: node.conditionname().unwrap_or_default().into(),
                payload: node.payload().map(Box::from),
            }),
            Node::UnlistenStmt(node) => Statement::Unlisten(match node.conditionname() {
                Some(name) => Unlisten::Name(name.into()),
                None => Unlisten::All,
            }),
            Node::DiscardStmt(node) => Statement::Discard(match node.target {
                raw::DiscardMode::DISCARD_PLANS => Discard::Plans,
                raw::DiscardMode::DISCARD_SEQUENCES => Discard::Sequences,
                raw::DiscardMode::DISCARD_TEMP => Discard::Temporary,
                _ => Discard::All,
            }),
            Node::DoStmt(node) => Statement::Do(Box::new(self.do_block(node)?)),
            Node::CallStmt(node) => match node.funccall() {
                Some(call) => Statement::Call(Box::new(self.function_call(call)?)),
                None => return Err(SqlError::internal("the grammar left out CALL's procedure")),
            },
            other => return self.definition(other),
        })
    }

    fn definition(&mut self, node: Node<'_>) -> SqlResult<Statement> {
        Ok(match node {
            Node::CreateStmt(node) => Statement::CreateTable(Box::new(self.create_table(node)?)),
            Node::CreateTableAsStmt(node) => self.create_table_as_statement(node)?,
            Node::AlterTableStmt(node) => Statement::AlterTable(Box::new(self.alter_table(node)?)),
            Node::IndexStmt(node) => Statement::CreateIndex(Box::new(self.create_index(node)?)),
            Node::CreateSchemaStmt(node) => Statement::CreateSchema(Box::new(self.create_schema(node)?)),
            Node::CreateSeqStmt(node) => Statement::CreateSequence(Box::new(self.create_sequence(node)?)),
            Node::AlterSeqStmt(node) => Statement::AlterSequence(Box::new(AlterSequence {
                name: self.required_relation(node.sequence())?,
                if_exists: node.missing_ok,
                options: self.options(node.options())?,
            })),
            Node::ViewStmt(node) => Statement::CreateView(Box::new(self.create_view(node)?)),
            Node::AlterFunctionStmt(node) => Statement::AlterFunction(Box::new(self.alter_function(node)?)),
            Node::CreateFunctionStmt(node) => {
                Statement::CreateFunction(Box::new(self.create_function(node)?))
            }
            Node::CreateTrigStmt(node) => Statement::CreateTrigger(Box::new(self.create_trigger(node)?)),
            Node::CreateRoleStmt(node) => Statement::CreateRole(Box::new(self.create_role(node)?)),
            Node::AlterRoleStmt(node) => Statement::AlterRole(Box::new(self.alter_role(node)?)),
            Node::AlterRoleSetStmt(node) => Statement::AlterRoleSet(Box::new(AlterRoleSet {
                role: node.role().map(|role| self.role(role)),
                database: node.database().map(Name::from),
                setting: self.required_setting(node.setstmt())?,
            })),
            Node::DropRoleStmt(node) => Statement::DropRole(Box::new(DropRole {
                roles: self.roles(node.roles())?,
                if_exists: node.missing_ok,
            })),
            Node::DropOwnedStmt(node) => Statement::DropOwned(Box::new(DropOwned {
                roles: self.roles(node.roles())?,
                behavior: self.behavior(node.behavior),
            })),
            Node::ReassignOwnedStmt(node) => Statement::ReassignOwned(Box::new(ReassignOwned {
                roles: self.roles(node.roles())?,
                new_owner: self.required_role(node.newrole())?,
            })),
            Node::CreatedbStmt(node) => Statement::CreateDatabase(Box::new(CreateDatabase {
                name: node.dbname().unwrap_or_default().into(),
                options: self.options(uncast(node.options()))?,
            })),
            Node::DropdbStmt(node) => Statement::DropDatabase(Box::new(DropDatabase {
                name: node.dbname().unwrap_or_default().into(),
                if_exists: node.missing_ok,
                options: self.options(node.options())?,
            })),
            Node::AlterDatabaseStmt(node) => Statement::AlterDatabase(Box::new(AlterDatabase {
                name: node.dbname().unwrap_or_default().into(),
                options: self.options(uncast(node.options()))?,
            })),
            Node::AlterSystemStmt(node) => {
                Statement::AlterSystem(Box::new(AlterSystem(self.required_setting(node.setstmt())?)))
            }
            Node::AlterDatabaseSetStmt(node) => Statement::AlterDatabaseSet(Box::new(AlterDatabaseSet {
                name: node.dbname().unwrap_or_default().into(),
                setting: self.required_setting(node.setstmt())?,
            })),
            Node::CreateExtensionStmt(node) => Statement::CreateExtension(Box::new(CreateExtension {
                name: node.extname().unwrap_or_default().into(),
                if_not_exists: node.if_not_exists,
                options: self.options(uncast(node.options()))?,
            })),
            Node::AlterExtensionStmt(node) => Statement::AlterExtension(Box::new(AlterExtension {
                name: node.extname().unwrap_or_default().into(),
                options: self.options(uncast(node.options()))?,
            })),
            Node::CreatePublicationStmt(node) => Statement::CreatePublication(Box::new(CreatePublication {
                name: node.pubname().unwrap_or_default().into(),
                all_tables: node.for_all_tables,
                objects: self.publication_objects(node.pubobjects())?,
                options: self.options(uncast(node.options()))?,
            })),
            Node::AlterPublicationStmt(node) => {
                Statement::AlterPublication(Box::new(self.alter_publication(node)?))
            }
            Node::CreateCastStmt(node) => Statement::CreateCast(Box::new(self.create_cast(node)?)),
            Node::CreateEnumStmt(node) => Statement::CreateEnum(Box::new(CreateEnum {
                name: self.qualified_name(uncast(node.type_name()), -1)?,
                labels: self.names(uncast(node.vals()))?,
            })),
            Node::CreateRangeStmt(node) => Statement::CreateRangeType(Box::new(CreateRangeType {
                name: self.qualified_name(uncast(node.type_name()), -1)?,
                options: self.options(uncast(node.params()))?,
            })),
            Node::AlterEnumStmt(node) => Statement::AlterEnum(Box::new(AlterEnum {
                name: self.qualified_name(uncast(node.type_name()), -1)?,
                change: enum_change(node),
            })),
            Node::CompositeTypeStmt(node) => {
                Statement::CreateCompositeType(Box::new(self.create_composite_type(node)?))
            }
            Node::CreateDomainStmt(node) => Statement::CreateDomain(Box::new(self.create_domain(node)?)),
            Node::AlterDomainStmt(node) => Statement::AlterDomain(Box::new(self.alter_domain(node)?)),
            Node::DropStmt(node) => Statement::Drop(Box::new(self.drop_objects(node)?)),
            Node::TruncateStmt(node) => Statement::Truncate(Box::new(self.truncate(node)?)),
            Node::CommentStmt(node) => Statement::Comment(Box::new(self.comment(node)?)),
            Node::SecLabelStmt(node) => Statement::SecurityLabel(SecurityLabel {
                provider: node.provider().map(Name::from),
            }),
            Node::GrantStmt(node) => Statement::Grant(Box::new(self.grant(node)?)),
            Node::GrantRoleStmt(node) => Statement::GrantRole(Box::new(self.grant_role(node)?)),
            Node::AlterDefaultPrivilegesStmt(node) => {
                Statement::AlterDefaultPrivileges(Box::new(self.alter_default_privileges(node)?))
            }
            Node::RenameStmt(node) => Statement::Rename(Box::new(self.rename(node)?)),
            Node::AlterOwnerStmt(node) => Statement::AlterOwner(Box::new(self.alter_owner(node)?)),
            Node::AlterObjectSchemaStmt(node) => {
                Statement::AlterObjectSchema(Box::new(self.alter_object_schema(node)?))
            }
            Node::RefreshMatViewStmt(node) => {
                Statement::RefreshMaterializedView(Box::new(RefreshMaterializedView {
                    name: self.required_relation(node.relation())?,
                    concurrently: node.concurrent,
                    with_data: !node.skip_data,
                }))
            }
            other => match unsupported_command(other) {
                Some(name) => Statement::Unsupported(UnsupportedStatement(name)),
                None => return Err(self.unexpected(other, "a statement")),
            },
        })
    }

    /// A query, or SELECT INTO, which is CREATE TABLE AS in other words.
    fn select_statement(&mut self, node: &nodes::SelectStmt) -> SqlResult<Statement> {
        let mut leftmost = node;
        while let Some(left) = leftmost.larg() {
            leftmost = left;
        }
        self.into_allowed = leftmost.into_clause().is_some();
        let query = Statement::Query(Box::new(self.query(node)?));
        match leftmost.into_clause() {
            Some(into) => {
                let statement = self.create_table_as(into, query, false, false)?;
                Ok(Statement::CreateTableAs(Box::new(statement)))
            }
            None => Ok(query),
        }
    }

    fn create_table_as_statement(&mut self, node: &nodes::CreateTableAsStmt) -> SqlResult<Statement> {
        let Some(into) = node.into() else {
            return Err(SqlError::internal("the grammar left out a table's name"));
        };
        let source = match node.query() {
            Node::SelectStmt(select) => Statement::Query(Box::new(self.query(select)?)),
            other => self.deeper(|this| this.statement(other))?,
        };
        let materialized_view = node.objtype == raw::ObjectType::OBJECT_MATVIEW;
        let statement = self.create_table_as(into, source, node.if_not_exists, materialized_view)?;
        Ok(Statement::CreateTableAs(Box::new(statement)))
    }

    fn transaction(&mut self, node: &nodes::TransactionStmt) -> SqlResult<TransactionStatement> {
        use raw::TransactionStmtKind::*;
        let name = || Name::from(node.savepoint_name().unwrap_or_default());
        let gid = || Box::<str>::from(node.gid().unwrap_or_default());
        let location = Location(node.location);
        Ok(match node.kind {
            TRANS_STMT_BEGIN | TRANS_STMT_START => TransactionStatement::Begin {
                start: node.kind == TRANS_STMT_START,
                modes: self.transaction_modes(node.options())?,
            },
            TRANS_STMT_COMMIT => TransactionStatement::Commit { chain: node.chain },
            TRANS_STMT_ROLLBACK => TransactionStatement::Rollback { chain: node.chain },
            TRANS_STMT_SAVEPOINT => TransactionStatement::Savepoint {
                name: name(),
                location,
            },
            TRANS_STMT_RELEASE => TransactionStatement::Release {
                name: name(),
                location,
            },
            TRANS_STMT_ROLLBACK_TO => TransactionStatement::RollbackTo {
                name: name(),
                location,
            },
            TRANS_STMT_PREPARE => TransactionStatement::PrepareTransaction { gid: gid() },
            TRANS_STMT_COMMIT_PREPARED => TransactionStatement::CommitPrepared { gid: gid() },
            _ => TransactionStatement::RollbackPrepared { gid: gid() },
        })
    }

    fn transaction_modes(&mut self, list: &NodeList) -> SqlResult<TransactionModes> {
        let mut modes = TransactionModes::default();
        for option in self.options(list)? {
            match (&*option.name, option.value) {
                ("transaction_isolation", Some(OptionValue::String(level))) => {
                    modes.isolation = Some(match &*level {
                        "read uncommitted" => IsolationLevel::ReadUncommitted,
                        "read committed" => IsolationLevel::ReadCommitted,
                        "repeatable read" => IsolationLevel::RepeatableRead,
                        "serializable" => IsolationLevel::Serializable,
                        other => return Err(self.unsupported(other, option.location.0)),
                    });
                }
                ("transaction_read_only", Some(OptionValue::Integer(value))) => {
                    modes.read_only = Some(value != 0)
                }
                ("transaction_deferrable", Some(OptionValue::Integer(value))) => {
                    modes.deferrable = Some(value != 0)
                }
                (name, _) => return Err(self.unsupported(name, option.location.0)),
            }
        }
        Ok(modes)
    }

    fn required_setting(&mut self, node: Option<&nodes::VariableSetStmt>) -> SqlResult<SetVariable> {
        match node {
            Some(node) => self.set_variable(node),
            None => Err(SqlError::internal("the grammar left out a setting")),
        }
    }

    pub(super) fn set_variable(&mut self, node: &nodes::VariableSetStmt) -> SqlResult<SetVariable> {
        use raw::VariableSetKind::*;
        let name = || Name::from(node.name().unwrap_or_default());
        let action = match node.kind {
            VAR_SET_VALUE => SetAction::Value {
                name: name(),
                values: self.each(node.args(), Self::set_value)?,
            },
            VAR_SET_DEFAULT => SetAction::Default { name: name() },
            VAR_SET_CURRENT => SetAction::FromCurrent { name: name() },
            VAR_RESET => SetAction::Reset { name: name() },
            VAR_RESET_ALL => SetAction::ResetAll,
            _ => match node.name().unwrap_or_default() {
                "TRANSACTION" => SetAction::Transaction(self.transaction_modes(node.args())?),
                "SESSION CHARACTERISTICS" => {
                    SetAction::SessionCharacteristics(self.transaction_modes(node.args())?)
                }
                "TRANSACTION SNAPSHOT" => match node.args().first() {
                    Some(Node::A_Const(constant)) => match self.constant(constant)? {
                        Constant::String(snapshot) => SetAction::TransactionSnapshot(snapshot),
                        _ => return Err(self.unsupported("SET TRANSACTION SNAPSHOT", node.location)),
                    },
                    _ => return Err(self.unsupported("SET TRANSACTION SNAPSHOT", node.location)),
                },
                _ => return Err(self.unsupported("this form of SET", node.location)),
            },
        };
        Ok(SetVariable {
            local: node.is_local,
            action,
            location: Location(node.location),
        })
    }

    fn set_value(&mut self, node: Node<'_>) -> SqlResult<SetValue> {
        Ok(match node {
            Node::A_Const(constant) => match self.constant(constant)? {
                Constant::Integer(value) => SetValue::Integer(value),
                Constant::Number(digits) => SetValue::Number(digits),
                Constant::String(text) => SetValue::String(text),
                _ => return Err(self.syntax_error(constant.location)),
            },
            Node::TypeCast(cast) => match cast.arg() {
                Node::A_Const(constant) => match self.constant(constant)? {
                    Constant::String(text) => SetValue::Typed {
                        text,
                        type_name: self.required_type(cast.type_name())?,
                    },
                    _ => return Err(self.syntax_error(constant.location)),
                },
                other => return Err(self.unexpected(other, "SET")),
            },
            Node::ParamRef(parameter) => return Err(self.syntax_error(parameter.location)),
            other => return Err(self.unexpected(other, "SET")),
        })
    }

    fn prepare(&mut self, node: &nodes::PrepareStmt) -> SqlResult<Prepare> {
        Ok(Prepare {
            name: node.name().unwrap_or_default().into(),
            types: self.each(uncast(node.argtypes()), |this, type_name| match type_name {
                Node::TypeName(type_name) => this.type_name(type_name),
                other => Err(this.unexpected(other, "PREPARE")),
            })?,
            statement: self.deeper(|this| this.statement(node.query()))?,
        })
    }

    fn declare_cursor(&mut self, node: &nodes::DeclareCursorStmt) -> SqlResult<DeclareCursor> {
        use cursor_bit::*;
        let has = |bit: i32| node.options & bit != 0;
        let choice = |yes: i32, no: i32, words: &str| match (has(yes), has(no)) {
            (true, true) => Err(SqlError::new(
                state::INVALID_CURSOR_DEFINITION,
                format!("cannot specify both {words}"),
            )),
            (true, false) => Ok(Some(true)),
            (false, true) => Ok(Some(false)),
            (false, false) => Ok(None),
        };
        Ok(DeclareCursor {
            name: node.portalname().unwrap_or_default().into(),
            query: self.deeper(|this| this.statement(node.query()))?,
            binary: has(BINARY),
            scroll: choice(SCROLL, NO_SCROLL, "SCROLL and NO SCROLL")?,
            insensitive: choice(INSENSITIVE, ASENSITIVE, "INSENSITIVE and ASENSITIVE")?,
            hold: has(HOLD),
        })
    }

    fn copy(&mut self, node: &nodes::CopyStmt) -> SqlResult<Copy> {
        let source = match (node.relation(), node.query()) {
            (Some(relation), _) => CopySource::Table(self.relation_name(relation)),
            (None, query) => CopySource::Query(self.deeper(|this| this.statement(query))?),
        };
        let target = match node.filename() {
            None => CopyTarget::Client,
            Some(command) if node.is_program => CopyTarget::Program(command.into()),
            Some(path) => CopyTarget::File(path.into()),
        };
        Ok(Copy {
            source,
            columns: self.names(node.attlist())?,
            from: node.is_from,
            target,
            options: self.options(uncast(node.options()))?,
            filter: self.optional(node.where_clause())?,
        })
    }

    fn vacuum(&mut self, node: &nodes::VacuumStmt) -> SqlResult<Vacuum> {
        Ok(Vacuum {
            analyze_only: !node.is_vacuumcmd,
            options: self.options(uncast(node.options()))?,
            tables: self.each(uncast(node.rels()), |this, table| match table {
                Node::VacuumRelation(table) => match table.relation() {
                    Some(relation) => Ok(VacuumTable {
                        table: this.relation_reference(relation)?,
                        columns: this.names(table.va_cols())?,
                    }),
                    None => Err(SqlError::internal("the grammar left out VACUUM's table")),
                },
                other => Err(this.unexpected(other, "VACUUM")),
            })?,
        })
    }

    fn reindex(&mut self, node: &nodes::ReindexStmt) -> SqlResult<Reindex> {
        use raw::ReindexObjectType::*;
        let target = match node.kind {
            REINDEX_OBJECT_INDEX => ReindexTarget::Index(self.required_relation(node.relation())?),
            REINDEX_OBJECT_TABLE => ReindexTarget::Table(self.required_relation(node.relation())?),
            REINDEX_OBJECT_SCHEMA => ReindexTarget::Schema(node.name().unwrap_or_default().into()),
            REINDEX_OBJECT_SYSTEM => ReindexTarget::System(node.name().map(Name::from)),
            _ => ReindexTarget::Database(node.name().map(Name::from)),
        };
        Ok(Reindex {
            target,
            options: self.options(uncast(node.params()))?,
        })
    }

    fn lock(&mut self, node: &nodes::LockStmt) -> SqlResult<Lock> {
        use TableLockMode::*;
        const MODES: [TableLockMode; 8] = [
            AccessShare,
            RowShare,
            RowExclusive,
            ShareUpdateExclusive,
            Share,
            ShareRowExclusive,
            Exclusive,
            AccessExclusive,
        ];
        let mode = usize::try_from(node.mode - 1)
            .ok()
            .and_then(|index| MODES.get(index).copied());
        Ok(Lock {
            tables: self.each(node.relations(), |this, relation| match relation {
                Node::RangeVar(relation) => this.relation_reference(relation),
                other => Err(this.unexpected(other, "LOCK TABLE")),
            })?,
            mode: mode.ok_or_else(|| SqlError::internal("the grammar gave an unknown lock mode"))?,
            no_wait: node.nowait,
        })
    }

    fn do_block(&mut self, node: &nodes::DoStmt) -> SqlResult<Do> {
        let (mut language, mut code) = (None, None);
        for option in self.options(uncast(node.args()))? {
            let slot = match &*option.name {
                "language" => &mut language,
                "as" => &mut code,
                other => return Err(self.unsupported(other, option.location.0)),
            };
            let Some(OptionValue::String(text)) = option.value else {
                return Err(self.unsupported(&option.name, option.location.0));
            };
            if slot.replace(text).is_some() {
                let message = "conflicting or redundant options";
                return Err(self.error(state::SYNTAX_ERROR, message, option.location.0));
            }
        }
        match code {
            Some(code) => Ok(Do { language, code }),
            None => Err(SqlError::new(state::SYNTAX_ERROR, "no inline code specified")),
        }
    }
}

fn show_variable(node: &nodes::VariableShowStmt) -> ShowVariable {
    match node.name() {
        // A quoted "all" is the same to PostgreSQL.
        Some(name) if name != "all" => ShowVariable::Name(name.into()),
        _ => ShowVariable::All,
    }
}

fn fetch(node: &nodes::FetchStmt) -> Fetch {
    use raw::FetchDirection::*;
    Fetch {
        cursor: node.portalname().unwrap_or_default().into(),
        moves: node.ismove,
        direction: match node.direction {
            FETCH_BACKWARD => FetchDirection::Backward,
            FETCH_ABSOLUTE => FetchDirection::Absolute,
            FETCH_RELATIVE => FetchDirection::Relative,
            _ => FetchDirection::Forward,
        },
        count: node.how_many,
    }
}

fn enum_change(node: &nodes::AlterEnumStmt) -> EnumChange {
    let new: Box<str> = node.new_val().unwrap_or_default().into();
    if let Some(old) = node.old_val() {
        return EnumChange::Rename { old: old.into(), new };
    }
    EnumChange::Add {
        label: new,
        if_not_exists: node.skip_if_new_val_exists,
        place: node.new_val_neighbor().map(|neighbor| EnumPlace {
            neighbor: neighbor.into(),
            after: node.new_val_is_after,
        }),
    }
}

/// Commands that mote does not have at all.
fn unsupported_command(node: Node<'_>) -> Option<&'static str> {
    Some(match node {
        Node::DefineStmt(node) => match node.kind {
            raw::ObjectType::OBJECT_AGGREGATE => "CREATE AGGREGATE",
            raw::ObjectType::OBJECT_OPERATOR => "CREATE OPERATOR",
            raw::ObjectType::OBJECT_TYPE => "CREATE TYPE",
            raw::ObjectType::OBJECT_COLLATION => "CREATE COLLATION",
            _ => "CREATE TEXT SEARCH",
        },
        Node::AlterTypeStmt(_) => "ALTER TYPE SET",
        Node::AlterCollationStmt(_) => "ALTER COLLATION",
        Node::AlterOperatorStmt(_) => "ALTER OPERATOR",
        Node::AlterDatabaseRefreshCollStmt(_) => "ALTER DATABASE REFRESH COLLATION VERSION",
        Node::AlterExtensionContentsStmt(_) => "ALTER EXTENSION ADD or DROP",
        Node::AlterObjectDependsStmt(_) => "DEPENDS ON EXTENSION",
        Node::CreateTableSpaceStmt(_) => "CREATE TABLESPACE",
        Node::DropTableSpaceStmt(_) => "DROP TABLESPACE",
        Node::AlterTableSpaceOptionsStmt(_) => "ALTER TABLESPACE",
        Node::AlterTableMoveAllStmt(_) => "ALTER TABLE ALL IN TABLESPACE",
        Node::CreateFdwStmt(_) => "CREATE FOREIGN DATA WRAPPER",
        Node::AlterFdwStmt(_) => "ALTER FOREIGN DATA WRAPPER",
        Node::CreateForeignServerStmt(_) => "CREATE SERVER",
        Node::AlterForeignServerStmt(_) => "ALTER SERVER",
        // The one command whose node the crate cannot name.
        Node::Invalid(..) => "CREATE FOREIGN TABLE",
        Node::CreateUserMappingStmt(_) => "CREATE USER MAPPING",
        Node::AlterUserMappingStmt(_) => "ALTER USER MAPPING",
        Node::DropUserMappingStmt(_) => "DROP USER MAPPING",
        Node::ImportForeignSchemaStmt(_) => "IMPORT FOREIGN SCHEMA",
        Node::CreatePolicyStmt(_) => "CREATE POLICY",
        Node::AlterPolicyStmt(_) => "ALTER POLICY",
        Node::CreateAmStmt(_) => "CREATE ACCESS METHOD",
        Node::CreateEventTrigStmt(_) => "CREATE EVENT TRIGGER",
        Node::AlterEventTrigStmt(_) => "ALTER EVENT TRIGGER",
        Node::CreatePLangStmt(_) => "CREATE LANGUAGE",
        Node::CreateOpClassStmt(_) => "CREATE OPERATOR CLASS",
        Node::CreateOpFamilyStmt(_) => "CREATE OPERATOR FAMILY",
        Node::AlterOpFamilyStmt(_) => "ALTER OPERATOR FAMILY",
        Node::CreateStatsStmt(_) => "CREATE STATISTICS",
        Node::AlterStatsStmt(_) => "ALTER STATISTICS",
        Node::RuleStmt(_) => "CREATE RULE",
        Node::LoadStmt(_) => "LOAD",
        Node::CreateConversionStmt(_) => "CREATE CONVERSION",
        Node::CreateTransformStmt(_) => "CREATE TRANSFORM",
        Node::AlterTSDictionaryStmt(_) => "ALTER TEXT SEARCH DICTIONARY",
        Node::AlterTSConfigurationStmt(_) => "ALTER TEXT SEARCH CONFIGURATION",
        Node::CreateSubscriptionStmt(_) => "CREATE SUBSCRIPTION",
        Node::AlterSubscriptionStmt(_) => "ALTER SUBSCRIPTION",
        Node::DropSubscriptionStmt(_) => "DROP SUBSCRIPTION",
        Node::ReturnStmt(_) => "RETURN in BEGIN ATOMIC",
        _ => return None,
    })
}
