//! Messages that a server may send, and messages that it must not send.

use std::io::{self, Cursor, Read, Write};
use std::time::Duration;

use larder_provider::Error;
use serde_json::json;

use crate::connection::Connection;
use crate::failure::Failure;
use crate::login::log_in;
use crate::settings::Server;
use crate::stream::encrypted;

/// Sends prepared messages. If there is a part to repeat, then repeats it forever.
struct Script {
    prepared: Cursor<Vec<u8>>,
    repeated: Vec<u8>,
}

impl Read for Script {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.prepared.read(buffer)? {
            0 if !self.repeated.is_empty() => {
                self.prepared = Cursor::new(self.repeated.clone());
                self.prepared.read(buffer)
            }
            count => Ok(count),
        }
    }
}

impl Write for Script {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn script(messages: &[Vec<u8>], repeated: &[u8]) -> Script {
    Script {
        prepared: Cursor::new(messages.concat()),
        repeated: repeated.to_owned(),
    }
}

pub(super) fn connection(messages: &[Vec<u8>], repeated: &[u8]) -> Connection {
    Connection::new(Box::new(script(messages, repeated)))
}

pub(super) fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).unwrap().to_be_bytes();
    [&[tag], length.as_slice(), body].concat()
}

/// The description of one column of integers.
fn description() -> Vec<u8> {
    message(
        b'T',
        b"\x00\x01id\x00\0\0\0\0\0\0\0\0\0\x17\0\x04\xff\xff\xff\xff\0\0",
    )
}

fn row(value: &[u8]) -> Vec<u8> {
    let length = u32::try_from(value.len()).unwrap().to_be_bytes();
    message(b'D', &[&[0, 1], length.as_slice(), value].concat())
}

pub(super) fn refusal(severity: &str, code: &str, text: &str) -> Vec<u8> {
    message(
        b'E',
        format!("V{severity}\0C{code}\0M{text}\0\0").as_bytes(),
    )
}

pub(super) fn ready() -> Vec<u8> {
    message(b'Z', b"I")
}

pub(super) fn server(password: Option<&str>) -> Server {
    Server {
        host: "127.0.0.1".into(),
        port: 5432,
        database: "garden".into(),
        user: "reader".into(),
        password: password.map(str::to_owned),
        tls: false,
        certificates: None,
        statement_timeout: Duration::from_secs(1),
    }
}

#[test]
fn rows_are_received() {
    let mut connection = connection(&[description(), row(b"1"), row(b"2"), ready()], &[]);
    let rows = connection.query("SELECT id", &[], 1).unwrap();
    assert_eq!(
        (rows.columns, rows.rows, rows.has_more),
        (vec!["id".to_owned()], vec![vec![json!(1)]], true)
    );
    assert!(connection.is_usable);
}

#[test]
fn a_refused_statement_leaves_the_connection_usable() {
    let long = "x".repeat(10_000) + "\u{1b}";
    let mut connection = connection(
        &[
            refusal("ERROR", "22P02", &long),
            ready(),
            refusal("FATAL", "57P01", "bye"),
        ],
        &[],
    );
    let error = Error::from(connection.query("SELECT id", &[], 1).unwrap_err());
    assert_eq!(error, Error::Invalid("x".repeat(500)));
    assert!(connection.is_usable);
    let error = Error::from(connection.query("SELECT id", &[], 1).unwrap_err());
    assert_eq!(error, Error::Unavailable("the database: bye".into()));
    assert!(!connection.is_usable);
}

#[test]
fn a_hostile_server_is_bounded() {
    let check = |messages: &[Vec<u8>], repeated: &[u8], expected: &str| {
        let mut connection = connection(messages, repeated);
        let error = Error::from(connection.query("SELECT id", &[], 5).unwrap_err()).to_string();
        assert!(error.contains(expected), "{error}");
        assert!(!connection.is_usable);
    };
    check(&[], &[], "the server closed it");
    check(
        &[vec![b'D', 0x7f, 0xff, 0xff, 0xff]],
        &[],
        "larger than the limit of 8 MiB",
    );
    check(
        &[vec![b'D', 0xff, 0xff, 0xff, 0xff]],
        &[],
        "invalid message length",
    );
    check(&[vec![b'?', 0, 0, 0, 4]], &[], "unknown message tag");
    check(
        &[description()],
        &row(b"1"),
        "other rows than it was asked for",
    );
    check(&[row(b"1")], &[], "other rows");
    check(
        &[description(), message(b'D', b"\0\x01\0\0\0\x09x")],
        &[],
        "a row is not valid",
    );
    // Notices without an end.
    check(
        &[],
        &message(b'N', b"SNOTICE\0\0"),
        "larger than the limit of 8 MiB",
    );
    check(
        &[description()],
        &description(),
        "larger than the limit of 8 MiB",
    );
    check(&[message(b'H', b"\0\0\0")], &[], "COPY");
}

#[test]
fn unsafe_authentication_is_refused() {
    let check = |password: Option<&str>, messages: &[Vec<u8>], expected: &str| {
        let error = log_in(Box::new(script(messages, &[])), &server(password))
            .map(drop)
            .unwrap_err();
        assert!(
            Error::from(error).to_string().contains(expected),
            "{expected}"
        );
    };
    let authentication = |kind: u8, data: &[u8]| message(b'R', &[&[0, 0, 0, kind], data].concat());
    let scram = authentication(10, b"SCRAM-SHA-256\0\0");
    check(
        Some("p"),
        &[authentication(0, b"")],
        "did not ask for the password",
    );
    check(Some("p"), &[authentication(3, b"")], "scram-sha-256");
    check(Some("p"), &[authentication(5, b"salt")], "scram-sha-256");
    check(None, std::slice::from_ref(&scram), "set `password`");
    check(
        Some("p"),
        &[authentication(10, b"OTHER\0\0")],
        "does not offer SCRAM-SHA-256",
    );
    check(
        Some("p"),
        &[scram.clone(), authentication(0, b"")],
        "did not prove",
    );
    check(
        Some("p"),
        &[
            scram.clone(),
            authentication(11, b"r=other,s=c2FsdA==,i=4096"),
        ],
        "authentication failed",
    );
    check(
        Some("p"),
        &[scram, authentication(12, b"v=AAAA")],
        "authentication failed",
    );
    check(
        None,
        &[refusal("FATAL", "28000", "no pg_hba.conf entry")],
        "try `tls = true`",
    );
    assert!(
        log_in(
            Box::new(script(&[authentication(0, b""), ready()], &[])),
            &server(None)
        )
        .is_ok()
    );
}

#[test]
fn a_server_without_tls_is_refused() {
    let check = |answer: &[u8], pem: Option<&str>, expected: &str| {
        let server = Server {
            certificates: pem.map(str::to_owned),
            ..server(None)
        };
        let error = encrypted(script(&[answer.to_vec()], &[]), &server)
            .map(drop)
            .unwrap_err()
            .to_string();
        assert!(error.contains(expected), "{error}");
    };
    check(b"N", None, "offers no TLS");
    check(b"E", None, "not a PostgreSQL server");
    check(b"", None, "closed the connection");
    check(b"S", Some("text"), "no certificate");
    check(b"Sno handshake", None, "TLS with the database failed");
}

#[test]
fn errors_of_the_server_say_what_to_do() {
    let check = |code: &str, expected: Error| {
        let mut connection = connection(&[refusal("ERROR", code, "m"), ready()], &[]);
        assert_eq!(
            Error::from(connection.run("SELECT 1").unwrap_err()),
            expected,
            "{code}"
        );
    };
    check(
        "57014",
        Error::Unavailable("the database took longer than the setting `statement_timeout`".into()),
    );
    check(
        "42501",
        Error::Denied("the user of the database may not do this: m".into()),
    );
    check(
        "25006",
        Error::failed("the query would change the database"),
    );
    check("53300", Error::Unavailable("the database: m".into()));
    check("42P01", Error::failed("PostgreSQL: m (42P01)"));
    assert!(matches!(
        Failure::from(io::Error::other("x")),
        Failure::Broken(_)
    ));
}
