//! Says which call of this guest it is, and for whom. `again://trap` traps in every call but a guest's first,
//! `again://grow/BYTES` takes so much memory and keeps it, `again://error` is not there.

use std::sync::atomic::{AtomicU32, Ordering};

use larder_provider::{
    Content, Entry, EntryPage, Error, Provider, Query, Reading, Request, Result, Template, TemplatePage,
    caller, paginate,
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
            "error" => return Err(Error::NotFound),
            grow if grow.starts_with("grow/") => {
                std::mem::forget(vec![1u8; grow["grow/".len()..].parse().unwrap_or_default()]);
            }
            _ => {}
        }
        let who = caller().and_then(|caller| caller.subject).unwrap_or_default();
        Ok(Content::text(format!("call {call} for {who}")).mime("text/plain").into())
    }
}

larder_provider::export!(Again);
