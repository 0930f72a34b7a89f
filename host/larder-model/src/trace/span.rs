//! One span: an operation with its start, its end and its parent. The span is always recorded when it is dropped. Span
//! names and attribute keys are fixed by Larder. Texts from clients and guests may appear only in attribute values.

use std::fmt;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use super::TraceContext;

/// The longest text of an attribute value in bytes.
const MAX_TEXT_BYTES: usize = 1 << 10;

/// Receives finished spans. It must not block.
#[derive(Clone)]
pub struct SpanRecorder(Arc<dyn Fn(SpanData) + Send + Sync>);

impl SpanRecorder {
    /// Creates a recorder that calls this function with each finished span.
    pub fn new(record: impl Fn(SpanData) + Send + Sync + 'static) -> Self {
        Self(Arc::new(record))
    }
}

impl fmt::Debug for SpanRecorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SpanRecorder")
    }
}

/// The span kind, as OpenTelemetry defines it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpanKind {
    /// The server side of a client's request.
    Server,
    /// An operation inside this process.
    Internal,
}

/// The value of a span attribute.
#[derive(Debug, Clone, PartialEq)]
pub enum AttributeValue {
    /// A text.
    Text(String),
    /// A number.
    Number(i64),
}

impl From<&str> for AttributeValue {
    fn from(text: &str) -> Self {
        Self::Text(text[..text.floor_char_boundary(MAX_TEXT_BYTES)].to_owned())
    }
}

impl From<String> for AttributeValue {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

impl From<u64> for AttributeValue {
    fn from(number: u64) -> Self {
        Self::Number(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

/// A finished span.
#[derive(Debug)]
pub struct SpanData {
    /// The trace context with this span's own ID.
    context: TraceContext,
    /// The ID of the parent span, and whether the parent is in another process.
    parent: Option<(String, bool)>,
    /// The name of the operation.
    pub name: String,
    /// The span kind.
    pub kind: SpanKind,
    /// Start time.
    pub started: SystemTime,
    /// End time.
    pub ended: SystemTime,
    /// The attributes, without `error.type`.
    pub attributes: Vec<(&'static str, AttributeValue)>,
    /// The value of `error.type`, if the operation failed.
    pub error: Option<String>,
}

impl SpanData {
    /// The ID of the trace.
    pub fn trace_id(&self) -> &str {
        self.context.trace_id()
    }

    /// The ID of this span.
    pub fn span_id(&self) -> &str {
        self.context.span_id()
    }

    /// The `tracestate` of the trace.
    pub fn tracestate(&self) -> Option<&str> {
        self.context.tracestate.as_deref()
    }

    /// The ID of the parent span; none if there is no parent.
    pub fn parent_id(&self) -> Option<&str> {
        self.parent.as_ref().map(|(parent, _)| parent.as_str())
    }

    /// Whether the parent span is in another process.
    pub fn is_parent_remote(&self) -> bool {
        self.parent.as_ref().is_some_and(|(_, remote)| *remote)
    }
}

/// A span that has not ended. If it is dropped without a call of [`ActiveSpan::end`], it is recorded as
/// `cancelled`.
#[derive(Debug)]
pub struct ActiveSpan {
    span: Option<SpanData>,
    recorder: SpanRecorder,
    started: Instant,
}

impl ActiveSpan {
    /// Starts the span of a client's request: a child of the client's span, or the root of a new trace.
    pub fn of_request(recorder: SpanRecorder, parent: Option<&TraceContext>, name: String) -> Self {
        match parent {
            Some(parent) => Self::child(parent, recorder, name, SpanKind::Server),
            None => Self::new(recorder, &random_id(16), None, None, name, SpanKind::Server),
        }
    }

    pub(super) fn child(
        parent: &TraceContext,
        recorder: SpanRecorder,
        name: String,
        kind: SpanKind,
    ) -> Self {
        let parent_id = Some((parent.span_id().to_owned(), kind == SpanKind::Server));
        Self::new(
            recorder,
            parent.trace_id(),
            parent_id,
            parent.tracestate.clone(),
            name,
            kind,
        )
    }

    fn new(
        recorder: SpanRecorder,
        trace_id: &str,
        parent: Option<(String, bool)>,
        tracestate: Option<String>,
        name: String,
        kind: SpanKind,
    ) -> Self {
        let traceparent = format!("00-{trace_id}-{}-01", random_id(8));
        let context = TraceContext {
            traceparent,
            tracestate,
            recorder: Some(recorder.clone()),
        };
        let now = SystemTime::now();
        let attributes = Vec::with_capacity(8);
        let error = Some("cancelled".to_owned());
        let span = SpanData {
            context,
            parent,
            name,
            kind,
            started: now,
            ended: now,
            attributes,
            error,
        };
        Self {
            span: Some(span),
            recorder,
            started: Instant::now(),
        }
    }

    /// The trace context for children of this span.
    pub fn context(&self) -> Option<&TraceContext> {
        self.span.as_ref().map(|span| &span.context)
    }

    /// Adds an attribute.
    pub fn set_attribute(&mut self, key: &'static str, value: impl Into<AttributeValue>) {
        if let Some(span) = &mut self.span {
            span.attributes.push((key, value.into()));
        }
    }

    /// Ends the span. `error` is the value of `error.type`, or `None` for success.
    pub fn end(mut self, error: Option<String>) {
        if let Some(span) = &mut self.span {
            span.error = error;
        }
    }
}

impl Drop for ActiveSpan {
    fn drop(&mut self) {
        if let Some(mut span) = self.span.take() {
            // The duration is measured with the monotonic clock, so that no span ends before it starts.
            span.ended = span.started + self.started.elapsed();
            (self.recorder.0)(span);
        }
    }
}

/// Returns this many random bytes in hexadecimal. The result is never only zeros, which would be an invalid ID.
fn random_id(bytes: usize) -> String {
    let mut random = [0; 16];
    if getrandom::fill(&mut random[..bytes]).is_err() || random.iter().all(|byte| *byte == 0) {
        random[0] = 1;
    }
    random[..bytes]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
