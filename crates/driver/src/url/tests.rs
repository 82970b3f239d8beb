use super::parse::CONNECT_TIMEOUT;
use super::system::PARTITIONS;
use super::*;

#[test]
fn a_secret_url_makes_the_same_target() {
    for text in [
        "postgres://anna:p%40s%2Fs@db.example:6000/my%20shop?connect_timeout=2.5&answer_timeout=3",
        "postgres://a:5432,[::1]:5433/d?sslmode=require",
        "postgres:///shop?host=/tmp/x%20y&port=6001",
        "mysql://bench:b%3Aench@127.0.0.1:3310/bench?engine=rocksdb",
        "opengauss://gaussdb:p@h/bench?engine=mot",
        "klustron://abc@h:5401/bench?partitions=8",
    ] {
        let target = Target::parse(text).expect("valid");
        let again = Target::parse(&target.secret_url()).expect("what was written");
        assert_eq!(again, target, "{}", target.secret_url());
    }
}

#[test]
fn full_url() {
    let target = Target::parse("postgres://anna:p%40ss@db.example:6000/shop?sslmode=disable").expect("valid");
    assert_eq!(target.host, Host::Name("db.example".into()));
    assert_eq!(
        (target.port, target.user.as_str(), target.database.as_str()),
        (6000, "anna", "shop")
    );
    assert_eq!(target.password.as_deref(), Some("p@ss"));
    assert!(!target.to_string().contains("p@ss"));
}

#[test]
fn defaults_and_sockets() {
    let target = Target::parse("postgres://127.0.0.1").expect("valid");
    assert_eq!(
        (target.port, target.user.as_str(), target.database.as_str()),
        (5432, "postgres", "postgres")
    );
    assert!(target.is_local());
    let socket = Target::parse("postgres:///bench?host=/tmp&port=5433").expect("valid");
    assert_eq!(socket.host, Host::SocketDirectory("/tmp".into()));
    assert_eq!(socket.port, 5433);
    let v6 = Target::parse("postgres://u@[::1]:7000/d").expect("valid");
    assert_eq!(v6.to_string(), "postgres://u@[::1]:7000/d");
}

#[test]
fn a_primary_and_its_standby() {
    let text = "postgres://u@a:6000,[::1]:6001,b/d";
    let pair = Target::parse(text).expect("valid");
    assert_eq!(pair.to_string(), "postgres://u@a:6000,[::1]:6001,b:5432/d");
    let others: Vec<String> = pair.others().map(|other| other.to_string()).collect();
    assert_eq!(others, ["postgres://u@[::1]:6001/d", "postgres://u@b:5432/d"]);
    let first = Target::parse("postgres://u@a:6000/d").expect("valid");
    let other = Target::parse("postgres://v@b/e").expect("valid");
    assert_eq!(
        first.with_other(&other).to_string(),
        "postgres://u@a:6000,b:5432/d"
    );
    assert!(Target::parse("mysql://a,b/d").is_err());
    let elsewhere = pair.at("::1", 7000);
    assert_eq!(elsewhere.to_string(), "postgres://u@[::1]:7000/d");
    let address: SocketAddr = "[::1]:7000".parse().expect("an address");
    assert_eq!(elsewhere.addresses().expect("a number"), [address]);
}

#[test]
fn other_systems() {
    let target = Target::parse("mysql://bench:b@127.0.0.1/shop?engine=rocksdb").expect("valid");
    assert_eq!((target.system, target.port), (System::Mysql, 3306));
    assert_eq!(target.engine.as_deref(), Some("rocksdb"));
    assert_eq!(target.to_string(), "mysql://bench@127.0.0.1:3306/shop");
    assert_eq!(Target::parse("mariadb://h/d").expect("valid").user, "root");
    let in_memory = Target::parse("opengauss://h/d?engine=mot").expect("valid");
    assert_eq!(
        (in_memory.system, in_memory.product),
        (System::Postgres, Product::OpenGaussMot)
    );
    assert_eq!(in_memory.to_string(), "opengauss://postgres@h:5432/d");
    let spread = Target::parse("klustron://h/d").expect("valid");
    assert_eq!(
        spread.product,
        Product::Klustron {
            partitions: PARTITIONS
        }
    );
    for alone in ["oracle://h/d", "db2://h/d"] {
        let refused = Target::parse(alone).expect_err("no wire");
        assert!(refused.contains("odbc+"), "{refused}");
    }
}

#[test]
fn timeouts_and_addresses() {
    let target =
        Target::parse("postgres://127.0.0.1:7/d?connect_timeout=2.5&answer_timeout=1").expect("valid");
    assert_eq!(target.connect_timeout, Duration::from_millis(2_500));
    assert_eq!(target.answer_timeout, Some(Duration::from_secs(1)));
    assert_eq!(
        target.addresses().expect("a number"),
        ["127.0.0.1:7".parse::<SocketAddr>().expect("an address")]
    );
    let plain = Target::parse("postgres://127.0.0.1:7/d").expect("valid");
    assert_eq!(
        (plain.connect_timeout, plain.answer_timeout),
        (CONNECT_TIMEOUT, None)
    );
    for wrong in ["connect_timeout=0", "answer_timeout=soon", "answer_timeout=-1"] {
        assert!(
            Target::parse(&format!("postgres://h/d?{wrong}")).is_err(),
            "{wrong}"
        );
    }
}

#[test]
fn refuses_what_it_would_ignore() {
    assert!(Target::parse("oracle://x").is_err());
    assert!(Target::parse("postgres://h/d?engine=rocksdb").is_err());
    assert!(Target::parse("mysql://h/d?engine=a%20b").is_err());
    assert!(Target::parse("opengauss://h/d?engine=rocksdb").is_err());
    assert!(Target::parse("klustron://h/d?partitions=0").is_err());
    assert!(Target::parse("postgres://h/d?partitions=4").is_err());
    assert!(Target::parse("mysql:///d?host=/tmp").is_err());
    for wrong in [
        "postgres://h/d?sslmode=verify-ca",
        "postgres://h/d?sslmode=verify-full",
        "postgres://h/d?sslmode=verify-full&sslrootcert=/nowhere",
        "postgres://h/d?sslrootcert=/nowhere",
        "postgres:///d?host=/tmp&sslmode=require",
        "mysql://h/d?sslmode=require",
    ] {
        assert!(Target::parse(wrong).is_err(), "{wrong}");
    }
    assert!(Target::parse("postgres://h/d?sslmode=require").is_ok_and(|target| target.tls().is_some()));
    let plain = Target::parse("postgres://h/d").expect("a URL");
    assert!(plain.over_tls().is_ok_and(|target| target.tls().is_some()));
    let socket = Target::parse("postgres:///d?host=/tmp").expect("a URL");
    assert!(socket.over_tls().is_err());
    assert!(Target::parse("postgres://h/d?application=x").is_err());
    assert!(Target::parse("postgres://h:port/d").is_err());
}
