//! The walker's state, and the leaves all kinds of statement share: names, types, relations, roles, options.

use mote_common::error::state;
use mote_common::work::Meter;
use mote_common::{SqlError, SqlResult, SqlState};
use pg_raw_parse::list::{CastNodeList, NodeList};
use pg_raw_parse::{ConstValue, Node, nodes, raw};

use super::precision::{LoweredPrecisions, Told};
use crate::ast::*;

/// What a node of the tree costs to walk, in units of `work`.
const NODE_UNITS: usize = 128;

/// Walks the grammar's nodes of one statement, and pays for them: a text of megabytes has as many nodes.
pub(super) struct Converter<'t> {
    pub(super) text: &'t str,
    depth: u32,
    work: Meter,
    /// The leftmost SELECT of the statement may have an INTO, and it has not been seen yet.
    pub(super) into_allowed: bool,
    pub(super) lowered: LoweredPrecisions,
}

impl<'t> Converter<'t> {
    pub(super) fn new(text: &'t str) -> Converter<'t> {
        Converter {
            text,
            depth: 0,
            work: Meter::default(),
            into_allowed: false,
            lowered: LoweredPrecisions::default(),
        }
    }

    /// Runs one level deeper, or refuses.
    pub(super) fn deeper<T>(&mut self, walk: impl FnOnce(&mut Self) -> SqlResult<T>) -> SqlResult<T> {
        if self.depth >= super::MAX_DEPTH {
            return Err(super::too_deep());
        }
        self.work.keep(NODE_UNITS, size_of::<Expr>())?;
        self.depth += 1;
        let result = walk(self);
        self.depth -= 1;
        result
    }

    #[cold]
    pub(super) fn error(&self, code: SqlState, message: impl Into<String>, location: i32) -> SqlError {
        SqlError::new(code, message).at(super::position(self.text, location))
    }

    #[cold]
    pub(super) fn unsupported(&self, what: &str, location: i32) -> SqlError {
        SqlError::unsupported(what).at(super::position(self.text, location))
    }

    /// For text that the grammar takes and PostgreSQL does not.
    #[cold]
    pub(super) fn syntax_error(&self, location: i32) -> SqlError {
        let rest = usize::try_from(location)
            .ok()
            .and_then(|start| self.text.get(start..))
            .unwrap_or("");
        let token = match crate::lexer::Lexer::new(rest).next_token() {
            Some(Ok(token)) => token.text(rest),
            _ => "",
        };
        self.error(
            state::SYNTAX_ERROR,
            format!("syntax error at or near \"{token}\""),
            location,
        )
    }

    /// A node where the grammar never puts one.
    #[cold]
    pub(super) fn unexpected(&self, node: Node<'_>, place: &str) -> SqlError {
        let shown = format!("{node:?}");
        let tag: String = shown
            .chars()
            .take_while(|c| c.is_alphanumeric() || *c == '_')
            .collect();
        SqlError::unsupported(format_args!("{tag} in {place}"))
    }

    /// Converts each node of a list.
    pub(super) fn each<T>(
        &mut self,
        list: &NodeList,
        mut convert: impl FnMut(&mut Self, Node<'_>) -> SqlResult<T>,
    ) -> SqlResult<Vec<T>> {
        // A loop and not `collect`, whose adapters would be on the stack at each level of the tree.
        let mut converted = Vec::with_capacity(list.len());
        for node in list {
            converted.push(convert(self, node)?);
        }
        Ok(converted)
    }

    pub(super) fn names(&self, list: &NodeList) -> SqlResult<Vec<Name>> {
        list.iter()
            .map(|node| match node {
                Node::String(name) => Ok(name.sval().unwrap_or_default().into()),
                other => Err(self.unexpected(other, "a name")),
            })
            .collect()
    }

    pub(super) fn qualified_name(&self, list: &NodeList, location: i32) -> SqlResult<QualifiedName> {
        Ok(QualifiedName {
            parts: self.names(list)?,
            location: Location(location),
        })
    }

    pub(super) fn optional_name(&self, list: &NodeList) -> SqlResult<Option<QualifiedName>> {
        if list.is_empty() {
            Ok(None)
        } else {
            self.qualified_name(list, -1).map(Some)
        }
    }

    pub(super) fn operator(&self, list: &NodeList, location: i32) -> SqlResult<OperatorName> {
        let mut parts = self.names(list)?;
        let name = parts.pop().unwrap_or_default();
        let schema = parts.pop();
        if !parts.is_empty() {
            return Err(self.error(
                state::SYNTAX_ERROR,
                format!("improper qualified name (too many dotted names): {name}"),
                location,
            ));
        }
        Ok(OperatorName { schema, name })
    }

    pub(super) fn type_name(&mut self, node: &nodes::TypeName) -> SqlResult<TypeName> {
        let location = Location(node.location);
        let modifiers = self.each(node.typmods(), |this, modifier| this.expr(modifier))?;
        let array_bounds = self.each(node.array_bounds(), |this, bound| match bound {
            Node::Integer(size) => Ok(size.ival),
            other => Err(this.unexpected(other, "array bounds")),
        })?;
        let name = QualifiedName {
            parts: self.names(uncast(node.names()))?,
            location,
        };
        let name = TypeName {
            name,
            modifiers,
            array_bounds,
            set_of: node.setof,
            percent_type: node.pct_type,
            location,
        };
        self.lowered.note_type(&name);
        Ok(name)
    }

    /// A type where the grammar always has one.
    pub(super) fn required_type(&mut self, node: Option<&nodes::TypeName>) -> SqlResult<TypeName> {
        match node {
            Some(node) => self.type_name(node),
            None => Err(SqlError::internal("the grammar left out a type name")),
        }
    }

    pub(super) fn relation_name(&self, node: &nodes::RangeVar) -> RelationName {
        RelationName {
            catalog: node.catalogname().map(Name::from),
            schema: node.schemaname().map(Name::from),
            name: node.relname().unwrap_or_default().into(),
            location: Location(node.location),
        }
    }

    /// The name of a relation, for statements whose grammar has neither ONLY nor an alias there.
    pub(super) fn required_relation(&self, node: Option<&nodes::RangeVar>) -> SqlResult<RelationName> {
        match node {
            Some(node) => Ok(self.relation_name(node)),
            None => Err(SqlError::internal("the grammar left out a relation name")),
        }
    }

    pub(super) fn relation_reference(&self, node: &nodes::RangeVar) -> SqlResult<RelationReference> {
        Ok(RelationReference {
            name: self.relation_name(node),
            only: !node.inh,
            alias: self.alias(node.alias())?,
            sample: None,
        })
    }

    pub(super) fn persistence(&self, node: &nodes::RangeVar) -> Persistence {
        match node.relpersistence as u8 {
            b't' => Persistence::Temporary,
            b'u' => Persistence::Unlogged,
            _ => Persistence::Permanent,
        }
    }

    pub(super) fn relation_list(&self, list: &NodeList) -> SqlResult<Vec<RelationName>> {
        list.iter()
            .map(|node| match node {
                Node::RangeVar(relation) => Ok(self.relation_name(relation)),
                other => Err(self.unexpected(other, "a list of relations")),
            })
            .collect()
    }

    pub(super) fn alias(&self, node: Option<&nodes::Alias>) -> SqlResult<Option<Alias>> {
        let Some(node) = node else { return Ok(None) };
        let name = node.aliasname().unwrap_or_default().into();
        Ok(Some(Alias {
            name,
            columns: self.names(node.colnames())?,
        }))
    }

    pub(super) fn role(&self, node: &nodes::RoleSpec) -> RoleSpecification {
        use raw::RoleSpecType::*;
        match node.roletype {
            ROLESPEC_CURRENT_ROLE => RoleSpecification::CurrentRole,
            ROLESPEC_CURRENT_USER => RoleSpecification::CurrentUser,
            ROLESPEC_SESSION_USER => RoleSpecification::SessionUser,
            ROLESPEC_PUBLIC => RoleSpecification::Public,
            _ => RoleSpecification::Name {
                name: node.rolename().unwrap_or_default().into(),
                location: Location(node.location),
            },
        }
    }

    pub(super) fn required_role(&self, node: Option<&nodes::RoleSpec>) -> SqlResult<RoleSpecification> {
        node.map(|node| self.role(node))
            .ok_or_else(|| SqlError::internal("the grammar left out a role"))
    }

    pub(super) fn roles(&self, list: &NodeList) -> SqlResult<Vec<RoleSpecification>> {
        list.iter()
            .map(|node| match node {
                Node::RoleSpec(role) => Ok(self.role(role)),
                other => Err(self.unexpected(other, "a list of roles")),
            })
            .collect()
    }

    pub(super) fn behavior(&self, behavior: raw::DropBehavior::Type) -> DropBehavior {
        match behavior {
            raw::DropBehavior::DROP_CASCADE => DropBehavior::Cascade,
            _ => DropBehavior::Restrict,
        }
    }

    /// A list of `name = value`.
    pub(super) fn options(&mut self, list: &NodeList) -> SqlResult<Vec<DefinitionOption>> {
        self.each(list, |this, node| match node {
            Node::DefElem(option) => this.option(option),
            other => Err(this.unexpected(other, "a list of options")),
        })
    }

    fn option(&mut self, node: &nodes::DefElem) -> SqlResult<DefinitionOption> {
        if node.defaction != raw::DefElemAction::DEFELEM_UNSPEC {
            return Err(self.unsupported("ADD, SET or DROP of an option", node.location));
        }
        let name = node.defname().unwrap_or_default();
        let value = match (name, node.arg()) {
            (_, Node::None) => None,
            ("owned_by" | "sequence_name", Node::NodeList(parts)) => {
                Some(OptionValue::Name(self.qualified_name(parts, node.location)?))
            }
            ("as", Node::TypeName(type_name)) => Some(OptionValue::Type(self.type_name(type_name)?)),
            (_, value) => Some(self.option_value(value)?),
        };
        Ok(DefinitionOption {
            namespace: node.defnamespace().map(Name::from),
            name: name.into(),
            value,
            location: Location(node.location),
        })
    }

    fn option_value(&mut self, node: Node<'_>) -> SqlResult<OptionValue> {
        Ok(match node {
            Node::Integer(value) => OptionValue::Integer(value.ival),
            Node::Float(value) => OptionValue::Number(value.fval().unwrap_or_default().into()),
            Node::Boolean(value) => OptionValue::Boolean(value.boolval),
            Node::String(value) => OptionValue::String(value.sval().unwrap_or_default().into()),
            Node::A_Star(_) => OptionValue::Star,
            Node::TypeName(name) => {
                let name = self.type_name(name)?;
                let bare = name.modifiers.is_empty()
                    && name.array_bounds.is_empty()
                    && !name.set_of
                    && !name.percent_type
                    && name.name.parts.len() == 1;
                if bare {
                    OptionValue::String(name.name.last().into())
                } else {
                    OptionValue::Type(name)
                }
            }
            Node::NodeList(list) if matches!(list.first(), Some(Node::RoleSpec(_))) => {
                OptionValue::Roles(self.roles(list)?)
            }
            Node::NodeList(list) => OptionValue::List(self.each(list, Self::option_value)?),
            Node::RoleSpec(role) => OptionValue::Roles(vec![self.role(role)]),
            Node::VariableSetStmt(set) => OptionValue::Set(Box::new(self.set_variable(set)?)),
            Node::A_Const(constant) => match self.constant(constant)? {
                Constant::Integer(value) => OptionValue::Integer(value),
                Constant::Number(digits) => OptionValue::Number(digits),
                Constant::String(text) => OptionValue::String(text),
                Constant::Boolean(value) => OptionValue::Boolean(value),
                _ => return Err(self.unexpected(node, "an option's value")),
            },
            Node::ParamRef(parameter) => return Err(self.syntax_error(parameter.location)),
            other => return Err(self.unexpected(other, "an option's value")),
        })
    }

    /// Refuses what the grammar, which is that of a later release, takes for a number and PostgreSQL 15 does not: other
    /// bases, and digits with underscores between them.
    fn check_number(&self, location: i32) -> SqlResult<()> {
        let written = usize::try_from(location)
            .ok()
            .and_then(|start| self.text.get(start..));
        let from_sign = written.unwrap_or("");
        // A negative number begins with its sign.
        let written = from_sign.trim_start_matches(['-', '+', ' ', '\t', '\r', '\n']);
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.') || !c.is_ascii();
        let token = &written[..written.find(|c| !is_part(c)).unwrap_or(written.len())];
        let based = token.len() > 1 && token.starts_with('0') && token.as_bytes()[1].is_ascii_alphabetic();
        if !token.contains('_') && (!based || matches!(token.as_bytes()[1], b'e' | b'E')) {
            return Ok(());
        }
        let message = format!("trailing junk after numeric literal at or near \"{token}\"");
        let location = location + (from_sign.len() - written.len()) as i32;
        Err(self.error(state::SYNTAX_ERROR, message, location))
    }

    pub(super) fn constant(&self, node: &nodes::A_Const) -> SqlResult<Constant> {
        if node.isnull {
            return Ok(Constant::Null);
        }
        Ok(match node.val() {
            Some(ConstValue::Integer(value)) => {
                self.check_number(node.location)?;
                Constant::Integer(value)
            }
            Some(ConstValue::Float(digits)) => {
                self.check_number(node.location)?;
                Constant::Number(digits.into())
            }
            Some(ConstValue::Boolean(value)) => Constant::Boolean(value),
            Some(ConstValue::String(text)) => Constant::String(text.into()),
            // The grammar marks the base in the first byte.
            Some(ConstValue::BitString(digits)) => match digits.split_at_checked(1) {
                Some(("b", digits)) => Constant::BitString(digits.into()),
                Some(("x", digits)) => Constant::HexString(digits.into()),
                _ => return Err(SqlError::internal("the grammar left out a bit string's base")),
            },
            _ => return Err(SqlError::internal("the grammar left out a constant's value")),
        })
    }
}

/// A list as one of any nodes. The crate guesses the kind of some lists from comments and panics where it guesses
/// wrong (GRANT's objects); reading them as plain nodes cannot panic.
pub(super) fn uncast<T>(list: &CastNodeList<T>) -> &NodeList {
    // SAFETY: `CastNodeList<T>` is `repr(transparent)` over `NodeList`; its other field is zero-sized.
    unsafe { &*std::ptr::from_ref(list).cast::<NodeList>() }
}

impl Converter<'_> {
    /// Runs `read`, which reads one type, and tells that as it is to be told.
    pub(super) fn told<T>(&mut self, told: Told, read: impl FnOnce(&mut Self) -> T) -> T {
        let known = self.lowered.noted.len();
        let result = read(self);
        self.lowered.tell(known, told);
        result
    }

    /// A type that is told without its place: in a signature.
    pub(super) fn unplaced_type(&mut self, node: &nodes::TypeName) -> SqlResult<TypeName> {
        self.told(Told::Unplaced, |this| this.type_name(node))
    }

    /// The type that a column gets: looked at before the table is rewritten and then, both times without its place.
    pub(super) fn changed_type(&mut self, node: Option<&nodes::TypeName>) -> SqlResult<TypeName> {
        self.told(Told::Unplaced, |this| {
            this.told(Told::Twice, |this| this.required_type(node))
        })
    }

    /// All there is to tell of the statement.
    pub(super) fn into_warnings(self) -> Vec<LoweredPrecision> {
        let mut warnings = self.lowered.noted;
        warnings.extend(self.lowered.again);
        warnings
    }
}
