//! INSERT, UPDATE, DELETE, MERGE.

use mote_common::{SqlError, SqlResult};
use pg_raw_parse::list::NodeList;
use pg_raw_parse::{Node, nodes, raw};

use super::convert::{Converter, uncast};
use crate::ast::*;

impl Converter<'_> {
    /// The table that a statement changes, with its alias.
    fn changed_table(&mut self, node: Option<&nodes::RangeVar>) -> SqlResult<RelationReference> {
        match node {
            Some(node) => self.relation_reference(node),
            None => Err(SqlError::internal("the grammar left out a statement's table")),
        }
    }

    pub(super) fn insert(&mut self, node: &nodes::InsertStmt) -> SqlResult<Insert> {
        Ok(Insert {
            with: self.with(node.with_clause())?,
            table: self.changed_table(node.relation())?,
            columns: self.column_targets(node.cols())?,
            overriding: overriding(node.override_),
            source: match node.select_stmt() {
                Node::None => InsertSource::DefaultValues,
                Node::SelectStmt(select) => InsertSource::Query(Box::new(self.query(select)?)),
                other => return Err(self.unexpected(other, "INSERT")),
            },
            on_conflict: match node.on_conflict_clause() {
                Some(clause) => Some(self.on_conflict(clause)?),
                None => None,
            },
            returning: self.returning(node.returning_clause())?,
        })
    }

    fn column_targets(&mut self, list: &NodeList) -> SqlResult<Vec<ColumnTarget>> {
        self.each(list, |this, node| match node {
            Node::ResTarget(target) => this.column_target(target),
            other => Err(this.unexpected(other, "a column list")),
        })
    }

    fn column_target(&mut self, target: &nodes::ResTarget) -> SqlResult<ColumnTarget> {
        Ok(ColumnTarget {
            name: target.name().unwrap_or_default().into(),
            indirection: self.indirection_steps(target.indirection())?,
            location: Location(target.location),
        })
    }

    fn on_conflict(&mut self, node: &nodes::OnConflictClause) -> SqlResult<OnConflict> {
        let target = match node.infer() {
            None => None,
            Some(infer) => Some(match infer.conname() {
                Some(name) => ConflictTarget::Constraint(name.into()),
                None => ConflictTarget::Index {
                    elements: self.each(infer.index_elems(), Self::conflict_element)?,
                    filter: self.optional(infer.where_clause())?,
                    location: Location(infer.location),
                },
            }),
        };
        let action = if node.action == raw::OnConflictAction::ONCONFLICT_UPDATE {
            ConflictAction::Update {
                assignments: self.assignments(uncast(node.target_list()))?,
                filter: self.optional(node.where_clause())?,
            }
        } else {
            ConflictAction::Nothing
        };
        Ok(OnConflict {
            target,
            action,
            location: Location(node.location),
        })
    }

    fn conflict_element(&mut self, node: Node<'_>) -> SqlResult<ConflictElement> {
        let Node::IndexElem(element) = node else {
            return Err(self.unexpected(node, "ON CONFLICT"));
        };
        let value = match element.name() {
            Some(name) => Expr {
                kind: ExprKind::Column(ColumnReference {
                    parts: vec![name.into()],
                    star: false,
                }),
                location: Location::NONE,
            },
            None => self.expr(element.expr())?,
        };
        if element.ordering != raw::SortByDir::SORTBY_DEFAULT {
            return Err(self.error(
                mote_common::error::state::INVALID_COLUMN_REFERENCE,
                "ASC/DESC is not allowed in ON CONFLICT clause",
                value.location.0,
            ));
        }
        if element.nulls_ordering != raw::SortByNulls::SORTBY_NULLS_DEFAULT {
            return Err(self.error(
                mote_common::error::state::INVALID_COLUMN_REFERENCE,
                "NULLS FIRST/LAST is not allowed in ON CONFLICT clause",
                value.location.0,
            ));
        }
        if !element.opclassopts().is_empty() {
            return Err(self.unsupported("operator class options in ON CONFLICT", -1));
        }
        Ok(ConflictElement {
            location: value.location,
            value,
            collation: self.optional_name(element.collation())?,
            operator_class: self.optional_name(element.opclass())?,
        })
    }

    fn returning(&mut self, node: Option<&nodes::ReturningClause>) -> SqlResult<Option<Returning>> {
        let Some(node) = node else { return Ok(None) };
        let (mut old_alias, mut new_alias) = (None, None);
        for option in uncast(node.options()) {
            let Node::ReturningOption(option) = option else {
                return Err(self.unexpected(option, "RETURNING"));
            };
            let old = option.option == raw::ReturningOptionKind::RETURNING_OPTION_OLD;
            let (slot, word) = if old {
                (&mut old_alias, "OLD")
            } else {
                (&mut new_alias, "NEW")
            };
            if slot
                .replace(Name::from(option.value().unwrap_or_default()))
                .is_some()
            {
                let message = format!("{word} cannot be specified multiple times");
                return Err(self.error(mote_common::error::state::SYNTAX_ERROR, message, option.location));
            }
        }
        Ok(Some(Returning {
            old_alias,
            new_alias,
            targets: self.targets(node.exprs())?,
        }))
    }

    /// SET items. `(a, b) = source` arrives as one item a column, all with the same source.
    fn assignments(&mut self, list: &NodeList) -> SqlResult<Vec<Assignment>> {
        let mut assignments = Vec::with_capacity(list.len());
        let mut items = list.iter();
        while let Some(item) = items.next() {
            let Node::ResTarget(target) = item else {
                return Err(self.unexpected(item, "SET"));
            };
            let Node::MultiAssignRef(multiple) = target.val() else {
                let value = self.expr(target.val())?;
                assignments.push(Assignment::Single {
                    column: self.column_target(target)?,
                    value,
                });
                continue;
            };
            let source = self.expr(multiple.source())?;
            let mut columns = vec![self.column_target(target)?];
            for _ in 1..multiple.ncolumns {
                match items.next() {
                    Some(Node::ResTarget(target)) => columns.push(self.column_target(target)?),
                    other => return Err(self.unexpected(other.unwrap_or(Node::None), "SET")),
                }
            }
            assignments.push(Assignment::Multiple { columns, source });
        }
        Ok(assignments)
    }

    pub(super) fn update(&mut self, node: &nodes::UpdateStmt) -> SqlResult<Update> {
        Ok(Update {
            with: self.with(node.with_clause())?,
            table: self.changed_table(node.relation())?,
            assignments: self.assignments(uncast(node.target_list()))?,
            from: self.from_list(node.from_clause())?,
            filter: self.optional(node.where_clause())?,
            returning: self.returning(node.returning_clause())?,
        })
    }

    pub(super) fn delete(&mut self, node: &nodes::DeleteStmt) -> SqlResult<Delete> {
        Ok(Delete {
            with: self.with(node.with_clause())?,
            table: self.changed_table(node.relation())?,
            using: self.from_list(node.using_clause())?,
            filter: self.optional(node.where_clause())?,
            returning: self.returning(node.returning_clause())?,
        })
    }

    pub(super) fn merge(&mut self, node: &nodes::MergeStmt) -> SqlResult<Merge> {
        Ok(Merge {
            with: self.with(node.with_clause())?,
            table: self.changed_table(node.relation())?,
            source: self.from_item(node.source_relation())?,
            condition: self.expr(node.join_condition())?,
            branches: self.each(uncast(node.merge_when_clauses()), |this, node| match node {
                Node::MergeWhenClause(clause) => this.merge_branch(clause),
                other => Err(this.unexpected(other, "MERGE")),
            })?,
            returning: self.returning(node.returning_clause())?,
        })
    }

    fn merge_branch(&mut self, node: &nodes::MergeWhenClause) -> SqlResult<MergeBranch> {
        use raw::MergeMatchKind::*;
        let when = match node.match_kind {
            MERGE_WHEN_MATCHED => MergeMatch::Matched,
            MERGE_WHEN_NOT_MATCHED_BY_SOURCE => MergeMatch::NotMatchedBySource,
            _ => MergeMatch::NotMatchedByTarget,
        };
        let condition = self.optional(node.condition())?;
        let action = match node.command_type {
            raw::CmdType::CMD_NOTHING => MergeAction::DoNothing,
            raw::CmdType::CMD_DELETE => MergeAction::Delete,
            raw::CmdType::CMD_UPDATE => MergeAction::Update(self.assignments(node.target_list())?),
            _ => MergeAction::Insert {
                columns: self.column_targets(node.target_list())?,
                overriding: overriding(node.override_),
                values: self.exprs(node.values())?,
            },
        };
        Ok(MergeBranch {
            when,
            condition,
            action,
        })
    }
}

fn overriding(kind: raw::OverridingKind::Type) -> Overriding {
    match kind {
        raw::OverridingKind::OVERRIDING_USER_VALUE => Overriding::User,
        raw::OverridingKind::OVERRIDING_SYSTEM_VALUE => Overriding::System,
        _ => Overriding::None,
    }
}
