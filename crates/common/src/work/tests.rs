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

    fn pause(&self, may_suspend: bool) {
        self.asked.borrow_mut().push(may_suspend);
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
