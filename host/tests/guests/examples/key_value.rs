//! Uses the key-value store as the URI says, also as much as possible.

use guests::key_value::{self, Bucket, Failure};
use guests::*;

struct KeyValue;

/// The largest value that a host stores.
const LARGEST: usize = 1 << 20;

/// The templates, without their scheme, which is a setting.
const PATHS: [&str; 10] = [
    "get/{bucket}/{key}",
    "fresh/{bucket}/{key}",
    "set/{bucket}/{key}/{value}",
    "set-bytes/{bucket}/{key}/{size}",
    "delete/{bucket}/{key}",
    "increment/{bucket}/{key}",
    "swap/{bucket}/{key}{?expected,value}",
    "keys/{bucket}{?prefix,cursor,limit}",
    "remembered/{bucket}/{key}",
    "flood/{how}",
];

impl Behaviour for KeyValue {
    fn templates() -> Vec<&'static str> {
        let scheme = host::setting("scheme").unwrap_or_else(|| "key-value".to_owned());
        PATHS
            .map(|path| &*format!("{scheme}://{path}").leak())
            .to_vec()
    }

    fn read(request: ReadRequest) -> Result<Reading, Error> {
        let bucket = if value(&request, "bucket") == "caller" {
            Bucket::Caller
        } else {
            Bucket::Shared
        };
        let (key, given) = (value(&request, "key"), value(&request, "value"));
        let path = request.uri.split_once("://").map_or("", |(_, path)| path);
        match path.split('/').next() {
            Some("get") => shown(get(bucket, key)),
            Some("fresh") => fresh(get(bucket, key)),
            Some("remembered") => fresh(Ok(remembered(bucket, key))),
            Some("set") => shown(key_value::set(bucket, key, given.as_bytes())),
            Some("set-bytes") => {
                let size = value(&request, "size").parse().unwrap_or(0);
                shown(key_value::set(bucket, key, &vec![b'x'; size]))
            }
            Some("delete") => shown(key_value::delete(bucket, key)),
            Some("increment") => shown(increment(bucket, key)),
            Some("swap") => {
                let some =
                    |name| Some(value(&request, name).as_bytes()).filter(|bytes| !bytes.is_empty());
                shown(key_value::compare_and_swap(
                    bucket,
                    key,
                    some("expected"),
                    some("value"),
                ))
            }
            Some("keys") => {
                let cursor = Some(value(&request, "cursor")).filter(|cursor| !cursor.is_empty());
                let limit = value(&request, "limit").parse().unwrap_or(1_000);
                let page = key_value::list_keys(bucket, value(&request, "prefix"), cursor, limit);
                shown(page.map(|page| (page.keys, page.next_cursor)))
            }
            Some("flood") => shown(flood(value(&request, "how"))),
            _ => Err(Error::NotFound),
        }
    }
}

fn get(bucket: Bucket, key: &str) -> Result<Option<String>, Failure> {
    let value = key_value::get(bucket, key)?;
    Ok(value.map(|value| String::from_utf8_lossy(&value).into_owned()))
}

/// A value that this guest read in an earlier call.
fn remembered(bucket: Bucket, key: &str) -> Option<String> {
    static VALUE: std::sync::Mutex<Option<String>> = std::sync::Mutex::new(None);
    let mut value = VALUE.lock().unwrap();
    if value.is_none() {
        *value = get(bucket, key).ok().flatten();
    }
    value.clone()
}

/// Adds one to a number, also if several calls do so at the same time.
fn increment(bucket: Bucket, key: &str) -> Result<u32, Failure> {
    loop {
        let current = key_value::get(bucket, key)?;
        let number = current
            .as_ref()
            .and_then(|text| std::str::from_utf8(text).ok()?.parse().ok());
        let next = number.unwrap_or(0) + 1;
        if key_value::compare_and_swap(
            bucket,
            key,
            current.as_deref(),
            Some(next.to_string().as_bytes()),
        )? {
            return Ok(next);
        }
    }
}

/// Uses the store as much as possible.
fn flood(how: &str) -> Result<u32, Failure> {
    match how {
        "keys" => {
            for n in 0..1_000_000 {
                // Continues if there are too many keys.
                _ = key_value::set(Bucket::Shared, &format!("key {n}"), b"x");
            }
        }
        "bytes" => {
            let value = vec![b'x'; LARGEST - 1_000];
            for _ in 0..1_000 {
                key_value::set(Bucket::Shared, "big", &value)?;
            }
        }
        _ => {
            for _ in 0..1_000_000 {
                key_value::list_keys(Bucket::Shared, "", None, 1_000)?;
            }
        }
    }
    Ok(0)
}

fn shown<T: std::fmt::Debug>(result: Result<T, Failure>) -> Result<Reading, Error> {
    text(match result {
        Ok(value) => format!("ok: {value:?}"),
        Err(failure) => format!("refused: {failure:?}"),
    })
}

/// Declares that every caller may use the answer.
fn fresh(result: Result<Option<String>, Failure>) -> Result<Reading, Error> {
    let reading = shown(result)?;
    Ok(Reading {
        freshness: Some(Freshness {
            ttl_ms: 60_000,
            scope: Scope::Everyone,
        }),
        ..reading
    })
}

guests::export!(KeyValue);
