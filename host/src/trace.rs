//! Where a request belongs among others, as W3C Trace Context says it: read from who asks, carried on to who is asked;
//! and the spans of it that are recorded on the way, where somebody takes them.

mod span;

pub use self::span::{Kind, Open, Recorder, Span, Value};

/// The longest list of vendors' entries that is carried on.
const LONGEST_STATE: usize = 512;

/// The place of a request in a trace, which most often somebody else began.
#[derive(Debug, Clone)]
pub struct Trace {
    parent: String,
    state: Option<String>,
    /// Takes the spans that begin here; none where nothing is recorded.
    recorder: Option<Recorder>,
}

impl Trace {
    /// Reads `traceparent` and `tracestate`. None where the first is not what it must be; the second alone means
    /// nothing, and is left out where it is not plain text.
    pub fn parse(parent: &str, state: Option<&str>) -> Option<Self> {
        let mut parts = parent.split('-');
        let (version, trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let is_id = |part: &str, length: usize| {
            part.len() == length && part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        };
        let named = |part: &str, length: usize| is_id(part, length) && part.bytes().any(|byte| byte != b'0');
        // Later versions may have more parts; those that are known stay where they are.
        let fits = is_id(version, 2) && version != "ff" && (version != "00" || parts.next().is_none());
        if !fits || !named(trace, 32) || !named(span, 16) || !is_id(flags, 2) {
            return None;
        }
        let plain = |state: &&str| {
            (1..=LONGEST_STATE).contains(&state.len())
                && state.bytes().all(|byte| matches!(byte, 0x20..=0x7e))
        };
        let state = state.map(str::trim).filter(plain).map(ToOwned::to_owned);
        Some(Self { parent: format!("00-{trace}-{span}-{flags}"), state, recorder: None })
    }

    /// Whether who began the trace wants it recorded.
    pub fn is_sampled(&self) -> bool {
        let flags = self.parent.rsplit('-').next().and_then(|flags| u8::from_str_radix(flags, 16).ok());
        flags.is_some_and(|flags| flags & 1 == 1)
    }

    /// Begins a span of this name below this place, where spans are recorded.
    pub fn begin(&self, name: impl FnOnce() -> String) -> Option<Open> {
        let recorder = self.recorder.clone()?;
        Some(Open::below(self, recorder, name(), Kind::Internal))
    }

    /// The name of the trace.
    fn id(&self) -> &str {
        self.parent.split('-').nth(1).unwrap_or_default()
    }

    /// The span that others are below.
    fn span(&self) -> &str {
        self.parent.split('-').nth(2).unwrap_or_default()
    }

    /// The same as entries of metadata: keys and JSON texts.
    pub fn metadata(&self) -> impl Iterator<Item = (String, String)> {
        let json = |text: &str| serde_json::Value::from(text).to_string();
        self.headers().map(move |(name, text)| (name.to_owned(), json(text)))
    }

    /// The headers that carry it on.
    pub fn headers(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let state = self.state.as_deref().map(|state| ("tracestate", state));
        [("traceparent", self.parent.as_str())].into_iter().chain(state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

    #[test]
    fn only_what_is_a_place_is_carried_on() {
        let parse = |parent: &str| Trace::parse(parent, None).map(|trace| trace.parent);
        let good = format!("00-{TRACE}-b7ad6b7169203331-01");
        assert_eq!(parse(&good).as_deref(), Some(good.as_str()));
        assert_eq!(parse(&format!("cc-{TRACE}-b7ad6b7169203331-01-what")).as_deref(), Some(good.as_str()));
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
    fn a_state_is_carried_on_if_a_header_can() {
        let parent = format!("00-{TRACE}-b7ad6b7169203331-01");
        let state = |state: &str| Trace::parse(&parent, Some(state)).and_then(|trace| trace.state);
        assert_eq!(state(" a=b,c=d").as_deref(), Some("a=b,c=d"));
        for bad in ["", "a=b\r\nx: y", "\u{e9}", &"x".repeat(513)] {
            assert_eq!(state(bad), None, "{bad}");
        }
    }
}
