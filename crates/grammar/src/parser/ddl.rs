//! Tables, constraints, partitions, indexes, sequences, views.

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use pg_raw_parse::list::NodeList;
use pg_raw_parse::{Node, nodes, raw};

use super::convert::{Converter, uncast};
use super::precision::Told;
use super::select::{nulls_order, sort_direction};
use crate::ast::*;

impl Converter<'_> {
    pub(super) fn create_table(&mut self, node: &nodes::CreateStmt) -> SqlResult<CreateTable> {
        let Some(relation) = node.relation() else {
            return Err(SqlError::internal("the grammar left out a table's name"));
        };
        let mut parents = self.relation_list(node.inh_relations())?;
        let partition_of = match node.partbound() {
            Some(bound) => {
                let Some(parent) = parents.pop() else {
                    return Err(SqlError::internal("the grammar left out a partition's parent"));
                };
                Some(PartitionOf {
                    parent,
                    bound: self.partition_bound(bound)?,
                })
            }
            None => None,
        };
        let mut table = CreateTable {
            name: self.relation_name(relation),
            persistence: self.persistence(relation),
            if_not_exists: node.if_not_exists,
            columns: Vec::new(),
            constraints: self.constraints(uncast(node.constraints()))?,
            like: Vec::new(),
            element_order: Vec::new(),
            inherits: parents,
            partition_by: match node.partspec() {
                Some(specification) => Some(self.partition_by(specification)?),
                None => None,
            },
            partition_of,
            of_type: match node.of_typename() {
                Some(type_name) => Some(self.type_name(type_name)?),
                None => None,
            },
            options: self.options(node.options())?,
            on_commit: on_commit(node.oncommit),
            tablespace: node.tablespacename().map(Name::from),
            access_method: node.access_method().map(Name::from),
        };
        for element in node.table_elts() {
            match element {
                Node::ColumnDef(column) => {
                    table
                        .element_order
                        .push(TableElement::Column(table.columns.len()));
                    table.columns.push(self.column_definition(column, Told::Twice)?);
                }
                Node::TableLikeClause(like) => {
                    table.element_order.push(TableElement::Like(table.like.len()));
                    table.like.push(self.table_like(like)?);
                }
                Node::Constraint(constraint) => table.constraints.push(self.constraint(constraint)?),
                other => return Err(self.unexpected(other, "CREATE TABLE")),
            }
        }
        Ok(table)
    }

    pub(super) fn column_definition(
        &mut self,
        node: &nodes::ColumnDef,
        told: Told,
    ) -> SqlResult<ColumnDefinition> {
        if !node.fdwoptions().is_empty() {
            return Err(self.unsupported("OPTIONS of a column", node.location));
        }
        Ok(ColumnDefinition {
            name: node.colname().unwrap_or_default().into(),
            type_name: match node.type_name() {
                Some(type_name) => Some(self.told(told, |this| this.type_name(type_name))?),
                None => None,
            },
            collation: self.collation(node.coll_clause())?,
            compression: node.compression().map(Name::from),
            storage: node.storage_name().map(Name::from),
            constraints: self.constraints(node.constraints())?,
            location: Location(node.location),
        })
    }

    pub(super) fn collation(&self, node: Option<&nodes::CollateClause>) -> SqlResult<Option<QualifiedName>> {
        node.map(|node| self.qualified_name(node.collname(), node.location))
            .transpose()
    }

    /// Constraints in a row. DEFERRABLE and its kin arrive on columns as items of their own, which belong to the
    /// constraint in front of them.
    pub(super) fn constraints(&mut self, list: &NodeList) -> SqlResult<Vec<Constraint>> {
        let mut constraints: Vec<Constraint> = Vec::with_capacity(list.len());
        let mut immediate = false;
        for node in list {
            let Node::Constraint(node) = node else {
                return Err(self.unexpected(node, "a list of constraints"));
            };
            match node.contype {
                raw::ConstrType::CONSTR_ATTR_NOT_DEFERRABLE => immediate = true,
                raw::ConstrType::CONSTR_ATTR_DEFERRED if immediate => {
                    return Err(self.deferred_not_deferrable(node.location));
                }
                _ => {}
            }
            if !self.fold_attribute(node, constraints.last_mut())? {
                immediate = false;
                constraints.push(self.constraint(node)?);
            }
        }
        Ok(constraints)
    }

    /// Whether `node` was an attribute of the constraint in front of it.
    fn fold_attribute(&self, node: &nodes::Constraint, last: Option<&mut Constraint>) -> SqlResult<bool> {
        use raw::ConstrType::*;
        let clause = match node.contype {
            CONSTR_ATTR_DEFERRABLE => "DEFERRABLE",
            CONSTR_ATTR_NOT_DEFERRABLE => "NOT DEFERRABLE",
            CONSTR_ATTR_DEFERRED => "INITIALLY DEFERRED",
            CONSTR_ATTR_IMMEDIATE => "INITIALLY IMMEDIATE",
            CONSTR_ATTR_ENFORCED => "ENFORCED",
            CONSTR_ATTR_NOT_ENFORCED => "NOT ENFORCED",
            _ => return Ok(false),
        };
        let deferral = !clause.ends_with("ENFORCED");
        let last = last.filter(|last| match last.kind {
            ConstraintKind::ForeignKey(_) => true,
            ConstraintKind::PrimaryKey(_) | ConstraintKind::Unique(_) | ConstraintKind::Exclude(_) => {
                deferral
            }
            ConstraintKind::Check(_) => !deferral,
            _ => false,
        });
        let Some(last) = last else {
            return Err(self.error(
                state::SYNTAX_ERROR,
                format!("misplaced {clause} clause"),
                node.location,
            ));
        };
        match node.contype {
            CONSTR_ATTR_DEFERRABLE => last.deferrable = true,
            CONSTR_ATTR_NOT_DEFERRABLE => {
                if last.initially_deferred {
                    return Err(self.deferred_not_deferrable(node.location));
                }
                last.deferrable = false;
            }
            CONSTR_ATTR_DEFERRED => {
                // INITIALLY DEFERRED alone means DEFERRABLE too.
                last.deferrable = true;
                last.initially_deferred = true;
            }
            CONSTR_ATTR_IMMEDIATE => last.initially_deferred = false,
            CONSTR_ATTR_ENFORCED => last.not_enforced = false,
            _ => last.not_enforced = true,
        }
        Ok(true)
    }

    #[cold]
    fn deferred_not_deferrable(&self, location: i32) -> SqlError {
        let message = "constraint declared INITIALLY DEFERRED must be DEFERRABLE";
        self.error(state::SYNTAX_ERROR, message, location)
    }

    pub(super) fn constraint(&mut self, node: &nodes::Constraint) -> SqlResult<Constraint> {
        use raw::ConstrType::*;
        let enforceable = matches!(node.contype, CONSTR_CHECK | CONSTR_FOREIGN);
        let kind = match node.contype {
            CONSTR_NULL => ConstraintKind::Null,
            CONSTR_NOTNULL => ConstraintKind::NotNull {
                column: self.names(node.keys())?.pop(),
            },
            CONSTR_DEFAULT => ConstraintKind::Default(self.expr(node.raw_expr())?),
            CONSTR_CHECK => ConstraintKind::Check(self.expr(node.raw_expr())?),
            CONSTR_IDENTITY => ConstraintKind::Identity {
                always: node.generated_when as u8 == b'a',
                options: self.options(node.options())?,
            },
            CONSTR_GENERATED => ConstraintKind::Generated {
                expression: self.expr(node.raw_expr())?,
                stored: node.generated_kind as u8 != b'v',
            },
            CONSTR_PRIMARY => ConstraintKind::PrimaryKey(self.key_constraint(node)?),
            CONSTR_UNIQUE => ConstraintKind::Unique(self.key_constraint(node)?),
            CONSTR_FOREIGN => ConstraintKind::ForeignKey(self.foreign_key(node)?),
            CONSTR_EXCLUSION => ConstraintKind::Exclude(Box::new(self.exclusion(node)?)),
            _ => return Err(self.unexpected(Node::Constraint(node), "a constraint")),
        };
        Ok(Constraint {
            name: node.conname().map(Name::from),
            kind,
            deferrable: node.deferrable,
            initially_deferred: node.initdeferred,
            not_valid: enforceable && node.skip_validation && node.is_enforced,
            no_inherit: node.is_no_inherit,
            not_enforced: enforceable && !node.is_enforced,
            location: Location(node.location),
        })
    }

    fn key_constraint(&mut self, node: &nodes::Constraint) -> SqlResult<KeyConstraint> {
        Ok(KeyConstraint {
            columns: self.names(node.keys())?,
            include: self.names(node.including())?,
            nulls_not_distinct: node.nulls_not_distinct,
            without_overlaps: node.without_overlaps,
            existing_index: node.indexname().map(Name::from),
            options: self.options(node.options())?,
            tablespace: node.indexspace().map(Name::from),
        })
    }

    fn foreign_key(&mut self, node: &nodes::Constraint) -> SqlResult<ForeignKey> {
        if node.fk_with_period || node.pk_with_period {
            return Err(self.unsupported("PERIOD in FOREIGN KEY", node.location));
        }
        Ok(ForeignKey {
            columns: self.names(node.fk_attrs())?,
            referenced_table: self.required_relation(node.pktable())?,
            referenced_columns: self.names(node.pk_attrs())?,
            match_type: match node.fk_matchtype as u8 {
                b'f' => MatchType::Full,
                b'p' => MatchType::Partial,
                _ => MatchType::Simple,
            },
            on_update: referential_action(node.fk_upd_action as u8),
            on_delete: referential_action(node.fk_del_action as u8),
            on_delete_columns: self.names(node.fk_del_set_cols())?,
        })
    }

    fn exclusion(&mut self, node: &nodes::Constraint) -> SqlResult<Exclusion> {
        if let Some(tablespace) = node.indexspace() {
            return Err(self.unsupported(&format!("USING INDEX TABLESPACE {tablespace}"), node.location));
        }
        let elements = self.each(node.exclusions(), |this, pair| {
            let Node::NodeList(pair) = pair else {
                return Err(this.unexpected(pair, "EXCLUDE"));
            };
            match (pair.get(0), pair.get(1)) {
                (Some(Node::IndexElem(element)), Some(Node::NodeList(operator))) => Ok((
                    this.index_element(element)?,
                    this.operator(operator, node.location)?,
                )),
                _ => Err(this.unexpected(Node::NodeList(pair), "EXCLUDE")),
            }
        })?;
        Ok(Exclusion {
            access_method: node.access_method().unwrap_or("gist").into(),
            elements,
            include: self.names(node.including())?,
            filter: self.optional(node.where_clause())?,
            options: self.options(node.options())?,
        })
    }

    fn table_like(&mut self, node: &nodes::TableLikeClause) -> SqlResult<TableLike> {
        use raw::TableLikeOption::*;
        let has = |option| node.options & option != 0;
        Ok(TableLike {
            table: self.required_relation(node.relation())?,
            comments: has(CREATE_TABLE_LIKE_COMMENTS),
            compression: has(CREATE_TABLE_LIKE_COMPRESSION),
            constraints: has(CREATE_TABLE_LIKE_CONSTRAINTS),
            defaults: has(CREATE_TABLE_LIKE_DEFAULTS),
            generated: has(CREATE_TABLE_LIKE_GENERATED),
            identity: has(CREATE_TABLE_LIKE_IDENTITY),
            indexes: has(CREATE_TABLE_LIKE_INDEXES),
            statistics: has(CREATE_TABLE_LIKE_STATISTICS),
            storage: has(CREATE_TABLE_LIKE_STORAGE),
        })
    }

    fn partition_by(&mut self, node: &nodes::PartitionSpec) -> SqlResult<PartitionBy> {
        use raw::PartitionStrategy::*;
        Ok(PartitionBy {
            strategy: match node.strategy {
                PARTITION_STRATEGY_LIST => PartitionStrategy::List,
                PARTITION_STRATEGY_RANGE => PartitionStrategy::Range,
                _ => PartitionStrategy::Hash,
            },
            elements: self.each(uncast(node.part_params()), |this, element| {
                let Node::PartitionElem(element) = element else {
                    return Err(this.unexpected(element, "PARTITION BY"));
                };
                let value = match element.name() {
                    Some(name) => Expr {
                        kind: ExprKind::Column(ColumnReference {
                            parts: vec![name.into()],
                            star: false,
                        }),
                        location: Location(element.location),
                    },
                    None => this.expr(element.expr())?,
                };
                Ok(PartitionElement {
                    value,
                    collation: this.optional_name(element.collation())?,
                    operator_class: this.optional_name(element.opclass())?,
                })
            })?,
            location: Location(node.location),
        })
    }

    pub(super) fn partition_bound(&mut self, node: &nodes::PartitionBoundSpec) -> SqlResult<PartitionBound> {
        let kind = match node.strategy as u8 {
            _ if node.is_default => PartitionBoundKind::Default,
            b'h' => PartitionBoundKind::Hash {
                modulus: node.modulus,
                remainder: node.remainder,
            },
            b'l' => PartitionBoundKind::In(self.exprs(node.listdatums())?),
            _ => PartitionBoundKind::Range {
                from: self.each(node.lowerdatums(), Self::range_datum)?,
                to: self.each(node.upperdatums(), Self::range_datum)?,
            },
        };
        Ok(PartitionBound {
            kind,
            location: Location(node.location),
        })
    }

    /// MINVALUE and MAXVALUE arrive as column names, which is how PostgreSQL tells them too.
    fn range_datum(&mut self, node: Node<'_>) -> SqlResult<PartitionRangeDatum> {
        let value = self.expr(node)?;
        if let ExprKind::Column(ColumnReference { parts, star: false }) = &value.kind {
            match parts.as_slice() {
                [name] if &**name == "minvalue" => return Ok(PartitionRangeDatum::MinValue),
                [name] if &**name == "maxvalue" => return Ok(PartitionRangeDatum::MaxValue),
                _ => {}
            }
        }
        Ok(PartitionRangeDatum::Value(value))
    }

    /// `source` was converted before: `CREATE TABLE AS`'s query or SELECT INTO's own statement.
    pub(super) fn create_table_as(
        &mut self,
        into: &nodes::IntoClause,
        source: Statement,
        if_not_exists: bool,
        materialized_view: bool,
    ) -> SqlResult<CreateTableAs> {
        let Some(relation) = into.rel() else {
            return Err(SqlError::internal("the grammar left out a table's name"));
        };
        Ok(CreateTableAs {
            name: self.relation_name(relation),
            columns: self.names(into.col_names())?,
            persistence: self.persistence(relation),
            if_not_exists,
            materialized_view,
            source,
            with_data: !into.skip_data,
            options: self.options(into.options())?,
            on_commit: on_commit(into.on_commit),
            tablespace: into.table_space_name().map(Name::from),
            access_method: into.access_method().map(Name::from),
        })
    }

    pub(super) fn create_index(&mut self, node: &nodes::IndexStmt) -> SqlResult<CreateIndex> {
        let Some(relation) = node.relation() else {
            return Err(SqlError::internal("the grammar left out a table's name"));
        };
        let elements = |this: &mut Self, list: &NodeList| {
            this.each(list, |this, element| match element {
                Node::IndexElem(element) => this.index_element(element),
                other => Err(this.unexpected(other, "CREATE INDEX")),
            })
        };
        Ok(CreateIndex {
            name: node.idxname().map(Name::from),
            table: self.relation_name(relation),
            only: !relation.inh,
            unique: node.unique,
            nulls_not_distinct: node.nulls_not_distinct,
            concurrently: node.concurrent,
            if_not_exists: node.if_not_exists,
            access_method: node.access_method().unwrap_or("btree").into(),
            elements: elements(self, uncast(node.index_params()))?,
            include: elements(self, node.index_including_params())?,
            filter: self.optional(node.where_clause())?,
            options: self.options(uncast(node.options()))?,
            tablespace: node.table_space().map(Name::from),
        })
    }

    fn index_element(&mut self, node: &nodes::IndexElem) -> SqlResult<IndexElement> {
        Ok(IndexElement {
            value: match node.name() {
                Some(name) => IndexValue::Column(name.into()),
                None => IndexValue::Expr(self.expr(node.expr())?),
            },
            collation: self.optional_name(node.collation())?,
            operator_class: self.optional_name(node.opclass())?,
            operator_class_options: self.options(node.opclassopts())?,
            direction: sort_direction(node.ordering),
            nulls: nulls_order(node.nulls_ordering),
        })
    }

    pub(super) fn create_sequence(&mut self, node: &nodes::CreateSeqStmt) -> SqlResult<CreateSequence> {
        let Some(relation) = node.sequence() else {
            return Err(SqlError::internal("the grammar left out a sequence's name"));
        };
        Ok(CreateSequence {
            name: self.relation_name(relation),
            persistence: self.persistence(relation),
            if_not_exists: node.if_not_exists,
            options: self.options(node.options())?,
        })
    }

    pub(super) fn create_view(&mut self, node: &nodes::ViewStmt) -> SqlResult<CreateView> {
        let Some(relation) = node.view() else {
            return Err(SqlError::internal("the grammar left out a view's name"));
        };
        let Node::SelectStmt(select) = node.query() else {
            return Err(self.unexpected(node.query(), "CREATE VIEW"));
        };
        Ok(CreateView {
            name: self.relation_name(relation),
            persistence: self.persistence(relation),
            or_replace: node.replace,
            columns: self.names(node.aliases())?,
            query: Box::new(self.query(select)?),
            options: self.options(node.options())?,
            check_option: match node.with_check_option {
                raw::ViewCheckOption::LOCAL_CHECK_OPTION => ViewCheckOption::Local,
                raw::ViewCheckOption::CASCADED_CHECK_OPTION => ViewCheckOption::Cascaded,
                _ => ViewCheckOption::None,
            },
        })
    }
}

fn referential_action(code: u8) -> ReferentialAction {
    match code {
        b'r' => ReferentialAction::Restrict,
        b'c' => ReferentialAction::Cascade,
        b'n' => ReferentialAction::SetNull,
        b'd' => ReferentialAction::SetDefault,
        _ => ReferentialAction::NoAction,
    }
}

fn on_commit(action: raw::OnCommitAction::Type) -> OnCommit {
    match action {
        raw::OnCommitAction::ONCOMMIT_DELETE_ROWS => OnCommit::DeleteRows,
        raw::OnCommitAction::ONCOMMIT_DROP => OnCommit::Drop,
        _ => OnCommit::PreserveRows,
    }
}
