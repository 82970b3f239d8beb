use super::*;
use std::cell::RefCell;

/// Counts the questions; refuses from the given one on.
#[derive(Default)]
struct Counting {
    asked: RefCell<Vec<bool>>,
    refuse_from: Option<usize>,
}

impl Payer for Counting {
    fn slice_over(&self, may_suspend: bool) -> SqlResult<()> {
        let mut asked = self.asked.borrow_mut();
        asked.push(may_suspend);
        match self.refuse_from {
            Some(from) if asked.len() >= from => Err(SqlError::internal("enough")),
            _ => Ok(()),
        }
    }

    fn pause(&self, may_suspend: bool) -> bool {
        let mut asked = self.asked.borrow_mut();
        asked.push(may_suspend);
        self.refuse_from.is_some_and(|from| asked.len() + 1 >= from)
    }
}

#[test]
fn a_payer_is_asked_once_a_slice() {
    let payer = Counting::default();
    paid_by(&payer, || {
        for _ in 0..64 {
            spend(SLICE_UNITS / 16).unwrap();
        }
    });
    assert_eq!(payer.asked.borrow().len(), 3);
    // Nobody pays outside.
    spend(SLICE_UNITS * 2).unwrap();
    assert_eq!(payer.asked.borrow().len(), 3);
}

#[test]
fn an_error_of_the_payer_ends_the_work() {
    let payer = Counting {
        refuse_from: Some(2),
        ..Counting::default()
    };
    let text = "x".repeat(SLICE_UNITS * 8);
    let error = paid_by(&payer, || pieces(&text).find_map(Result::err)).unwrap();
    assert_eq!(error.message(), "enough");
    assert_eq!(payer.asked.borrow().len(), 2);
}

#[test]
fn unbroken_work_is_not_suspended_and_limited_work_ends() {
    let payer = Counting::default();
    paid_by(&payer, || {
        unbroken(|| spend(SLICE_UNITS + 1)).unwrap();
        spend(SLICE_UNITS + 1).unwrap();
        assert!(limited(1000, || spend(1001)).is_err());
        assert!(limited(1000, || reserve(8 << 20)).is_err());
        assert!(limited(1000, || spend(1000)).is_ok());
    });
    assert_eq!(*payer.asked.borrow(), [false, true]);
}

#[test]
fn a_suspended_session_takes_its_payer_along() {
    let (first, second) = (Counting::default(), Counting::default());
    paid_by(&first, || {
        set_aside(|| {
            // Another session on the thread.
            paid_by(&second, || spend(SLICE_UNITS + 1).unwrap());
            spend(SLICE_UNITS + 1).unwrap();
        });
        spend(SLICE_UNITS + 1).unwrap();
    });
    assert_eq!(first.asked.borrow().len(), 1);
    assert_eq!(second.asked.borrow().len(), 1);
}

#[test]
fn unwinding_restores_the_thread() {
    let payer = Counting::default();
    let unwound = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        paid_by(&payer, || unbroken(|| panic!("as a test")))
    }));
    assert!(unwound.is_err());
    spend(SLICE_UNITS + 1).unwrap();
    assert!(payer.asked.borrow().is_empty());
    let again = Counting::default();
    paid_by(&again, || spend(SLICE_UNITS + 1).unwrap());
    assert_eq!(*again.asked.borrow(), [true]);
}

#[test]
fn pieces_are_whole_characters_and_together_the_text() {
    let text = "aé€𝄞".repeat(10_000);
    let joined: String = pieces(&text).map(Result::unwrap).collect();
    assert_eq!(joined, text);
    assert_eq!(pieces("").count(), 0);
}

#[test]
fn buffers_end_where_postgresql_ends() {
    let error = text_buffer(1_200_000_000).unwrap_err();
    assert_eq!(error.message(), "invalid memory alloc request size 1200000004");
    let mut out = String::new();
    grow(&mut out, "abc").unwrap();
    grow(&mut out, &"d".repeat(100_000)).unwrap();
    assert_eq!(out.len(), 100_003);
    assert!(pieces::grown(1_000_000_000, 1_000_000_000, 100_000_000).is_err());
}

#[test]
fn windows_miss_nothing() {
    let mut haystack = vec![b'a'; 300_000];
    for (needle_bytes, at) in [
        (1, 299_999),
        (7, 65_530),
        (7, 131_070),
        (100_000, 150_000),
        (3, 0),
    ] {
        let needle = vec![b'b'; needle_bytes];
        haystack[at..at + needle_bytes].fill(b'b');
        assert_eq!(
            find(&haystack, &needle).unwrap(),
            Some(at),
            "{needle_bytes} at {at}"
        );
        haystack[at..at + needle_bytes].fill(b'a');
        assert_eq!(find(&haystack, &needle).unwrap(), None);
    }
    assert_eq!(find(b"", b"").unwrap(), Some(0));
}

#[test]
fn a_sort_is_the_standard_one() {
    for seed in 0..50 {
        let mut prng = crate::prng::Prng::new(seed);
        let mut list: Vec<(u64, usize)> = (0..prng.below(5_000) as usize)
            .map(|at| (prng.below(1 + 40 * seed), at))
            .collect();
        let mut expected = list.clone();
        expected.sort_by_key(|pair| pair.0);
        sort_by(&mut list, |a, b| a.0.cmp(&b.0)).unwrap();
        assert_eq!(list, expected, "seed {seed}");
    }
}

#[test]
fn a_sort_of_many_ends_in_the_middle_and_loses_nothing() {
    let payer = Counting {
        refuse_from: Some(2),
        ..Counting::default()
    };
    let mut prng = crate::prng::Prng::new(7);
    let mut list: Vec<String> = (0..100_000).map(|_| prng.next_u64().to_string()).collect();
    let mut expected = list.clone();
    let mut comparisons = 0;
    let ended = paid_by(&payer, || {
        sort_by(&mut list, |a, b| {
            comparisons += 1;
            a.cmp(b)
        })
    });
    assert_eq!(ended.unwrap_err().message(), "enough");
    assert!(comparisons < 3 * SLICE_UNITS / 64, "{comparisons} comparisons");
    list.sort();
    expected.sort();
    assert!(list == expected, "an element was lost");
}

#[test]
fn a_sort_of_few_long_values_ends_with_the_comparison() {
    let payer = Counting {
        refuse_from: Some(3),
        ..Counting::default()
    };
    let mut list: Vec<usize> = (0..50).map(|at| at * 7 % 50).collect();
    let mut comparisons = 0;
    let ended = paid_by(&payer, || {
        sort_by(&mut list, |a, b| {
            comparisons += 1;
            pass(SLICE_UNITS + 1);
            a.cmp(b)
        })
    });
    assert!(ended.is_err());
    assert!(comparisons <= 3, "{comparisons} comparisons");
}

#[test]
#[should_panic(expected = "of the comparison")]
fn a_panic_of_the_comparison_stays_one() {
    let _ = sort_by(&mut [1, 2, 3], |_, _| panic!("a panic of the comparison"));
}

#[test]
fn a_list_and_a_text_grow_piece_by_piece() {
    let payer = Counting::default();
    let (mut list, mut text, mut bytes) = (Vec::new(), String::new(), Vec::new());
    paid_by(&payer, || {
        for number in 0..1_000_000_u64 {
            push(&mut list, number).unwrap();
            grow(&mut text, "äbcdefgh").unwrap();
            grow_bytes(&mut bytes, b"abcdefgh").unwrap();
        }
    });
    assert!(list.iter().copied().eq(0..1_000_000));
    assert!(text == "äbcdefgh".repeat(1_000_000));
    assert!(bytes == b"abcdefgh".repeat(1_000_000));
    assert!(payer.asked.borrow().len() > 20);
}

#[test]
fn a_list_ends_while_it_grows() {
    let payer = Counting {
        refuse_from: Some(60),
        ..Counting::default()
    };
    let mut list = Vec::new();
    let pushed = paid_by(&payer, || {
        (0..10_000_000_u64).position(|number| push(&mut list, number).is_err())
    });
    assert!(pushed.is_some_and(|pushed| pushed > 100_000), "{pushed:?}");
}

#[test]
fn discarded_lists_are_freed() {
    let counter = std::sync::Arc::new(());
    let long = |count: usize| -> Vec<_> { (0..count).map(|_| counter.clone()).collect() };
    // Nobody serves here.
    discard(long(100_000));
    drop(Bulk::from(long(100_000)));
    let mut cleared = Bulk::from(long(100_000));
    cleared.clear();
    assert_eq!(std::sync::Arc::strong_count(&counter), 1);
    std::thread::spawn(|| free_discarded());
    for _ in 0..200 {
        drop(Bulk::from(long(20_000)));
    }
    while std::sync::Arc::strong_count(&counter) > 1 {
        std::thread::yield_now();
    }
    assert_eq!(Bulk::from(vec![1, 2]).into_vec(), [1, 2]);
}

#[test]
fn work_without_errors_is_unwound() {
    let payer = Counting {
        refuse_from: Some(3),
        ..Counting::default()
    };
    let mut turns = 0;
    let ended = paid_by(&payer, || {
        or_unwound(|| {
            while turns < 100 {
                pass(SLICE_UNITS + 1);
                turns += 1;
            }
        })
    });
    assert_eq!(ended.unwrap_err().message(), "enough");
    assert!(turns < 3, "{turns} turns");
    // Elsewhere it goes on.
    paid_by(&payer, || (0..10).for_each(|_| pass(SLICE_UNITS + 1)));
    assert_eq!(or_unwound(|| 7).unwrap(), 7);
}
