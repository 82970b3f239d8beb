//! Two ends of an encrypted stream over the simulated network, whose windows are small.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use mote_common::env::net::sim::{SimNetwork, Weather};
use mote_common::env::sim::SimClock;
use rustls::crypto::ring::{default_provider, sign};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{ClientConfig, ClientConnection, ServerConfig, ServerConnection};

use super::super::anybody::Anybody;
use super::*;

const A: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
const B: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));
const STEP_NS: u64 = 1_000_000;

fn connections() -> (Connection, Connection) {
    let algorithm = &ring::signature::ECDSA_P256_SHA256_ASN1_SIGNING;
    let random = ring::rand::SystemRandom::new();
    let key = ring::signature::EcdsaKeyPair::generate_pkcs8(algorithm, &random).expect("a key");
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.as_ref().to_vec()));
    let key = sign::any_supported_type(&key).expect("it signs");
    let certified = CertifiedKey::new(vec![CertificateDer::from(vec![0x30, 0])], key);
    let provider = Arc::new(default_provider());
    let server = ServerConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(SingleCertAndKey::from(certified)));
    let client = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Anybody))
        .with_no_client_auth();
    let name = ServerName::try_from("localhost").expect("a name");
    let server = ServerConnection::new(Arc::new(server)).expect("a server");
    let client = ClientConnection::new(Arc::new(client), name).expect("a client");
    (server.into(), client.into())
}

struct Pair {
    network: SimNetwork,
    now_ns: u64,
    server: EncryptedStream,
    client: EncryptedStream,
}

/// With the handshake done.
fn pair(window_bytes: usize) -> Pair {
    let (network, clock) = (SimNetwork::new(1), Arc::new(SimClock::default()));
    network.set_weather(Weather {
        window_bytes,
        ..Weather::default()
    });
    let at = SocketAddr::new(B, 5432);
    let mut listener = network.host(B, clock.clone()).listen(at).expect("a port");
    let client = network.host(A, clock).connect(at).expect("a way");
    network.advance_to(100_000_000);
    let server = listener.accept().expect("it listens").expect("it has arrived");
    let (of_server, of_client) = connections();
    let mut pair = Pair {
        network,
        now_ns: 100_000_000,
        server: EncryptedStream::new(server, of_server),
        client: EncryptedStream::new(client, of_client),
    };
    while pair.server.connection.is_handshaking() || pair.client.connection.is_handshaking() {
        assert_eq!(
            pair.client.receive(&mut [0; 16]).expect("open"),
            Received::Nothing
        );
        assert_eq!(
            pair.server.receive(&mut [0; 16]).expect("open"),
            Received::Nothing
        );
        pair.pass();
    }
    pair
}

impl Pair {
    fn pass(&mut self) {
        self.now_ns += STEP_NS;
        self.network.advance_to(self.now_ns);
    }
}

#[test]
fn bytes_arrive_in_order_through_windows_that_are_smaller() {
    let mut pair = pair(5_000);
    let told: Vec<u8> = (0..=250).cycle().take(900_000).collect();
    let (mut sent, mut heard, mut full) = (0, Vec::new(), 0);
    let mut buffer = vec![0; 64 << 10];
    while heard.len() < told.len() {
        let rest = &told[sent..told.len().min(sent + 130_000)];
        let (head, tail) = rest.split_at(rest.len() / 3);
        let taken = pair
            .server
            .send(&[IoSlice::new(head), IoSlice::new(tail)])
            .expect("it is open");
        // All of a call, or nothing while ciphertext of the one before waits.
        assert!(taken == rest.len() || taken == 0);
        full += u32::from(taken == 0 && !rest.is_empty());
        sent += taken;
        pair.pass();
        while let Received::Bytes(bytes) = pair.client.receive(&mut buffer).expect("it is open") {
            heard.extend_from_slice(&buffer[..bytes]);
        }
    }
    assert_eq!(heard, told);
    assert!(full > 0, "the window never filled");
    assert!(!pair.server.holds(), "everything has left");
}

#[test]
fn what_was_held_leaves_with_a_send_of_nothing() {
    let mut pair = pair(5_000);
    assert_eq!(
        pair.client.send(&[IoSlice::new(&[7; 20_000])]).expect("open"),
        20_000
    );
    assert!(pair.client.holds());
    let (mut heard, mut buffer) = (0, [0; 4_000]);
    while heard < 20_000 {
        pair.pass();
        while let Received::Bytes(bytes) = pair.server.receive(&mut buffer).expect("open") {
            heard += bytes;
        }
        assert_eq!(pair.client.send(&[]).expect("open"), 0);
    }
    assert!(!pair.client.holds());
}

/// A receive that fills less than it may has left nothing: neither in the socket nor behind it.
#[test]
fn a_short_receive_has_emptied_everything() {
    let mut pair = pair(1 << 20);
    for _ in 0..7 {
        pair.server.send(&[IoSlice::new(&[1; 30_000])]).expect("open");
    }
    for _ in 0..30 {
        pair.pass();
    }
    let (mut heard, mut buffer) = (0, vec![0; 64 << 10]);
    loop {
        let Received::Bytes(bytes) = pair.client.receive(&mut buffer).expect("open") else {
            panic!("{heard} bytes, and a receive that was full has left nothing");
        };
        heard += bytes;
        if bytes < buffer.len() {
            break;
        }
    }
    assert_eq!(heard, 210_000);
}

/// Records of one byte are eight times as long as what they carry, and more where the peer pads them.
#[test]
fn records_that_carry_next_to_nothing_do_not_keep_the_caller() {
    const BYTES: usize = 40_000;
    let mut pair = pair(4 << 20);
    for _ in 0..BYTES {
        assert_eq!(pair.client.send(&[IoSlice::new(&[1])]).expect("open"), 1);
    }
    for _ in 0..30 {
        pair.pass();
    }
    let (mut heard, mut calls, mut buffer) = (0, 0, vec![0; 64 << 10]);
    while let Received::Bytes(bytes) = pair.server.receive(&mut buffer).expect("open") {
        assert!(bytes <= READS_MAX * READ_BYTES / 20, "{bytes} at once");
        (heard, calls) = (heard + bytes, calls + 1);
    }
    assert_eq!(heard, BYTES, "in {calls} calls");
}

#[test]
fn a_close_is_an_end_behind_the_bytes_and_noise_is_an_error() {
    let mut ended = pair(1 << 20);
    ended.client.send(&[IoSlice::new(b"last")]).expect("open");
    ended.client.close();
    for _ in 0..30 {
        ended.pass();
    }
    let mut buffer = [0; 16];
    assert_eq!(
        ended.server.receive(&mut buffer).expect("closed in order"),
        Received::Bytes(4)
    );
    assert_eq!(
        ended.server.receive(&mut buffer).expect("closed in order"),
        Received::End
    );

    let mut noisy = pair(1 << 20);
    let noise = [IoSlice::new(&[0x17, 3, 3, 0, 32]), IoSlice::new(&[9; 32])];
    noisy.client.socket.send(&noise).expect("open");
    for _ in 0..30 {
        noisy.pass();
    }
    let error = noisy
        .server
        .receive(&mut buffer)
        .expect_err("nobody has encrypted that");
    assert_eq!(error.kind(), io::ErrorKind::InvalidData);
}
