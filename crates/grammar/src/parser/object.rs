//! Statements about objects of any kind (DROP, COMMENT, GRANT, RENAME, OWNER, SET SCHEMA), functions, triggers, roles.

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use pg_raw_parse::list::NodeList;
use pg_raw_parse::{Node, nodes, raw};

use super::convert::{Converter, uncast};
use super::precision::Told;
use crate::ast::*;

/// PostgreSQL's bits of a trigger's type.
mod trigger_bit {
    pub const BEFORE: i16 = 1 << 1;
    pub const INSERT: i16 = 1 << 2;
    pub const DELETE: i16 = 1 << 3;
    pub const UPDATE: i16 = 1 << 4;
    pub const TRUNCATE: i16 = 1 << 5;
    pub const INSTEAD: i16 = 1 << 6;
}

impl Converter<'_> {
    /// The name of an object, in whatever form the grammar gives it for the object's kind.
    fn object_reference(&mut self, kind: ObjectKind, node: Node<'_>) -> SqlResult<ObjectReference> {
        if let ObjectKind::Other(name) = kind {
            return Err(SqlError::unsupported(name));
        }
        match node {
            Node::String(name) => {
                let parts = vec![name.sval().unwrap_or_default().into()];
                Ok(ObjectReference::Name(QualifiedName {
                    parts,
                    location: Location::NONE,
                }))
            }
            // Four bytes, whatever their sign.
            Node::Integer(number) if kind == ObjectKind::LargeObject => {
                Ok(ObjectReference::LargeObject(number.ival as u32))
            }
            Node::Float(number) if kind == ObjectKind::LargeObject => {
                large_object_number(number.fval().unwrap_or_default())
            }
            Node::RangeVar(relation) => Ok(self.relation_as_reference(relation)),
            Node::TypeName(type_name) => Ok(ObjectReference::Type(self.type_name(type_name)?)),
            Node::ObjectWithArgs(signature) => Ok(ObjectReference::Signature(self.signature(signature)?)),
            Node::NodeList(list) => match (list.get(0), list.get(1)) {
                (Some(Node::TypeName(source)), Some(Node::TypeName(target))) => Ok(ObjectReference::Cast {
                    source: self.unplaced_type(source)?,
                    target: self.unplaced_type(target)?,
                }),
                (Some(Node::TypeName(domain)), Some(Node::String(name))) => {
                    Ok(ObjectReference::DomainConstraint {
                        domain: self.type_name(domain)?,
                        name: name.sval().unwrap_or_default().into(),
                    })
                }
                (Some(Node::String(_)), _) => Ok(ObjectReference::Name(self.qualified_name(list, -1)?)),
                _ => Err(self.unsupported_object(kind)),
            },
            _ => Err(self.unsupported_object(kind)),
        }
    }

    #[cold]
    fn unsupported_object(&self, kind: ObjectKind) -> SqlError {
        SqlError::unsupported(format_args!("this reference to a {kind:?}"))
    }

    fn relation_as_reference(&self, node: &nodes::RangeVar) -> ObjectReference {
        let relation = self.relation_name(node);
        let parts = [relation.catalog, relation.schema, Some(relation.name)]
            .into_iter()
            .flatten()
            .collect();
        ObjectReference::Name(QualifiedName {
            parts,
            location: relation.location,
        })
    }

    /// A statement names its object either by a relation or by a node.
    fn relation_or_object(
        &mut self,
        kind: ObjectKind,
        relation: Option<&nodes::RangeVar>,
        object: Node<'_>,
    ) -> SqlResult<ObjectReference> {
        match (relation, object) {
            (Some(relation), Node::None) => Ok(self.relation_as_reference(relation)),
            (Some(relation), object) => {
                // A trigger, rule or policy: its own name follows its relation's.
                let mut reference = self.relation_as_reference(relation);
                if let (ObjectReference::Name(name), Some(own)) = (&mut reference, object.as_str()) {
                    name.parts.push(own.into());
                }
                Ok(reference)
            }
            (None, object) => self.object_reference(kind, object),
        }
    }

    pub(super) fn signature(&mut self, node: &nodes::ObjectWithArgs) -> SqlResult<ObjectSignature> {
        let arguments = if node.args_unspecified {
            None
        } else {
            Some(self.each(node.objargs(), |this, argument| match argument {
                Node::None => Ok(None),
                Node::TypeName(type_name) => this.unplaced_type(type_name).map(Some),
                other => Err(this.unexpected(other, "a list of argument types")),
            })?)
        };
        Ok(ObjectSignature {
            name: self.qualified_name(node.objname(), -1)?,
            arguments,
        })
    }

    pub(super) fn drop_objects(&mut self, node: &nodes::DropStmt) -> SqlResult<Drop> {
        let kind = object_kind(node.remove_type);
        Ok(Drop {
            kind,
            objects: self.each(node.objects(), |this, object| this.object_reference(kind, object))?,
            if_exists: node.missing_ok,
            behavior: self.behavior(node.behavior),
            concurrently: node.concurrent,
        })
    }

    pub(super) fn truncate(&mut self, node: &nodes::TruncateStmt) -> SqlResult<Truncate> {
        Ok(Truncate {
            tables: self.each(node.relations(), |this, relation| match relation {
                Node::RangeVar(relation) => Ok(TruncateTarget {
                    name: this.relation_name(relation),
                    only: !relation.inh,
                }),
                other => Err(this.unexpected(other, "TRUNCATE")),
            })?,
            restart_identity: node.restart_seqs,
            behavior: self.behavior(node.behavior),
        })
    }

    pub(super) fn comment(&mut self, node: &nodes::CommentStmt) -> SqlResult<Comment> {
        let kind = object_kind(node.objtype);
        let object = self.object_reference(kind, node.object())?;
        Ok(Comment {
            kind,
            object,
            text: node.comment().map(Box::from),
        })
    }

    pub(super) fn grant(&mut self, node: &nodes::GrantStmt) -> SqlResult<Grant> {
        let kind = object_kind(node.objtype);
        Ok(Grant {
            revoke: !node.is_grant,
            privileges: self.each(uncast(node.privileges()), |this, privilege| match privilege {
                Node::AccessPriv(privilege) => Ok(Privilege {
                    name: privilege.priv_name().map(Name::from),
                    columns: this.names(uncast(privilege.cols()))?,
                }),
                other => Err(this.unexpected(other, "GRANT")),
            })?,
            target: match node.targtype {
                raw::GrantTargetType::ACL_TARGET_ALL_IN_SCHEMA => GrantTarget::AllInSchema,
                raw::GrantTargetType::ACL_TARGET_DEFAULTS => GrantTarget::Defaults,
                _ => GrantTarget::Objects,
            },
            kind,
            objects: self.each(uncast(node.objects()), |this, object| {
                this.object_reference(kind, object)
            })?,
            grantees: self.roles(uncast(node.grantees()))?,
            grant_option: node.grant_option,
            granted_by: node.grantor().map(|role| self.role(role)),
            behavior: self.behavior(node.behavior),
        })
    }

    pub(super) fn grant_role(&mut self, node: &nodes::GrantRoleStmt) -> SqlResult<GrantRole> {
        Ok(GrantRole {
            revoke: !node.is_grant,
            roles: self.each(node.granted_roles(), |this, role| match role {
                Node::AccessPriv(role) if role.cols().is_empty() => {
                    Ok(role.priv_name().unwrap_or_default().into())
                }
                Node::AccessPriv(_) => Err(SqlError::new(
                    state::FEATURE_NOT_SUPPORTED,
                    "column names cannot be included in GRANT/REVOKE ROLE",
                )),
                other => Err(this.unexpected(other, "GRANT")),
            })?,
            grantees: self.roles(node.grantee_roles())?,
            options: self.options(node.opt())?,
            granted_by: node.grantor().map(|role| self.role(role)),
            behavior: self.behavior(node.behavior),
        })
    }

    pub(super) fn alter_default_privileges(
        &mut self,
        node: &nodes::AlterDefaultPrivilegesStmt,
    ) -> SqlResult<AlterDefaultPrivileges> {
        let (mut roles, mut schemas) = (Vec::new(), Vec::new());
        let mut seen = Vec::new();
        for option in uncast(node.options()) {
            match option {
                Node::DefElem(option) if seen.contains(&option.defname()) => {
                    let message = "conflicting or redundant options";
                    return Err(self.error(state::SYNTAX_ERROR, message, option.location));
                }
                Node::DefElem(option) => {
                    seen.push(option.defname());
                    match (option.defname().unwrap_or_default(), option.arg()) {
                        ("roles", Node::NodeList(list)) => roles = self.roles(list)?,
                        ("schemas", Node::NodeList(list)) => schemas = self.names(list)?,
                        (name, _) => return Err(self.unsupported(name, option.location)),
                    }
                }
                other => return Err(self.unexpected(other, "ALTER DEFAULT PRIVILEGES")),
            }
        }
        let Some(action) = node.action() else {
            return Err(SqlError::internal("the grammar left out the privileges"));
        };
        Ok(AlterDefaultPrivileges {
            roles,
            schemas,
            action: self.grant(action)?,
        })
    }

    pub(super) fn rename(&mut self, node: &nodes::RenameStmt) -> SqlResult<Rename> {
        let kind = object_kind(node.rename_type);
        let part_of_relation = matches!(kind, ObjectKind::Trigger | ObjectKind::Rule | ObjectKind::Policy);
        let object = match (node.relation(), node.object(), node.subname()) {
            // A role, schema, database or tablespace has its name in the place of a part's.
            (None, Node::None, Some(name)) => {
                let name = QualifiedName {
                    parts: vec![name.into()],
                    location: Location::NONE,
                };
                ObjectReference::Name(name)
            }
            (relation, object, _) => self.relation_or_object(kind, relation, object)?,
        };
        let has_container = node.relation().is_some() || !matches!(node.object(), Node::None);
        Ok(Rename {
            kind,
            container_kind: match (part_of_relation, has_container && node.subname().is_some()) {
                (true, _) => ObjectKind::Table,
                (false, true) => object_kind(node.relation_type),
                (false, false) => kind,
            },
            object,
            part: node.subname().filter(|_| has_container).map(Name::from),
            new_name: node.newname().unwrap_or_default().into(),
            if_exists: node.missing_ok,
            only: node.relation().is_some_and(|relation| !relation.inh),
            behavior: self.behavior(node.behavior),
        })
    }

    pub(super) fn alter_owner(&mut self, node: &nodes::AlterOwnerStmt) -> SqlResult<AlterOwner> {
        let kind = object_kind(node.object_type);
        Ok(AlterOwner {
            kind,
            object: self.relation_or_object(kind, node.relation(), node.object())?,
            owner: self.required_role(node.newowner())?,
        })
    }

    pub(super) fn alter_object_schema(
        &mut self,
        node: &nodes::AlterObjectSchemaStmt,
    ) -> SqlResult<AlterObjectSchema> {
        let kind = object_kind(node.object_type);
        Ok(AlterObjectSchema {
            kind,
            object: self.relation_or_object(kind, node.relation(), node.object())?,
            schema: node.newschema().unwrap_or_default().into(),
            if_exists: node.missing_ok,
        })
    }

    pub(super) fn create_schema(&mut self, node: &nodes::CreateSchemaStmt) -> SqlResult<CreateSchema> {
        Ok(CreateSchema {
            name: node.schemaname().map(Name::from),
            owner: node.authrole().map(|role| self.role(role)),
            if_not_exists: node.if_not_exists,
            elements: self.each(node.schema_elts(), |this, element| {
                this.deeper(|this| this.statement(element))
            })?,
        })
    }

    pub(super) fn create_function(&mut self, node: &nodes::CreateFunctionStmt) -> SqlResult<CreateFunction> {
        let body = match node.sql_body() {
            Node::None => None,
            Node::ReturnStmt(body) => Some(FunctionBody::Return(self.expr(body.returnval())?)),
            Node::NodeList(outer) => {
                // The grammar wraps the list of statements once more, to tell it from RETURN.
                let inner = outer.first().unwrap_or(Node::None).as_node_list();
                let Some(inner) = inner else {
                    return Err(self.unexpected(Node::NodeList(outer), "BEGIN ATOMIC"));
                };
                let statements = self.each(inner, |this, node| this.deeper(|this| this.statement(node)))?;
                Some(FunctionBody::Atomic(statements))
            }
            other => return Err(self.unexpected(other, "CREATE FUNCTION")),
        };
        Ok(CreateFunction {
            name: self.qualified_name(node.funcname(), -1)?,
            procedure: node.is_procedure,
            or_replace: node.replace,
            parameters: self.each(uncast(node.parameters()), Self::function_parameter)?,
            returns: match node.return_type() {
                Some(type_name) => Some(self.unplaced_type(type_name)?),
                None => None,
            },
            options: self.options(uncast(node.options()))?,
            body,
        })
    }

    pub(super) fn alter_function(&mut self, node: &nodes::AlterFunctionStmt) -> SqlResult<AlterFunction> {
        let signature = node
            .func()
            .ok_or_else(|| SqlError::internal("ALTER FUNCTION names a function"))?;
        Ok(AlterFunction {
            kind: object_kind(node.objtype),
            signature: self.signature(signature)?,
            options: self.options(uncast(node.actions()))?,
        })
    }

    fn function_parameter(&mut self, node: Node<'_>) -> SqlResult<FunctionParameter> {
        use raw::FunctionParameterMode::*;
        let Node::FunctionParameter(node) = node else {
            return Err(self.unexpected(node, "CREATE FUNCTION"));
        };
        Ok(FunctionParameter {
            name: node.name().map(Name::from),
            type_name: self.told(Told::Unplaced, |this| this.required_type(node.arg_type()))?,
            mode: match node.mode {
                FUNC_PARAM_IN => ParameterMode::In,
                FUNC_PARAM_OUT => ParameterMode::Out,
                FUNC_PARAM_INOUT => ParameterMode::InOut,
                FUNC_PARAM_VARIADIC => ParameterMode::Variadic,
                FUNC_PARAM_TABLE => ParameterMode::Table,
                _ => ParameterMode::Default,
            },
            default: self.optional(node.defexpr())?,
        })
    }

    pub(super) fn create_trigger(&mut self, node: &nodes::CreateTrigStmt) -> SqlResult<CreateTrigger> {
        use trigger_bit::*;
        let (mut old_table, mut new_table) = (None, None);
        for transition in node.transition_rels() {
            match transition {
                Node::TriggerTransition(table) if table.is_table => {
                    let slot = if table.is_new {
                        &mut new_table
                    } else {
                        &mut old_table
                    };
                    *slot = table.name().map(Name::from);
                }
                _ => {
                    return Err(
                        SqlError::unsupported("ROW variable naming in the REFERENCING clause")
                            .hint("Use OLD TABLE or NEW TABLE for naming transition tables."),
                    );
                }
            }
        }
        let event = |bit: i16| node.events & bit != 0;
        Ok(CreateTrigger {
            name: node.trigname().unwrap_or_default().into(),
            table: self.required_relation(node.relation())?,
            or_replace: node.replace,
            constraint: node.isconstraint,
            function: self.qualified_name(node.funcname(), -1)?,
            arguments: self.names(uncast(node.args()))?,
            for_each_row: node.row,
            timing: match node.timing {
                BEFORE => TriggerTiming::Before,
                INSTEAD => TriggerTiming::InsteadOf,
                _ => TriggerTiming::After,
            },
            insert: event(INSERT),
            update: event(UPDATE),
            delete: event(DELETE),
            truncate: event(TRUNCATE),
            update_columns: self.names(node.columns())?,
            condition: self.optional(node.when_clause())?,
            deferrable: node.deferrable,
            initially_deferred: node.initdeferred,
            referenced_table: node.constrrel().map(|relation| self.relation_name(relation)),
            old_table,
            new_table,
        })
    }

    pub(super) fn create_role(&mut self, node: &nodes::CreateRoleStmt) -> SqlResult<CreateRole> {
        Ok(CreateRole {
            kind: match node.stmt_type {
                raw::RoleStmtType::ROLESTMT_USER => RoleKind::User,
                raw::RoleStmtType::ROLESTMT_GROUP => RoleKind::Group,
                _ => RoleKind::Role,
            },
            name: node.role().unwrap_or_default().into(),
            options: self.options(uncast(node.options()))?,
        })
    }

    pub(super) fn alter_role(&mut self, node: &nodes::AlterRoleStmt) -> SqlResult<AlterRole> {
        Ok(AlterRole {
            role: self.required_role(node.role())?,
            options: self.options(uncast(node.options()))?,
            remove_members: node.action < 0,
        })
    }

    pub(super) fn create_domain(&mut self, node: &nodes::CreateDomainStmt) -> SqlResult<CreateDomain> {
        Ok(CreateDomain {
            name: self.qualified_name(uncast(node.domainname()), -1)?,
            type_name: self.told(Told::Unplaced, |this| this.required_type(node.type_name()))?,
            collation: self.collation(node.coll_clause())?,
            constraints: self.told(Told::Unplaced, |this| {
                this.constraints(uncast(node.constraints()))
            })?,
        })
    }

    pub(super) fn alter_domain(&mut self, node: &nodes::AlterDomainStmt) -> SqlResult<AlterDomain> {
        let part = || Name::from(node.name().unwrap_or_default());
        let change = match (node.subtype as u8, node.def()) {
            (b'T', Node::None) => DomainChange::DropDefault,
            (b'T', value) => DomainChange::SetDefault(self.expr(value)?),
            (b'N', _) => DomainChange::DropNotNull,
            (b'O', _) => DomainChange::SetNotNull,
            // The list knows the words that stand behind a constraint.
            (b'C', Node::Constraint(constraint)) => DomainChange::Add(self.constraint(constraint)?),
            (b'X', _) => DomainChange::Drop {
                constraint: part(),
                if_exists: node.missing_ok,
                behavior: self.behavior(node.behavior),
            },
            (b'V', _) => DomainChange::Validate(part()),
            _ => return Err(self.unexpected(Node::AlterDomainStmt(node), "ALTER DOMAIN")),
        };
        Ok(AlterDomain {
            name: self.qualified_name(node.type_name(), -1)?,
            change,
        })
    }

    pub(super) fn create_composite_type(
        &mut self,
        node: &nodes::CompositeTypeStmt,
    ) -> SqlResult<CreateCompositeType> {
        let columns: &NodeList = uncast(node.coldeflist());
        Ok(CreateCompositeType {
            name: self.required_relation(node.typevar())?,
            columns: self.each(columns, |this, column| match column {
                Node::ColumnDef(column) => this.column_definition(column, Told::Unplaced),
                other => Err(this.unexpected(other, "CREATE TYPE")),
            })?,
        })
    }
}

fn large_object_number(digits: &str) -> SqlResult<ObjectReference> {
    use mote_common::error::state;
    if let Ok(number) = digits.parse() {
        return Ok(ObjectReference::LargeObject(number));
    }
    Err(match digits.bytes().all(|byte| byte.is_ascii_digit()) {
        true => SqlError::new(
            state::NUMERIC_VALUE_OUT_OF_RANGE,
            format!("value \"{digits}\" is out of range for type oid"),
        ),
        false => SqlError::new(
            state::INVALID_TEXT_REPRESENTATION,
            format!("invalid input syntax for type oid: \"{digits}\""),
        ),
    })
}

pub(super) fn object_kind(kind: raw::ObjectType::Type) -> ObjectKind {
    use raw::ObjectType::*;
    match kind {
        OBJECT_TABLE => ObjectKind::Table,
        OBJECT_VIEW => ObjectKind::View,
        OBJECT_MATVIEW => ObjectKind::MaterializedView,
        OBJECT_INDEX => ObjectKind::Index,
        OBJECT_SEQUENCE => ObjectKind::Sequence,
        OBJECT_SCHEMA => ObjectKind::Schema,
        OBJECT_DATABASE => ObjectKind::Database,
        OBJECT_TYPE => ObjectKind::Type,
        OBJECT_DOMAIN => ObjectKind::Domain,
        OBJECT_FUNCTION => ObjectKind::Function,
        OBJECT_PROCEDURE => ObjectKind::Procedure,
        OBJECT_ROUTINE => ObjectKind::Routine,
        OBJECT_AGGREGATE => ObjectKind::Aggregate,
        OBJECT_OPERATOR => ObjectKind::Operator,
        OBJECT_TRIGGER => ObjectKind::Trigger,
        OBJECT_RULE => ObjectKind::Rule,
        OBJECT_POLICY => ObjectKind::Policy,
        OBJECT_COLUMN => ObjectKind::Column,
        OBJECT_ATTRIBUTE => ObjectKind::Attribute,
        OBJECT_TABCONSTRAINT => ObjectKind::TableConstraint,
        OBJECT_DOMCONSTRAINT => ObjectKind::DomainConstraint,
        OBJECT_ROLE => ObjectKind::Role,
        OBJECT_EXTENSION => ObjectKind::Extension,
        OBJECT_LANGUAGE => ObjectKind::Language,
        OBJECT_COLLATION => ObjectKind::Collation,
        OBJECT_TABLESPACE => ObjectKind::Tablespace,
        OBJECT_ACCESS_METHOD => ObjectKind::Other("ACCESS METHOD"),
        OBJECT_CAST => ObjectKind::Cast,
        OBJECT_CONVERSION => ObjectKind::Other("CONVERSION"),
        OBJECT_EVENT_TRIGGER => ObjectKind::Other("EVENT TRIGGER"),
        OBJECT_FDW => ObjectKind::Other("FOREIGN DATA WRAPPER"),
        OBJECT_FOREIGN_SERVER => ObjectKind::Other("FOREIGN SERVER"),
        OBJECT_FOREIGN_TABLE => ObjectKind::Other("FOREIGN TABLE"),
        OBJECT_LARGEOBJECT => ObjectKind::LargeObject,
        OBJECT_OPCLASS => ObjectKind::Other("OPERATOR CLASS"),
        OBJECT_OPFAMILY => ObjectKind::Other("OPERATOR FAMILY"),
        OBJECT_PARAMETER_ACL => ObjectKind::Other("PARAMETER"),
        OBJECT_PUBLICATION => ObjectKind::Publication,
        OBJECT_SUBSCRIPTION => ObjectKind::Other("SUBSCRIPTION"),
        OBJECT_STATISTIC_EXT => ObjectKind::Other("STATISTICS"),
        OBJECT_TRANSFORM => ObjectKind::Other("TRANSFORM"),
        OBJECT_TSCONFIGURATION => ObjectKind::Other("TEXT SEARCH CONFIGURATION"),
        OBJECT_TSDICTIONARY => ObjectKind::Other("TEXT SEARCH DICTIONARY"),
        OBJECT_TSPARSER => ObjectKind::Other("TEXT SEARCH PARSER"),
        OBJECT_TSTEMPLATE => ObjectKind::Other("TEXT SEARCH TEMPLATE"),
        OBJECT_USER_MAPPING => ObjectKind::Other("USER MAPPING"),
        _ => ObjectKind::Other("this kind of object"),
    }
}
