//! The stored form of an object: JSON in one variable column, so that a later release can add fields.
//!
//! A field that is added needs `#[serde(default)]`; one that is taken away must still be readable for one release.
//! Texts of expressions are kept as the deparser prints them and bound again when the description is built.
//!
//! The list of kinds stands here, each kind in a file of the folder.

use mote_common::Oid;
use serde::{Deserialize, Serialize};

use super::revision::Revision;

mod acl;
mod cast;
mod cluster_settings;
mod column;
mod constraint;
mod database;
mod default_acl;
mod index;
mod partition;
mod publication;
mod relation;
mod role;
mod routine;
mod statistics;
mod user_type;

pub use acl::{StoredAcl, acl_from_bytes, acl_to_bytes};
pub use cast::{StoredCast, StoredCastContext};
pub use cluster_settings::StoredClusterSettings;
pub use column::{StoredColumn, StoredInheritance};
pub use constraint::{
    StoredAction, StoredConstraint, StoredConstraintKind, StoredConstraintTrigger, StoredForeignKey,
    StoredTiming, StoredTrigger,
};
pub use database::{StoredDatabase, StoredExtension, StoredLargeObjects, StoredSchema};
pub use default_acl::{DefaultAclKey, StoredDefaultAcl};
pub use index::{StoredIndex, StoredIndexKey};
pub use partition::{
    StoredBound, StoredPartition, StoredPartitionKey, StoredPartitioning, StoredRangeDatum, StoredStrategy,
};
pub use publication::{StoredOperations, StoredPublication, StoredPublished};
pub use relation::{StoredKind, StoredOnCommit, StoredRelation, StoredReplicaIdentity, StoredSequence};
pub use role::StoredRole;
pub use routine::{StoredArgument, StoredRoutine};
pub use statistics::{StoredColumnStatistics, StoredStatistics};
pub use user_type::{
    StoredAttribute, StoredDomain, StoredDomainCheck, StoredLabel, StoredRange, StoredType, StoredUserType,
};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum StoredObject {
    Database(StoredDatabase),
    Schema(StoredSchema),
    Role(StoredRole),
    Relation(StoredRelation),
    Routine(StoredRoutine),
    Type(StoredUserType),
    Extension(StoredExtension),
    Publication(StoredPublication),
    Cast(StoredCast),
    DefaultAcl(StoredDefaultAcl),
    ClusterSettings(StoredClusterSettings),
    Statistics(StoredStatistics),
}

impl StoredObject {
    pub fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("stored objects hold nothing that JSON cannot")
    }

    pub fn decode(bytes: &[u8]) -> Result<StoredObject, serde_json::Error> {
        serde_json::from_slice(bytes)
    }

    pub fn oid(&self) -> Oid {
        self.object().oid()
    }

    pub fn revision(&self) -> Revision {
        self.object().revision()
    }

    /// It is a state of its own from here on.
    pub fn renew(&mut self) {
        self.object_mut().renew();
    }
}

/// What was so before a field told.
fn yes() -> bool {
    true
}
