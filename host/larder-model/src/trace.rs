//! W3C Trace Context: it is read from the client's request and passed on to providers and to the hosts that they call.
//! This module also contains the spans that are recorded if a collector is configured.

mod span;

pub use self::span::{ActiveSpan, AttributeValue, SpanData, SpanKind, SpanRecorder};

/// The longest `tracestate` that is passed on.
const MAX_TRACESTATE_BYTES: usize = 512;

/// The position of a request in a distributed trace, which another process usually started.
#[derive(Debug, Clone)]
pub struct TraceContext {
    traceparent: String,
    tracestate: Option<String>,
    /// Receives the spans that start below this position. `None` if nothing is recorded.
    recorder: Option<SpanRecorder>,
}

impl TraceContext {
    /// Parses `traceparent` and `tracestate`. Returns `None` if `traceparent` is invalid. Ignores a
    /// `tracestate` that is too long or is not printable ASCII.
    pub fn parse(traceparent: &str, tracestate: Option<&str>) -> Option<Self> {
        let mut parts = traceparent.split('-');
        let version = parts.next()?;
        let trace = parts.next()?;
        let span = parts.next()?;
        let flags = parts.next()?;
        // Later versions may have more parts, but the known parts keep their positions.
        let is_version =
            is_hex(version, 2) && version != "ff" && (version != "00" || parts.next().is_none());
        if !is_version || !is_id(trace, 32) || !is_id(span, 16) || !is_hex(flags, 2) {
            return None;
        }
        let tracestate = tracestate.map(str::trim);
        Some(Self {
            traceparent: format!("00-{trace}-{span}-{flags}"),
            tracestate: tracestate
                .filter(|state| is_valid_state(state))
                .map(ToOwned::to_owned),
            recorder: None,
        })
    }

    /// Whether the `sampled` flag is set: the caller recorded the trace.
    pub fn is_sampled(&self) -> bool {
        let flags = self
            .traceparent
            .rsplit('-')
            .next()
            .and_then(|flags| u8::from_str_radix(flags, 16).ok());
        flags.is_some_and(|flags| flags & 1 == 1)
    }

    /// Starts a child span, if spans are recorded.
    pub fn start_span(&self, name: impl FnOnce() -> String) -> Option<ActiveSpan> {
        let recorder = self.recorder.clone()?;
        Some(ActiveSpan::child(
            self,
            recorder,
            name(),
            SpanKind::Internal,
        ))
    }

    fn trace_id(&self) -> &str {
        self.traceparent.split('-').nth(1).unwrap_or_default()
    }

    /// The ID of the parent span of new spans.
    fn span_id(&self) -> &str {
        self.traceparent.split('-').nth(2).unwrap_or_default()
    }

    /// Returns the trace context as entries of request metadata: keys and JSON texts.
    pub fn metadata(&self) -> impl Iterator<Item = (String, String)> {
        let json = |text: &str| serde_json::Value::from(text).to_string();
        self.headers()
            .map(move |(name, text)| (name.to_owned(), json(text)))
    }

    /// Returns the trace context as HTTP headers.
    pub fn headers(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let tracestate = self
            .tracestate
            .as_deref()
            .map(|state| ("tracestate", state));
        [("traceparent", self.traceparent.as_str())]
            .into_iter()
            .chain(tracestate)
    }
}

fn is_hex(part: &str, length: usize) -> bool {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    part.len() == length && part.bytes().all(is_digit)
}

fn is_id(part: &str, length: usize) -> bool {
    is_hex(part, length) && part.bytes().any(|byte| byte != b'0')
}

fn is_valid_state(state: &str) -> bool {
    (1..=MAX_TRACESTATE_BYTES).contains(&state.len())
        && state.bytes().all(|byte| matches!(byte, 0x20..=0x7e))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

    #[test]
    fn accepts_only_valid_traceparents() {
        let parse = |parent: &str| TraceContext::parse(parent, None).map(|trace| trace.traceparent);
        let good = format!("00-{TRACE}-b7ad6b7169203331-01");
        assert_eq!(parse(&good).as_deref(), Some(good.as_str()));
        assert_eq!(
            parse(&format!("cc-{TRACE}-b7ad6b7169203331-01-what")).as_deref(),
            Some(good.as_str())
        );
        for bad in [
            String::new(),
            format!("00-{TRACE}-b7ad6b7169203331"),
            format!("00-{TRACE}-b7ad6b7169203331-01-what"),
            format!("ff-{TRACE}-b7ad6b7169203331-01"),
            format!("00-{}-b7ad6b7169203331-01", "0".repeat(32)),
            format!("00-{TRACE}-{}-01", "0".repeat(16)),
            format!("00-{}-b7ad6b7169203331-01", TRACE.to_uppercase()),
            format!("00-{TRACE}-b7ad6b7169203331-1\n"),
        ] {
            assert_eq!(parse(&bad), None, "{bad}");
        }
    }

    #[test]
    fn ignores_a_tracestate_that_no_header_can_carry() {
        let parent = format!("00-{TRACE}-b7ad6b7169203331-01");
        let tracestate = |state: &str| {
            TraceContext::parse(&parent, Some(state)).and_then(|trace| trace.tracestate)
        };
        assert_eq!(tracestate(" a=b,c=d").as_deref(), Some("a=b,c=d"));
        for bad in ["", "a=b\r\nx: y", "\u{e9}", &"x".repeat(513)] {
            assert_eq!(tracestate(bad), None, "{bad}");
        }
    }
}
