//! Other nodes: pg_stat_replication, pg_stat_wal_receiver, pg_replication_slots, mote_stat_cluster.

use mote_common::{Lsn, SqlResult};
use mote_types::Datum;
use mote_types::calendar::POSTGRES_EPOCH_UNIX_US;

use crate::cluster::{Cluster, MemberFacts, MemberPart};
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
            follower
                .client
                .map_or(NULL, |client| Datum::from(client.ip().to_string())),
            NULL,
            // PostgreSQL's number for a Unix socket.
            follower.client.map_or(-1, |client| i32::from(client.port())),
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
        let logical = slot.logical;
        let database = logical.and_then(|(oid, _)| facts.catalog.databases.get(&oid));
        let user = slot.user.or(slot.temporary.filter(|_| logical.is_none()));
        row![
            &slot.name,
            if logical.is_some() {
                Datum::from("pgoutput")
            } else {
                NULL
            },
            if logical.is_some() { "logical" } else { "physical" },
            logical.map_or(NULL, |(oid, _)| Datum::Oid(oid.0)),
            database.map_or(NULL, |database| Datum::from(database.object.name.as_str())),
            slot.temporary.is_some(),
            slot.active,
            user.map_or(NULL, |pid| Datum::Int4(pid as i32)),
            NULL,
            NULL,
            lsn(slot.position),
            logical.map_or(NULL, |(_, confirmed)| lsn(confirmed)),
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
        heard.clone(),
        // What it has told the primary last is what is durable here, in answer to what it heard.
        lsn(cluster.flushed()),
        heard,
        &primary.name,
        &primary.host,
        i32::from(primary.port),
        format!(
            "host={} port={} application_name={}",
            primary.host, primary.port, primary.name
        ),
    ]])
}

/// mote_stat_cluster.
pub fn members(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    Ok(facts.cluster.map_or_else(Vec::new, member_rows))
}

fn member_rows(cluster: &Cluster) -> Vec<Vec<Datum>> {
    let Some(all) = cluster.members() else {
        return Vec::new();
    };
    let mut members = all.members.iter();
    let leads = members.any(|member| member.own && member.part == MemberPart::Leads);
    // Who led before may still know of streams.
    let streams = match leads {
        true => cluster.followers(),
        false => Vec::new(),
    };
    let row_of = |member: &MemberFacts| {
        let name = member.name.as_deref();
        let stream = streams.iter().find(|stream| name == Some(&stream.name));
        let known = !member.host.is_empty();
        row![
            name,
            format!("{:016x}", member.directory),
            known.then_some(member.host.as_str()),
            known.then_some(i32::from(member.port)),
            member.part.name(),
            member.own,
            all.term as i32,
            all.needed as i32,
            all.changes as i64,
            (leads && !member.own).then_some(stream.is_some()),
            stream.map(|stream| lsn(stream.flushed)),
            stream.map(|stream| lsn(stream.applied)),
            Datum::TimestampTz(all.read_us - POSTGRES_EPOCH_UNIX_US),
        ]
    };
    all.members.iter().map(row_of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::ClusterFacts;

    fn member(name: Option<&str>, directory: u64, part: MemberPart, own: bool) -> MemberFacts {
        MemberFacts {
            name: name.map(str::to_string),
            directory,
            host: name.map_or(String::new(), |_| "10.0.0.1".into()),
            port: 5432,
            part,
            own,
        }
    }

    #[test]
    fn a_node_shows_its_cluster_as_it_was_read_last() {
        let cluster = Cluster::default();
        assert!(member_rows(&cluster).is_empty());
        cluster.note_members(ClusterFacts {
            term: 4,
            needed: 1,
            changes: 9,
            members: vec![
                member(Some("a"), 1, MemberPart::Leads, false),
                member(None, 2, MemberPart::Votes, false),
                member(Some("c"), 3, MemberPart::Follows, true),
            ],
            read_us: POSTGRES_EPOCH_UNIX_US + 5,
        });
        let rows = member_rows(&cluster);
        let shown = |row: usize, columns: &[usize]| {
            let cells: Vec<&Datum> = columns.iter().map(|column| &rows[row][*column]).collect();
            format!("{cells:?}")
        };
        let expected = |cells: &[Datum]| format!("{cells:?}");
        assert_eq!(rows.len(), 3);
        let names = [Datum::text("a"), Datum::text("0000000000000001")];
        assert_eq!(shown(0, &[0, 1]), expected(&names));
        assert_eq!(shown(1, &[0, 2, 3]), expected(&[NULL; 3]));
        let part = [Datum::text("follower"), Datum::Bool(true)];
        assert_eq!(shown(2, &[4, 5]), expected(&part));
        // Who does not lead knows of no streams.
        assert!((0..3).all(|row| shown(row, &[9, 10, 11]) == expected(&[NULL; 3])));
        assert_eq!(shown(0, &[12]), expected(&[Datum::TimestampTz(5)]));
    }
}
