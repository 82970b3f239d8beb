use super::*;
use mote_common::prng::Prng;

fn inet(text: &str) -> Address {
    text::parse_inet(text).unwrap_or_else(|error| panic!("{text}: {error:?}"))
}

fn written(address: Address, write: fn(Address, &mut Vec<u8>)) -> String {
    let mut out = Vec::new();
    write(address, &mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn addresses_are_read_and_written() {
    for (given, shown) in [
        ("192.168.1.226/24", "192.168.1.226/24"),
        ("10.1.2.3/32", "10.1.2.3"),
        ("10.1/16", "10.1.0.0/16"),
        ("::4.3.2.1/24", "::4.3.2.1/24"),
        ("10:23::F1/64", "10:23::f1/64"),
        ("::", "::"),
        ("::1", "::1"),
        ("1::", "1::"),
        ("::ffff:1.2.3.4", "::ffff:1.2.3.4"),
        ("1:0:0:2:0:0:0:3", "1:0:0:2::3"),
    ] {
        assert_eq!(written(inet(given), text::write_inet), shown, "{given}");
    }
    for refused in [
        "",
        "10",
        "1.2.3",
        "1.2.3.256",
        "1.2.3.4/33",
        "1.2.3.4/",
        "1234::1234::1234",
        ":1",
        "1:",
        "::/129",
    ] {
        assert!(text::parse_inet(refused).is_err(), "{refused}");
    }
}

#[test]
fn networks_are_completed() {
    for (given, shown, short) in [
        ("192.168.1", "192.168.1.0/24", "192.168.1/24"),
        ("10", "10.0.0.0/8", "10/8"),
        ("224", "224.0.0.0/4", "224/4"),
        ("0x0a01", "10.1.0.0/16", "10.1/16"),
        ("0.0.0.0/0", "0.0.0.0/0", "0/0"),
        ("10:23::8000/113", "10:23::8000/113", "10:23::8000/113"),
        ("::/0", "::/0", "::/0"),
        ("10:23::/64", "10:23::/64", "10:23::/64"),
    ] {
        let network = text::parse_cidr(given).unwrap();
        assert_eq!(written(network, text::write_cidr), shown, "{given}");
        assert_eq!(written(network, text::write_abbreviated), short, "{given}");
    }
    let refused = text::parse_cidr("192.168.1.2/30").unwrap_err();
    assert_eq!(refused.message(), "invalid cidr value: \"192.168.1.2/30\"");
}

/// PostgreSQL's order, said as `network_cmp` says it.
fn order(a: Address, b: Address) -> Ordering {
    let leading = |address: Address, bits: u8| Address { bits, ..address }.network().number;
    let common = a.bits.min(b.bits);
    (a.v6.cmp(&b.v6))
        .then(leading(a, common).cmp(&leading(b, common)))
        .then(a.bits.cmp(&b.bits))
        .then(a.number.cmp(&b.number))
}

#[test]
fn bytes_sort_as_addresses_do() {
    let seed = 7;
    println!("seed {seed}");
    let mut prng = Prng::new(seed);
    let mut any = || {
        let v6 = prng.below(2) == 1;
        let width = if v6 { 128 } else { 32 };
        // Few distinct bits, so that prefixes meet.
        let number = (prng.below(4) as u128) << (width - 3) | (prng.below(3) as u128);
        let bits = [0, 1, 2, 3, 8, width - 2, width][prng.below(7) as usize] as u8;
        Address { v6, bits, number }
    };
    for _ in 0..20_000 {
        let (a, b) = (any(), any());
        assert_eq!(Address::of(&a.to_datum()), a);
        assert_eq!(compare(&a.to_datum(), &b.to_datum()), order(a, b), "{a:?} {b:?}");
    }
}

#[test]
fn arithmetic_stays_inside_the_family() {
    assert_eq!(inet("127.0.0.1").moved(-1), Some(inet("127.0.0.0")));
    assert_eq!(inet("255.255.255.255").moved(1), None);
    assert_eq!(inet("::").moved(-1), None);
    assert_eq!(inet("::1").distance(inet("::3")), Some(-2));
    assert_eq!(inet("ffff::").distance(inet("::1")), None);
    assert_eq!(inet("10.1.2.3/8").common_bits(inet("10.255.0.0/16")), 8);
}

#[test]
fn wire_form_comes_back() {
    for text in ["10.1.2.3/8", "10:23::f1/64"] {
        let mut bytes = Vec::new();
        send(inet(text), 0, &mut bytes);
        assert_eq!(Address::of(&receive(&bytes, "inet").unwrap()), inet(text));
        assert!(receive(&bytes[..bytes.len() - 1], "inet").is_err());
        let refused = receive(&bytes, "cidr").unwrap_err();
        assert_eq!(refused.message(), "invalid external \"cidr\" value");
    }
}
