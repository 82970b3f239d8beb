//! Other nodes: pg_stat_replication, pg_stat_wal_receiver, pg_replication_slots.

use mote_common::{Lsn, SqlResult};
use mote_types::Datum;
use mote_types::calendar::POSTGRES_EPOCH_UNIX_US;

use crate::views::facts::Facts;
use crate::views::row::{NULL, row};

fn lsn(lsn: Lsn) -> Datum {
    match lsn {
        Lsn::ZERO => NULL,
        Lsn(position) => Datum::Unsigned8(position),
    }
}

pub fn followers(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let followers = facts.cluster.map_or_else(Vec::new, |cluster| cluster.followers());
    let rows = followers.into_iter().map(|follower| {
        row![
            NULL,
            NULL,
            NULL,
            &follower.name,
            follower.client.ip().to_string(),
            NULL,
            i32::from(follower.client.port()),
            NULL,
            NULL,
            if follower.streaming {
                "streaming"
            } else {
                "catchup"
            },
            lsn(follower.sent),
            lsn(follower.received),
            lsn(follower.flushed),
            lsn(follower.applied),
            NULL,
            NULL,
            NULL,
            follower.priority as i32,
            follower.sync_state,
            NULL,
        ]
    });
    Ok(rows.collect())
}

pub fn slots(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let slots = facts.cluster.map_or_else(Vec::new, |cluster| cluster.slots());
    let rows = slots.into_iter().map(|slot| {
        row![
            &slot.name,
            NULL,
            "physical",
            NULL,
            NULL,
            slot.temporary.is_some(),
            slot.active,
            slot.temporary.map_or(NULL, |pid| Datum::Int4(pid as i32)),
            NULL,
            NULL,
            lsn(slot.position),
            NULL,
            slot.status.map_or(NULL, Datum::from),
            slot.room_bytes.map_or(NULL, |bytes| Datum::Int8(bytes as i64)),
            false,
        ]
    });
    Ok(rows.collect())
}

pub fn receiver(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let Some((cluster, primary)) = facts
        .cluster
        .and_then(|cluster| Some((cluster, cluster.primary()?)))
    else {
        return Ok(Vec::new());
    };
    let heard = Datum::TimestampTz(cluster.heard_us() - POSTGRES_EPOCH_UNIX_US);
    let term = primary.term as i32;
    Ok(vec![row![
        NULL,
        "streaming",
        lsn(primary.began),
        term,
        lsn(cluster.received()),
        lsn(cluster.flushed()),
        term,
        NULL,
        heard,
        NULL,
        NULL,
        &primary.name,
        &primary.host,
        i32::from(primary.port),
        NULL,
    ]])
}
