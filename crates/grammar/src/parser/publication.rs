//! CREATE and ALTER PUBLICATION.

use mote_common::SqlResult;
use pg_raw_parse::list::NodeList;
use pg_raw_parse::raw::{AlterPublicationAction, PublicationObjSpecType};
use pg_raw_parse::{Node, nodes};

use super::convert::{Converter, uncast};
use crate::ast::*;

impl Converter<'_> {
    pub(super) fn publication_objects(&mut self, list: &NodeList) -> SqlResult<Vec<PublicationObject>> {
        self.each(list, |this, node| match node {
            Node::PublicationObjSpec(object) => this.publication_object(object),
            other => Err(this.unexpected(other, "a list of what is published")),
        })
    }

    fn publication_object(&mut self, node: &nodes::PublicationObjSpec) -> SqlResult<PublicationObject> {
        // The grammar has made one of the others of each continuation.
        let Some(table) = node.pubtable() else {
            let current = node.pubobjtype == PublicationObjSpecType::PUBLICATIONOBJ_TABLES_IN_CUR_SCHEMA;
            let named = node.name().filter(|_| !current);
            return Ok(PublicationObject::Schema(named.map(Name::from)));
        };
        let columns = self.names(table.columns())?;
        let relation = table.relation();
        Ok(PublicationObject::Table(PublicationTable {
            only: relation.is_some_and(|relation| !relation.inh),
            relation: self.required_relation(relation)?,
            // The grammar has no empty list.
            columns: (!columns.is_empty()).then_some(columns),
            filtered: !matches!(table.where_clause(), Node::None),
        }))
    }

    pub(super) fn alter_publication(
        &mut self,
        node: &nodes::AlterPublicationStmt,
    ) -> SqlResult<AlterPublication> {
        let options = self.options(uncast(node.options()))?;
        let objects = self.publication_objects(node.pubobjects())?;
        Ok(AlterPublication {
            name: node.pubname().unwrap_or_default().into(),
            change: match node.action {
                _ if !options.is_empty() => PublicationChange::Options(options),
                AlterPublicationAction::AP_AddObjects => PublicationChange::Add(objects),
                AlterPublicationAction::AP_DropObjects => PublicationChange::Drop(objects),
                _ => PublicationChange::Set(objects),
            },
        })
    }
}
