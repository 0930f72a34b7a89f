//! Counts the calls of one guest, and returns the count and the caller. `again://trap` traps in every call except the
//! first, `again://slow-trap` also traps, after 700 ms, `again://left` panics after 700 ms in every call except the
//! first, which returns the remaining time, `again://grow/BYTES` allocates memory and does not free it, and
//! `again://error` is not found.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use larder_provider::{
    Content, Entry, EntryPage, Error, Provider, Query, Reading, Request, Result, Template,
    TemplatePage, caller, paginate, time_left,
};

static CALLS: AtomicU32 = AtomicU32::new(0);

struct Again;

impl Provider for Again {
    fn new() -> Result<Self> {
        Ok(Self)
    }

    fn list(&self, query: &Query) -> Result<EntryPage> {
        Ok(paginate([Entry::new("again://now", "now")], query))
    }

    fn templates(&self, _cursor: Option<&str>) -> Result<TemplatePage> {
        Ok(vec![Template::new("again://{what}{/bytes}", "again")].into())
    }

    fn read(&self, request: &Request) -> Result<Reading> {
        let call = CALLS.fetch_add(1, Ordering::Relaxed) + 1;
        match request.uri.strip_prefix("again://").unwrap_or_default() {
            "trap" if call > 1 => std::process::abort(),
            "slow-trap" => {
                std::thread::sleep(Duration::from_millis(700));
                if call > 1 {
                    std::process::abort();
                }
            }
            "left" if call > 1 => {
                std::thread::sleep(Duration::from_millis(700));
                panic!("the reused guest panics\nin two lines");
            }
            "left" => return Ok(Content::text(time_left().as_millis().to_string()).into()),
            "error" => return Err(Error::NotFound),
            grow if grow.starts_with("grow/") => {
                std::mem::forget(vec![1u8; grow["grow/".len()..].parse().unwrap_or_default()]);
            }
            _ => {}
        }
        let subject = caller()
            .and_then(|caller| caller.subject)
            .unwrap_or_default();
        Ok(Content::text(format!("call {call} for {subject}"))
            .mime("text/plain")
            .into())
    }
}

larder_provider::export!(Again);
