//! One span: what was done, from when to when, and below which other. It is handed over when it ends, however that
//! comes. Names and keys are ours; what clients and guests say may stand in values only.

use std::fmt;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use super::Trace;

/// Bytes of a text in a value.
const LONGEST: usize = 1 << 10;

/// Takes spans that ended. It must not wait.
#[derive(Clone)]
pub struct Recorder(Arc<dyn Fn(Span) + Send + Sync>);

impl Recorder {
    /// Hands spans over in this way.
    pub fn new(take: impl Fn(Span) + Send + Sync + 'static) -> Self {
        Self(Arc::new(take))
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Recorder")
    }
}

/// Who asked for what a span is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Somebody outside.
    Server,
    /// This house.
    Internal,
}

/// What is said of a span.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A text.
    Text(String),
    /// A number.
    Number(i64),
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text[..text.floor_char_boundary(LONGEST)].to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::Number(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

/// A span that ended.
#[derive(Debug)]
pub struct Span {
    /// Where it stands itself.
    place: Trace,
    /// The span that it is below, and whether that is another process's.
    parent: Option<(String, bool)>,
    /// What was done.
    pub name: String,
    /// For whom.
    pub kind: Kind,
    /// When it began.
    pub began: SystemTime,
    /// When it ended.
    pub ended: SystemTime,
    /// What else there is to say.
    pub said: Vec<(&'static str, Value)>,
    /// The word for how it failed.
    pub error: Option<String>,
}

impl Span {
    /// The trace that it belongs to.
    pub fn trace(&self) -> &str {
        self.place.id()
    }

    /// Its own name in the trace.
    pub fn id(&self) -> &str {
        self.place.span()
    }

    /// What vendors wrote into the trace.
    pub fn state(&self) -> Option<&str> {
        self.place.state.as_deref()
    }

    /// The span that it is below, if any.
    pub fn parent(&self) -> Option<&str> {
        self.parent.as_ref().map(|(parent, _)| parent.as_str())
    }

    /// Whether that one is another process's.
    pub fn is_parent_remote(&self) -> bool {
        self.parent.as_ref().is_some_and(|(_, remote)| *remote)
    }
}

/// A span that goes on. One that is dropped has ended because nobody waits for it any more.
#[derive(Debug)]
pub struct Open {
    span: Option<Span>,
    recorder: Recorder,
    began: Instant,
}

impl Open {
    /// The span of a request, below the client's if there is one.
    pub fn of_request(recorder: Recorder, parent: Option<&Trace>, name: String) -> Self {
        match parent {
            Some(parent) => Self::below(parent, recorder, name, Kind::Server),
            None => Self::new(recorder, &id(16), None, None, (name, Kind::Server)),
        }
    }

    pub(super) fn below(parent: &Trace, recorder: Recorder, name: String, kind: Kind) -> Self {
        let above = Some((parent.span().to_owned(), kind == Kind::Server));
        Self::new(recorder, parent.id(), above, parent.state.clone(), (name, kind))
    }

    fn new(
        recorder: Recorder,
        trace: &str,
        parent: Option<(String, bool)>,
        state: Option<String>,
        (name, kind): (String, Kind),
    ) -> Self {
        let place =
            Trace { parent: format!("00-{trace}-{}-01", id(8)), state, recorder: Some(recorder.clone()) };
        let now = SystemTime::now();
        let (said, error) = (Vec::with_capacity(8), Some("cancelled".to_owned()));
        let span = Span { place, parent, name, kind, began: now, ended: now, said, error };
        Self { span: Some(span), recorder, began: Instant::now() }
    }

    /// Its place, for what is below it.
    pub fn place(&self) -> Option<&Trace> {
        self.span.as_ref().map(|span| &span.place)
    }

    /// Says something of it.
    pub fn say(&mut self, key: &'static str, value: impl Into<Value>) {
        if let Some(span) = &mut self.span {
            span.said.push((key, value.into()));
        }
    }

    /// Ends it. `error` is the word for what went wrong.
    pub fn end(mut self, error: Option<String>) {
        if let Some(span) = &mut self.span {
            span.error = error;
        }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if let Some(mut span) = self.span.take() {
            // By the clock that never jumps, so that no span ends before it began.
            span.ended = span.began + self.began.elapsed();
            (self.recorder.0)(span);
        }
    }
}

/// So many bytes by chance, in hexadecimal. Not all of them are 0, which would be no name.
fn id(bytes: usize) -> String {
    let mut random = [0; 16];
    if getrandom::fill(&mut random[..bytes]).is_err() || random.iter().all(|byte| *byte == 0) {
        random[0] = 1;
    }
    random[..bytes].iter().map(|byte| format!("{byte:02x}")).collect()
}
