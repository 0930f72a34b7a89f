//! Uses the proposals of WASI that other hosts offer, as the URI says: `wasi:config`, `wasi:keyvalue` in both drafts, and
//! `wasi:logging`. `contract` reads a value with the contract instead.

use guests::key_value::{self as contract, Bucket};
use guests::*;

mod proposals;

use proposals::wasi;

struct Proposals;

impl Behaviour for Proposals {
    fn templates() -> Vec<&'static str> {
        vec![
            "proposals://config/{version}/{name}",
            "proposals://all-config/{version}",
            "proposals://log/{level}/{context}/{message}",
            "proposals://contract/{operation}/{bucket}/{key}{?value}",
            "proposals://draft/{operation}/{bucket}{?key,value,cursor}",
            "proposals://draft2/{operation}/{bucket}{?key,value,cursor}",
        ]
    }

    fn read(request: ReadRequest) -> Result<Reading, Error> {
        let path = request.uri.split_once("://").map_or("", |(_, path)| path);
        let version = value(&request, "version");
        text(match path.split('/').next() {
            Some("config") => config(version, value(&request, "name")),
            Some("all-config") => all_config(version),
            Some("log") => {
                log(
                    value(&request, "level"),
                    value(&request, "context"),
                    value(&request, "message"),
                );
                "logged".to_owned()
            }
            Some("contract") => with_contract(&request),
            Some("draft") => first_draft::operation(&request),
            _ => second_draft::operation(&request),
        })
    }
}

fn config(version: &str, name: &str) -> String {
    match version {
        "rc.1" => format!("{:?}", wasi::config0_2_0_rc_1::store::get(name)),
        "draft" => format!("{:?}", wasi::config0_2_0_draft::store::get(name)),
        _ => format!("{:?}", wasi::config0_2_0_draft_2024_09_27::store::get(name)),
    }
}

fn all_config(version: &str) -> String {
    match version {
        "rc.1" => format!("{:?}", wasi::config0_2_0_rc_1::store::get_all()),
        "draft" => format!("{:?}", wasi::config0_2_0_draft::store::get_all()),
        _ => format!("{:?}", wasi::config0_2_0_draft_2024_09_27::store::get_all()),
    }
}

fn log(level: &str, context: &str, message: &str) {
    use wasi::logging::logging::{Level, log};
    let level = match level {
        "trace" => Level::Trace,
        "debug" => Level::Debug,
        "info" => Level::Info,
        "warn" => Level::Warn,
        "error" => Level::Error,
        _ => Level::Critical,
    };
    log(level, context, message);
}

fn with_contract(request: &ReadRequest) -> String {
    let bucket = if value(request, "bucket") == "caller" {
        Bucket::Caller
    } else {
        Bucket::Shared
    };
    let key = value(request, "key");
    if value(request, "operation") == "set" {
        let value = value(request, "value");
        return format!("{:?}", contract::set(bucket, key, value.as_bytes()));
    }
    let value = contract::get(bucket, key).map(|value| value.map(lossy));
    format!("{value:?}")
}

fn lossy(bytes: Vec<u8>) -> String {
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The text of a result without the names of the bindings.
fn shown<T: std::fmt::Debug, E: std::fmt::Debug>(result: Result<T, E>) -> String {
    match result {
        Ok(value) => format!("ok: {value:?}"),
        Err(error) => format!("refused: {error:?}"),
    }
}

/// The operations that both drafts have.
macro_rules! operations {
    ($package:ident, $number:ty, $cursor:ident, $others:ident) => {
        use super::wasi::$package::{atomics, batch, store};
        use super::*;

        pub(super) fn operation(request: &ReadRequest) -> String {
            let name = value(request, "bucket");
            let opened = store::open(if name == "-" { "" } else { name });
            let bucket = match opened {
                Ok(bucket) => bucket,
                Err(error) => return format!("not opened: {error:?}"),
            };
            let (key, given) = (value(request, "key"), value(request, "value"));
            let keys: Vec<String> = key.split('.').map(str::to_owned).collect();
            match value(request, "operation") {
                "get" => shown(bucket.get(key).map(|value| value.map(lossy))),
                "set" => shown(bucket.set(key, given.as_bytes())),
                "set-bytes" => {
                    let size = given.parse().unwrap_or(0);
                    shown(bucket.set(key, &vec![b'x'; size]))
                }
                "delete" => shown(bucket.delete(key)),
                "exists" => shown(bucket.exists(key)),
                "keys" => {
                    let cursor = Some(value(request, "cursor")).filter(|cursor| !cursor.is_empty());
                    let page = bucket.list_keys($cursor(cursor));
                    shown(page.map(|page| (summary(&page.keys), page.cursor)))
                }
                "increment" => {
                    let delta: $number = given.parse().unwrap_or(1);
                    shown(atomics::increment(&bucket, key, delta))
                }
                "get-many" => shown(batch::get_many(&bucket, &keys)),
                "get-many-size" => {
                    let found = batch::get_many(&bucket, &keys);
                    shown(found.map(|found| found.len()))
                }
                "set-many" => {
                    let values = keys.iter();
                    let values = values.map(|key| (key.clone(), given.as_bytes().to_vec()));
                    shown(batch::set_many(&bucket, &values.collect::<Vec<_>>()))
                }
                "fill" => {
                    let count: usize = given.parse().unwrap_or(0);
                    let values = (0..count).map(|n| (format!("key {n:05}"), vec![b'x']));
                    shown(batch::set_many(&bucket, &values.collect::<Vec<_>>()))
                }
                "delete-many" => shown(batch::delete_many(&bucket, &keys)),
                _ => $others(&bucket, request),
            }
        }
    };
}

/// Shortens a long list of keys.
fn summary(keys: &[String]) -> String {
    match keys {
        [first, .., last] if keys.len() > 5 => format!("{first}..{last} ({})", keys.len()),
        _ => keys.join(" "),
    }
}

mod first_draft {
    operations!(keyvalue0_2_0_draft, u64, cursor, others);

    fn cursor(text: Option<&str>) -> Option<u64> {
        text?.parse().ok()
    }

    fn others(_bucket: &store::Bucket, _request: &ReadRequest) -> String {
        "no such operation".to_owned()
    }
}

mod second_draft {
    operations!(keyvalue0_2_0_draft2, i64, cursor, others);

    fn cursor(text: Option<&str>) -> Option<&str> {
        text
    }

    /// Compare-and-swap: alone, after another change of the value, and in a loop that adds one.
    fn others(bucket: &store::Bucket, request: &ReadRequest) -> String {
        let (key, given) = (value(request, "key"), value(request, "value"));
        match value(request, "operation") {
            "swap" => {
                let cas = atomics::Cas::new(bucket, key).unwrap();
                swapped(atomics::swap(cas, given.as_bytes()))
            }
            "late-swap" => {
                let cas = atomics::Cas::new(bucket, key).unwrap();
                bucket.set(key, b"in between").unwrap();
                swapped(atomics::swap(cas, given.as_bytes()))
            }
            "hold" => hold(bucket, key, given.parse().unwrap_or(0)),
            _ => add_one(bucket, key),
        }
    }

    fn swapped(result: Result<(), atomics::CasError>) -> String {
        match result {
            Ok(()) => "swapped".to_owned(),
            Err(atomics::CasError::StoreError(error)) => format!("refused: {error:?}"),
            Err(atomics::CasError::CasFailed(cas)) => {
                let current = cas.current().map(|value| value.map(lossy));
                format!("not swapped, now {current:?}")
            }
        }
    }

    /// Holds a value in many handles.
    fn hold(bucket: &store::Bucket, key: &str, count: usize) -> String {
        let handles = (0..count).map(|_| atomics::Cas::new(bucket, key));
        let handles: Result<Vec<_>, _> = handles.collect();
        shown(handles.map(|handles| handles.len()))
    }

    fn add_one(bucket: &store::Bucket, key: &str) -> String {
        let mut cas = atomics::Cas::new(bucket, key).unwrap();
        loop {
            let current = cas.current().unwrap();
            let number = current.and_then(|text| lossy(text).parse::<u32>().ok());
            let next = (number.unwrap_or(0) + 1).to_string();
            match atomics::swap(cas, next.as_bytes()) {
                Ok(()) => return next,
                Err(atomics::CasError::CasFailed(again)) => cas = again,
                Err(atomics::CasError::StoreError(error)) => return format!("{error:?}"),
            }
        }
    }
}

guests::export!(Proposals);
