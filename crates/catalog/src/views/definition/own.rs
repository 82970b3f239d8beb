//! Relations that PostgreSQL does not have: what mote tells of its checkpoints, of its last start and of its cluster.
//!
//! They stand in pg_catalog, and their names begin with `mote_`. See `definition` for how to read a line.

use super::{Definition, filled};
use crate::views::rows::{durability, nodes};

#[rustfmt::skip]
pub(super) const RELATIONS: &[Definition] = &[
    // One row. `running` to `finished_at` tell of the checkpoint that is under way, or of the last one; `checkpoints`,
    // `failures` and the totals count since the server started; `last_error` is empty unless the last attempt failed.
    filled(15000, "mote_stat_checkpoint",
        "running:bool segments_total:int8 segments_done:int8 bytes_written:int8 started_at:timestamptz \
         finished_at:timestamptz checkpoints:int8 failures:int8 last_error:text images_total:int8 bytes_total:int8 \
         live_image_bytes:int8 log_file_bytes:int8 covered_lsn:pg_lsn log_start_lsn:pg_lsn log_stable_lsn:pg_lsn",
        durability::checkpoint),
    // One row: what the server did when it started.
    filled(15001, "mote_stat_recovery",
        "threads:int4 image_bytes:int8 image_rows:int8 log_bytes:int8 log_transactions:int8 log_changes:int8 \
         log_changes_skipped:int8 index_entries:int8 read_log_s:float8 load_images_s:float8 replay_s:float8 \
         build_indexes_s:float8 total_s:float8",
        durability::recovery),
    // A row for each node of the cluster that this one belongs to, as it has read the record last; none outside of a
    // cluster. `needed`: voters that must have a commit before it counts. The positions are known to the leader alone.
    filled(15002, "mote_stat_cluster",
        "name:text directory:text host:text port:int4 part:text own:bool term:int4 needed:int4 changes:int8 \
         connected:bool flush_lsn:pg_lsn replay_lsn:pg_lsn read_at:timestamptz",
        nodes::members),
];
