use super::*;

const TABLE: TableId = TableId(7);

fn decode_all(payload: &[u8]) -> (CommitHeader, Vec<(u64, RowId)>) {
    let (header, body) = CommitHeader::decode(payload).expect("a commit decodes");
    let mut seen = Vec::new();
    let mut stream = OperationStream::default();
    stream
        .feed::<Malformed>(body, |ordinal, operation| {
            seen.push((ordinal, operation.row()));
            Ok(())
        })
        .expect("operations decode");
    assert!(stream.is_complete());
    (header, seen)
}

#[test]
fn operations_survive_the_round_trip() {
    let mut redo = RedoBuffer::new();
    assert!(redo.is_empty());
    assert_eq!(redo.commit_payload(), Ok(None));
    let row = RowId::new(3, 9);
    let old = [5u8; 100];
    let mut new = old;
    new[50] = 6;
    redo.insert(TABLE, row, 1, &old);
    redo.update(TABLE, row, 1, Lsn(0), &old, &new);
    redo.update(TABLE, row, 1, Lsn(77), b"ab", b"xyz");
    redo.update_whole(TABLE, row, 2, Lsn(78), b"");
    redo.delete(TABLE, row, Lsn(79));
    let payload = redo
        .commit_payload()
        .expect("it fits")
        .expect("there is something to log")
        .to_vec();
    let (_, body) = CommitHeader::decode(&payload).expect("a commit decodes");
    let mut index = 0;
    OperationStream::default()
        .feed::<Malformed>(body, |ordinal, operation| {
            assert_eq!((ordinal, operation.table(), operation.row()), (index, TABLE, row));
            match (index, operation) {
                (0, Operation::Insert { layout: 1, bytes, .. }) => assert_eq!(bytes, old),
                (
                    1,
                    Operation::Update {
                        layout: 1,
                        base_ts: Lsn(0),
                        patch,
                        ..
                    },
                ) => {
                    let mut out = Vec::new();
                    patch::apply(&old, patch, &mut out).expect("the patch fits");
                    assert_eq!(out, new);
                }
                (
                    2,
                    Operation::UpdateWhole {
                        layout: 1,
                        base_ts: Lsn(77),
                        bytes: b"xyz",
                        ..
                    },
                ) => {}
                (
                    3,
                    Operation::UpdateWhole {
                        layout: 2,
                        base_ts: Lsn(78),
                        bytes: b"",
                        ..
                    },
                ) => {}
                (4, Operation::Delete { base_ts: Lsn(79), .. }) => {}
                other => panic!("{other:?}"),
            }
            index += 1;
            Ok(())
        })
        .expect("operations decode");
    assert_eq!(index, 5);
    redo.reset(16);
    assert!(redo.is_empty());
}

#[test]
fn savepoints_cut_off_what_was_not_sent() {
    let mut redo = RedoBuffer::new();
    let empty = redo.mark();
    redo.insert(TABLE, RowId(1), 0, b"a");
    let mark = redo.mark();
    redo.insert(TABLE, RowId(2), 0, b"b");
    redo.truncate(mark);
    redo.insert(TABLE, RowId(3), 0, b"c");
    let payload = redo
        .commit_payload()
        .expect("it fits")
        .expect("something")
        .to_vec();
    assert_eq!(decode_all(&payload).1, vec![(0, RowId(1)), (1, RowId(3))]);
    redo.truncate(empty);
    assert!(redo.is_empty());
}

#[test]
fn random_and_mutated_payloads_answer_errors() {
    let seed = 5;
    let mut prng = mote_common::prng::Prng::new(seed);
    let mut redo = RedoBuffer::new();
    for i in 0..20 {
        redo.insert(TABLE, RowId(i), 0, &[i as u8; 30]);
        redo.update(TABLE, RowId(i), 0, Lsn(i), &[1; 40], &[2; 40]);
    }
    let good = redo
        .commit_payload()
        .expect("it fits")
        .expect("something")
        .to_vec();
    for round in 0..20_000 {
        let mut bytes = if round % 2 == 0 {
            good.clone()
        } else {
            vec![0; prng.below(50) as usize]
        };
        for _ in 0..1 + prng.below(6) {
            let at = prng.below(bytes.len().max(1) as u64) as usize;
            if let Some(byte) = bytes.get_mut(at) {
                *byte = prng.next_u64() as u8;
            }
        }
        // Any answer will do; `seed` and `round` name the case if one of these panics.
        if let Some((header, body)) = CommitHeader::decode(&bytes) {
            let _ = header.is_rolled_back(round);
            let _ = OperationStream::default().feed::<Malformed>(body, |_, _| Ok(()));
        }
        let _ = FragmentHeader::decode(&bytes);
        let _ = PrepareHeader::decode(&bytes);
        let _ = SequenceState::decode(&bytes);
    }
}

#[test]
fn a_stream_may_be_cut_anywhere() {
    let mut redo = RedoBuffer::new();
    for i in 0..10 {
        redo.insert(TABLE, RowId(i), 0, &vec![i as u8; 40 * i as usize]);
    }
    let payload = redo
        .commit_payload()
        .expect("it fits")
        .expect("something")
        .to_vec();
    for piece in 1..payload.len() {
        let mut stream = OperationStream::default();
        let mut rows = Vec::new();
        for part in payload[1..].chunks(piece) {
            stream
                .feed::<Malformed>(part, |ordinal, operation| {
                    assert_eq!(ordinal, rows.len() as u64);
                    rows.push(operation.row());
                    Ok(())
                })
                .expect("operations decode");
        }
        assert!(stream.is_complete());
        assert_eq!(rows.len(), 10);
    }
}

/// Else a row of a hundred megabytes would be copied with each of the hundreds of frames that it stands in.
#[test]
fn an_operation_of_many_frames_is_gathered_in_place() {
    let mut stream = OperationStream::default();
    let none = |_, _: &[u8]| -> Result<(), Malformed> { panic!("it is not whole") };
    // A length of 2 MB, and a part of it.
    stream
        .feed_told(&[0x80, 0x80, 0x80, 0x01, 7, 7], none)
        .expect("it may become one");
    stream.carry.reserve(1 << 20);
    let place = stream.carry.as_ptr();
    for _ in 0..100 {
        stream.feed_told(&[7; 8192], none).expect("it may become one");
        assert_eq!(stream.carry.as_ptr(), place);
    }
    assert_eq!(stream.carry.len(), 6 + 100 * 8192);
}
