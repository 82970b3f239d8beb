//! `mote check` on directories that a server left, sound and damaged.

use std::path::{Path, PathBuf};

use mote_it::TestServer;
use mote_it::clients::{Said, mote, psql_strict};
use mote_it::server::TemporaryDirectory;

const SCHEMA: &str = "
    create table parent (id int primary key, name text not null unique, at timestamptz default now());
    create table child (id int primary key, parent int references parent, check (id > 0), price numeric(10,2));
    insert into parent select g, 'name ' || g from generate_series(1, 3000) g;
    insert into child select g, 1 + g % 3000, g / 7.0 from generate_series(1, 5000) g;
    create index on child (parent, price desc);
    create index on child ((price * 2)) where parent > 1;
    create sequence s; select nextval('s');
    create schema other; create table other.empty (a json, b bytea, c int[]);";

fn text(path: &Path) -> &str {
    path.to_str().expect("test paths are UTF-8")
}

/// A directory with images and log, as a server left it.
fn left_by_a_server(directory: &TemporaryDirectory, cleanly: bool) -> PathBuf {
    let data = directory.path().join("data");
    let server = TestServer::open(&data, &[]).expect("it starts");
    psql_strict(&server, SCHEMA).good();
    psql_strict(
        &server,
        "checkpoint; update parent set name = name || '!' where id % 3 = 0",
    )
    .good();
    psql_strict(&server, "delete from child where id % 5 = 0").good();
    if cleanly {
        server.stop()
    } else {
        server.kill()
    };
    data
}

fn check(data: &Path, options: &[&str]) -> Said {
    let mut arguments = vec!["check", text(data), "--memory", "1GB"];
    arguments.extend_from_slice(options);
    mote(&arguments)
}

/// Names, lengths and contents of everything in the directory.
fn contents(data: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    for place in [data.to_path_buf(), data.join("log"), data.join("image")] {
        for entry in std::fs::read_dir(&place).expect("readable") {
            let path = entry.expect("readable").path();
            if path.is_file() {
                let bytes = std::fs::read(&path).expect("readable");
                files.push((path, bytes));
            }
        }
    }
    files.sort();
    files
}

#[test]
fn a_sound_directory_is_called_sound_and_left_as_it_is() {
    for cleanly in [true, false] {
        let directory = TemporaryDirectory::new("check-sound");
        let data = left_by_a_server(&directory, cleanly);
        let before = contents(&data);
        let said = check(&data, &["--foreign-keys"]);
        assert!(
            said.ok && said.out.ends_with("sound\n"),
            "{}\n{}",
            said.out,
            said.err
        );
        assert!(said.out.contains("3 tables with 7000 rows"), "{}", said.out);
        let json = check(&data, &["--json"]);
        assert!(json.ok && json.out.contains("\"sound\":true"), "{}", json.out);
        assert!(contents(&data) == before, "check changed the directory");
        let server = TestServer::open(&data, &[]).expect("it starts as before");
        let busy = check(&data, &[]);
        assert!(
            !busy.ok && busy.err.contains("in use by another process"),
            "{}",
            busy.err
        );
        drop(server);
    }
}

#[test]
fn one_flipped_byte_in_each_kind_of_file_is_named() {
    let directory = TemporaryDirectory::new("check-damage");
    let data = left_by_a_server(&directory, true);
    let image = first_file(&data.join("image"));
    let log = first_file(&data.join("log"));
    let log_bytes = std::fs::read(&log).expect("readable");
    // Well inside the frames: the last block that is not zero is the seal.
    let written = log_bytes.iter().rposition(|&byte| byte != 0).expect("frames");
    let image_bytes = std::fs::metadata(&image).expect("there").len() as usize;
    for (path, at) in [
        (data.join("MANIFEST"), 40),
        (data.join("MANIFEST"), 90),
        (image.clone(), 20),
        (image.clone(), 4096 + 10),
        (image.clone(), image_bytes - 3),
        (log.clone(), 17),
        (log.clone(), written - 20_000),
    ] {
        let mut bytes = std::fs::read(&path).expect("readable");
        let before = bytes[at];
        bytes[at] ^= 0x10;
        std::fs::write(&path, &bytes).expect("written");
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name");
        let said = check(&data, &[]);
        assert!(
            !said.ok && said.err.contains(name) && said.err.contains("byte"),
            "{name} at {at}: {}\n{}",
            said.out,
            said.err
        );
        let json = check(&data, &["--json", "--files-only"]);
        assert!(
            !json.ok && json.out.contains("\"sound\":false") && json.out.contains(name),
            "{}",
            json.out
        );
        let started = TestServer::open(&data, &[]);
        assert!(
            started.is_err(),
            "{name} at {at}: a server starts on what check calls damaged"
        );
        bytes[at] = before;
        std::fs::write(&path, &bytes).expect("written");
    }
    let said = check(&data, &["--quiet"]);
    assert!(said.ok && said.out.is_empty(), "{}\n{}", said.out, said.err);
}

#[test]
fn files_of_a_later_format_are_refused_by_name() {
    let directory = TemporaryDirectory::new("check-format");
    let data = left_by_a_server(&directory, true);
    // The version stands at byte 8 of every file of a data directory.
    for path in [
        data.join("MANIFEST"),
        first_file(&data.join("image")),
        first_file(&data.join("log")),
    ] {
        let mut bytes = std::fs::read(&path).expect("readable");
        bytes[8] = 2;
        std::fs::write(&path, &bytes).expect("written");
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name");
        let said = check(&data, &[]);
        assert!(
            !said.ok
                && said.err.contains(name)
                && said.err.contains("format 2")
                && said.err.contains("format 1"),
            "{name}: {}",
            said.err
        );
        let refused = TestServer::open(&data, &[]).err().expect("refused");
        assert!(
            refused.contains(name) && refused.contains("format 2"),
            "{refused}"
        );
        bytes[8] = 1;
        std::fs::write(&path, &bytes).expect("written");
    }
}

#[test]
fn what_is_no_data_directory_is_called_so() {
    let directory = TemporaryDirectory::new("check-nothing");
    let said = check(directory.path(), &[]);
    assert!(!said.ok && said.err.contains("no data directory"), "{}", said.err);
    let said = check(&directory.path().join("absent"), &[]);
    assert!(!said.ok && said.err.contains("is no directory"), "{}", said.err);
    assert_eq!(contents_of_root(directory.path()), 0, "nothing was made there");
}

fn contents_of_root(directory: &Path) -> usize {
    std::fs::read_dir(directory).expect("readable").count()
}

fn first_file(directory: &Path) -> PathBuf {
    let entries = std::fs::read_dir(directory).expect("readable");
    let mut files: Vec<_> = entries.map(|entry| entry.expect("readable").path()).collect();
    files.sort();
    files.into_iter().next().expect("there is a file")
}
