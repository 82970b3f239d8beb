//! ALTER TABLE and its sub-commands.

// Constants in patterns keep PostgreSQL's names.
#![allow(non_upper_case_globals)]

use mote_common::{SqlError, SqlResult};
use pg_raw_parse::{Node, nodes, raw};

use super::convert::Converter;
use super::precision::Told;
use crate::ast::*;

impl Converter<'_> {
    pub(super) fn alter_table(&mut self, node: &nodes::AlterTableStmt) -> SqlResult<AlterTable> {
        let Some(relation) = node.relation() else {
            return Err(SqlError::internal("the grammar left out a table's name"));
        };
        Ok(AlterTable {
            kind: super::object::object_kind(node.objtype),
            name: self.relation_name(relation),
            only: !relation.inh,
            if_exists: node.missing_ok,
            commands: self.each(node.cmds(), |this, command| match command {
                Node::AlterTableCmd(command) => this.alter_table_command(command),
                other => Err(this.unexpected(other, "ALTER TABLE")),
            })?,
        })
    }

    fn alter_table_command(&mut self, node: &nodes::AlterTableCmd) -> SqlResult<AlterTableCommand> {
        use AlterTableCommand as Command;
        use raw::AlterTableType::*;
        let name = || Name::from(node.name().unwrap_or_default());
        Ok(match node.subtype {
            AT_ClusterOn => Command::ClusterOn(name()),
            AT_DropCluster => Command::SetWithoutCluster,
            AT_SetLogged => Command::SetLogged,
            AT_SetUnLogged => Command::SetUnlogged,
            AT_SetAccessMethod => Command::SetAccessMethod(node.name().map(Name::from)),
            AT_SetTableSpace => Command::SetTablespace(name()),
            AT_SetRelOptions => Command::SetOptions(self.definition_options(node)?),
            AT_ResetRelOptions => Command::ResetOptions(self.definition_options(node)?),
            AT_EnableTrig => enable_trigger(TriggerTarget::Name(name()), TriggerMode::Origin),
            AT_EnableAlwaysTrig => enable_trigger(TriggerTarget::Name(name()), TriggerMode::Always),
            AT_EnableReplicaTrig => enable_trigger(TriggerTarget::Name(name()), TriggerMode::Replica),
            AT_EnableTrigAll => enable_trigger(TriggerTarget::All, TriggerMode::Origin),
            AT_EnableTrigUser => enable_trigger(TriggerTarget::User, TriggerMode::Origin),
            AT_DisableTrig => Command::DisableTrigger {
                target: TriggerTarget::Name(name()),
            },
            AT_DisableTrigAll => Command::DisableTrigger {
                target: TriggerTarget::All,
            },
            AT_DisableTrigUser => Command::DisableTrigger {
                target: TriggerTarget::User,
            },
            AT_ChangeOwner => Command::ChangeOwner(self.required_role(node.newowner())?),
            AT_EnableRowSecurity => Command::EnableRowSecurity,
            AT_DisableRowSecurity => Command::DisableRowSecurity,
            AT_ForceRowSecurity => Command::ForceRowSecurity,
            AT_NoForceRowSecurity => Command::NoForceRowSecurity,
            AT_AddInherit => Command::Inherit(self.definition_relation(node)?),
            AT_DropInherit => Command::NoInherit(self.definition_relation(node)?),
            AT_ReplicaIdentity => Command::ReplicaIdentity(self.replica_identity(node)?),
            AT_AttachPartition | AT_DetachPartition | AT_DetachPartitionFinalize => {
                self.alter_partition(node)?
            }
            AT_AddConstraint => match node.def() {
                Node::Constraint(constraint) => {
                    Command::AddConstraint(Box::new(self.constraint(constraint)?))
                }
                other => return Err(self.unexpected(other, "ADD CONSTRAINT")),
            },
            AT_AlterConstraint => Command::AlterConstraint(self.alter_constraint(node)?),
            AT_ValidateConstraint => Command::ValidateConstraint { name: name() },
            AT_DropConstraint => Command::DropConstraint {
                name: name(),
                if_exists: node.missing_ok,
                behavior: self.behavior(node.behavior),
            },
            AT_AddColumn => match node.def() {
                Node::ColumnDef(column) => Command::AddColumn {
                    column: Box::new(self.column_definition(column, Told::Twice)?),
                    if_not_exists: node.missing_ok,
                },
                other => return Err(self.unexpected(other, "ADD COLUMN")),
            },
            AT_DropColumn => Command::DropColumn {
                column: name(),
                if_exists: node.missing_ok,
                behavior: self.behavior(node.behavior),
            },
            _ => return self.alter_column(node),
        })
    }

    fn alter_column(&mut self, node: &nodes::AlterTableCmd) -> SqlResult<AlterTableCommand> {
        use AlterTableCommand as Command;
        use raw::AlterTableType::*;
        if node.num != 0 {
            return Err(self.unsupported("ALTER COLUMN by number", -1));
        }
        let column = Name::from(node.name().unwrap_or_default());
        let text = |node: Node<'_>| Name::from(node.as_str().unwrap_or_default());
        Ok(match node.subtype {
            AT_ColumnDefault => match node.def() {
                Node::None => Command::DropDefault { column },
                value => Command::SetDefault {
                    column,
                    value: self.expr(value)?,
                },
            },
            AT_DropNotNull => Command::DropNotNull { column },
            AT_SetNotNull => Command::SetNotNull { column },
            AT_SetExpression => Command::SetExpression {
                column,
                expression: self.expr(node.def())?,
            },
            AT_DropExpression => Command::DropExpression {
                column,
                if_exists: node.missing_ok,
            },
            AT_SetStatistics => Command::SetStatistics {
                column,
                target: match node.def() {
                    Node::Integer(target) => Some(target.ival),
                    _ => None,
                },
            },
            AT_SetOptions => Command::SetColumnOptions {
                column,
                options: self.definition_options(node)?,
            },
            AT_ResetOptions => Command::ResetColumnOptions {
                column,
                options: self.definition_options(node)?,
            },
            AT_SetStorage => Command::SetStorage {
                column,
                storage: text(node.def()),
            },
            AT_SetCompression => Command::SetCompression {
                column,
                method: text(node.def()),
            },
            AT_AlterColumnType => match node.def() {
                Node::ColumnDef(definition) => Command::SetType {
                    column,
                    type_name: self.changed_type(definition.type_name())?,
                    collation: self.collation(definition.coll_clause())?,
                    using: self.optional(definition.raw_default())?,
                },
                other => return Err(self.unexpected(other, "ALTER COLUMN TYPE")),
            },
            AT_AddIdentity => match node.def() {
                Node::Constraint(identity) => Command::AddIdentity {
                    column,
                    always: identity.generated_when as u8 == b'a',
                    options: self.options(identity.options())?,
                },
                other => return Err(self.unexpected(other, "ADD GENERATED")),
            },
            AT_SetIdentity => Command::SetIdentity {
                column,
                options: self.definition_options(node)?,
            },
            AT_DropIdentity => Command::DropIdentity {
                column,
                if_exists: node.missing_ok,
            },
            AT_EnableRule | AT_EnableAlwaysRule | AT_EnableReplicaRule => Command::Unsupported("ENABLE RULE"),
            AT_DisableRule => Command::Unsupported("DISABLE RULE"),
            AT_AddOf => Command::Unsupported("ALTER TABLE OF"),
            AT_DropOf => Command::Unsupported("ALTER TABLE NOT OF"),
            AT_DropOids => Command::Unsupported("SET WITHOUT OIDS"),
            AT_GenericOptions | AT_AlterColumnGenericOptions => Command::Unsupported("ALTER TABLE OPTIONS"),
            _ => Command::Unsupported("this form of ALTER TABLE"),
        })
    }

    fn definition_options(&mut self, node: &nodes::AlterTableCmd) -> SqlResult<Vec<DefinitionOption>> {
        match node.def() {
            Node::None => Ok(Vec::new()),
            Node::NodeList(options) => self.options(options),
            other => Err(self.unexpected(other, "ALTER TABLE options")),
        }
    }

    fn definition_relation(&mut self, node: &nodes::AlterTableCmd) -> SqlResult<RelationName> {
        match node.def() {
            Node::RangeVar(relation) => Ok(self.relation_name(relation)),
            other => Err(self.unexpected(other, "INHERIT")),
        }
    }

    fn replica_identity(&mut self, node: &nodes::AlterTableCmd) -> SqlResult<ReplicaIdentity> {
        let Node::ReplicaIdentityStmt(identity) = node.def() else {
            return Err(self.unexpected(node.def(), "REPLICA IDENTITY"));
        };
        Ok(match identity.identity_type as u8 {
            b'f' => ReplicaIdentity::Full,
            b'n' => ReplicaIdentity::Nothing,
            b'i' => ReplicaIdentity::Index(identity.name().unwrap_or_default().into()),
            _ => ReplicaIdentity::Default,
        })
    }

    fn alter_partition(&mut self, node: &nodes::AlterTableCmd) -> SqlResult<AlterTableCommand> {
        let Node::PartitionCmd(command) = node.def() else {
            return Err(self.unexpected(node.def(), "ATTACH PARTITION"));
        };
        let partition = self.required_relation(command.name())?;
        let mode = match node.subtype {
            raw::AlterTableType::AT_DetachPartition if command.concurrent => Some(DetachMode::Concurrently),
            raw::AlterTableType::AT_DetachPartition => Some(DetachMode::AtOnce),
            raw::AlterTableType::AT_DetachPartitionFinalize => Some(DetachMode::Finalize),
            _ => None,
        };
        if let Some(mode) = mode {
            return Ok(AlterTableCommand::DetachPartition { partition, mode });
        }
        let bound = match command.bound() {
            Some(bound) => Some(self.partition_bound(bound)?),
            None => None,
        };
        Ok(AlterTableCommand::AttachPartition { partition, bound })
    }

    fn alter_constraint(&mut self, node: &nodes::AlterTableCmd) -> SqlResult<AlterConstraint> {
        let Node::ATAlterConstraint(change) = node.def() else {
            return Err(self.unexpected(node.def(), "ALTER CONSTRAINT"));
        };
        Ok(AlterConstraint {
            name: change.conname().unwrap_or_default().into(),
            deferrability: change
                .alter_deferrability
                .then_some((change.deferrable, change.initdeferred)),
            enforced: change.alter_enforceability.then_some(change.is_enforced),
            no_inherit: change.alter_inheritability.then_some(change.noinherit),
        })
    }
}

fn enable_trigger(target: TriggerTarget, mode: TriggerMode) -> AlterTableCommand {
    AlterTableCommand::EnableTrigger { target, mode }
}
