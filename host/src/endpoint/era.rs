//! Which revision of the protocol a request speaks, decided from its body; headers only confirm. The order of the
//! checks is part of the protocol: the first that fails answers.

use std::borrow::Cow;

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

use super::message::{Params, Request};
use super::method::Method;
use super::refusal::{HEADER, PARAMS, REQUEST, Refusal, VERSION, clip};
use super::scan::Json;

/// The revision without a handshake.
pub(super) const MODERN: &str = "2026-07-28";
/// The revisions with `initialize`, newest first.
pub(super) const LEGACY: [&str; 3] = ["2025-11-25", "2025-06-18", "2025-03-26"];

const VERSION_HEADER: HeaderName = HeaderName::from_static("mcp-protocol-version");
pub(super) const METHOD_HEADER: HeaderName = HeaderName::from_static("mcp-method");
pub(super) const NAME_HEADER: HeaderName = HeaderName::from_static("mcp-name");

const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";

/// A revision with `initialize`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Legacy(&'static str);

impl Legacy {
    pub(super) fn of(version: &str) -> Option<Self> {
        LEGACY.into_iter().find(|known| *known == version).map(Self)
    }

    /// The revision asked for, or the newest of ours.
    pub(super) fn negotiate(version: &str) -> Self {
        Self::of(version).unwrap_or(Self(LEGACY[0]))
    }

    /// The revision for a handshake.
    pub(super) fn requested(request: &Request<'_>) -> Result<Self, Refusal> {
        if let Some(fault) = &request.params.fault {
            return Err(fault.clone().into());
        }
        Ok(Self::negotiate(&request.params.fields.needed_text("protocolVersion")?))
    }

    pub(super) fn as_str(self) -> &'static str {
        self.0
    }

    /// Whether a stream begins with an empty event that only has an id. Clients of before take it for a message.
    pub(super) fn has_first_ids(self) -> bool {
        self.0 >= "2025-11-25"
    }

    /// Batches were in one revision only.
    pub(super) fn has_batches(self) -> bool {
        self.0 == "2025-03-26"
    }
}

/// Where a request goes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Era {
    Modern(Method),
    Listen,
    Initialize,
    Legacy,
}

/// Whether a message says by itself that it is of the modern era.
pub(super) fn claims(params: &Params<'_>) -> bool {
    params.meta.get(VERSION_KEY).is_some()
}

/// Sorts a request. On stdio there are no headers, and nothing is checked against them.
pub(super) fn classify(request: &Request<'_>, headers: Option<&HeaderMap>) -> Result<Era, Refusal> {
    match request.params.meta.get(VERSION_KEY) {
        Some(claim) => modern(request, claim, headers),
        None => unclaimed(request, headers),
    }
}

fn modern(request: &Request<'_>, claim: Json<'_>, headers: Option<&HeaderMap>) -> Result<Era, Refusal> {
    let Some(claim) = claim.string() else {
        return Err(Refusal::early(PARAMS, format!("`_meta.{VERSION_KEY}` must be a string")));
    };
    if !request.params.meta.get(CAPABILITIES_KEY).is_some_and(|raw| raw.get().starts_with('{')) {
        return Err(Refusal::early(
            PARAMS,
            format!("`_meta.{CAPABILITIES_KEY}` is missing or not an object"),
        ));
    }
    let confirming = headers.map(Confirming::read);
    let header =
        confirming.as_ref().map(|headers| headers.version.text(&VERSION_HEADER)).transpose()?.flatten();
    if header.is_some_and(|header| header != claim) {
        return Err(mismatch("MCP-Protocol-Version", header, &claim));
    }
    if claim != MODERN {
        return Err(not_spoken(&claim));
    }
    if let Some(headers) = confirming {
        if header.is_none() {
            return Err(mismatch("MCP-Protocol-Version", None, &claim));
        }
        headers.confirm(request)?;
    }
    if request.method == "subscriptions/listen" {
        return Ok(Era::Listen);
    }
    Method::modern(&request.method)
        .map(Era::Modern)
        .ok_or_else(|| Refusal::unknown_method(&request.method).with_status(StatusCode::NOT_FOUND))
}

/// The headers that gateways route by, found in one pass: each look into the map by name costs more than it.
#[derive(Default)]
struct Confirming<'h> {
    version: Sole<'h>,
    method: Sole<'h>,
    name: Sole<'h>,
}

impl<'h> Confirming<'h> {
    fn read(headers: &'h HeaderMap) -> Self {
        let mut all = Self::default();
        for (name, value) in headers {
            match name.as_str() {
                "mcp-protocol-version" => all.version.see(value),
                "mcp-method" => all.method.see(value),
                "mcp-name" => all.name.see(value),
                _ => {}
            }
        }
        all
    }

    /// They must say what the body says.
    fn confirm(&self, request: &Request<'_>) -> Result<(), Refusal> {
        let method = self.method.text(&METHOD_HEADER)?;
        if method != Some(&*request.method) {
            return Err(mismatch("Mcp-Method", method, &request.method));
        }
        if Method::modern(&request.method) != Some(Method::Read) {
            return Ok(());
        }
        let name = self.name.text(&NAME_HEADER)?;
        let plain = name.map(unwrap_name).ok_or_else(|| mismatch("Mcp-Name", None, "params.uri"))??;
        // A `uri` that is no text is the method's to refuse.
        match request.params.fields.text("uri") {
            Ok(Some(uri)) if uri != plain => Err(mismatch("Mcp-Name", name, &uri)),
            _ => Ok(()),
        }
    }
}

/// A header that may come once. Two values are as bad as a wrong one: who stands between might look at the other.
#[derive(Default)]
struct Sole<'h> {
    value: Option<&'h HeaderValue>,
    is_repeated: bool,
}

impl<'h> Sole<'h> {
    fn see(&mut self, value: &'h HeaderValue) {
        self.is_repeated = self.value.replace(value).is_some();
    }

    fn text(&self, name: &HeaderName) -> Result<Option<&'h str>, Refusal> {
        let Some(value) = self.value else { return Ok(None) };
        let text = value.to_str().ok().filter(|_| !self.is_repeated).ok_or_else(|| {
            Refusal::early(HEADER, format!("header mismatch: `{name}` is repeated or not plain ASCII"))
        })?;
        Ok(Some(text.trim()))
    }
}

/// A value that headers cannot carry comes as `=?base64?…?=`.
fn unwrap_name(value: &str) -> Result<Cow<'_, str>, Refusal> {
    let Some(coded) = value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) else {
        return Ok(value.into());
    };
    let bytes = base64_simd::STANDARD.decode_to_vec(coded.as_bytes()).ok();
    bytes
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .map(Cow::Owned)
        .ok_or_else(|| Refusal::early(HEADER, "header mismatch: Mcp-Name is not base64 of UTF-8"))
}

fn unclaimed(request: &Request<'_>, headers: Option<&HeaderMap>) -> Result<Era, Refusal> {
    let modern = headers.map(said_version).transpose()?.flatten().is_some_and(is_modern);
    if request.method == "initialize" {
        return if modern {
            Err(Refusal::early(
                HEADER,
                "header mismatch: `initialize` is not in the version that MCP-Protocol-Version names",
            ))
        } else {
            Ok(Era::Initialize)
        };
    }
    if modern || request.method == "server/discover" {
        let why = request.params.fault.as_ref().map(|fault| format!(" ({fault})")).unwrap_or_default();
        let keys = format!("`{VERSION_KEY}` and `{CAPABILITIES_KEY}`");
        return Err(Refusal::early(PARAMS, format!("`params._meta` must have {keys}{why}")));
    }
    Ok(Era::Legacy)
}

/// The modern revision, or one that is still to come.
fn is_modern(version: &str) -> bool {
    let dated = version.len() == 10
        && version
            .bytes()
            .enumerate()
            .all(|(n, byte)| if matches!(n, 4 | 7) { byte == b'-' } else { byte.is_ascii_digit() });
    dated && version >= MODERN
}

/// The version that the header names.
fn said_version(headers: &HeaderMap) -> Result<Option<&str>, Refusal> {
    Confirming::read(headers).version.text(&VERSION_HEADER)
}

/// Whether the header says that a message is of the modern era.
pub(super) fn speaks_modern(headers: &HeaderMap) -> bool {
    said_version(headers).is_ok_and(|version| version.is_some_and(is_modern))
}

/// What the version header of a message in a legacy session may say.
pub(super) fn check_legacy_header(headers: &HeaderMap) -> Result<(), Refusal> {
    match said_version(headers)? {
        Some(version) if Legacy::of(version).is_none() => Err(Refusal::early(
            REQUEST,
            format!(
                "MCP-Protocol-Version `{}` is not supported: use the version that was negotiated",
                clip(version, 40)
            ),
        )),
        _ => Ok(()),
    }
}

fn not_spoken(claim: &str) -> Refusal {
    Refusal::early(VERSION, "unsupported protocol version: use one of data.supported").with_data(|data| {
        data.texts("supported", std::iter::once(MODERN).chain(LEGACY));
        data.text("requested", &clip(claim, 100));
    })
}

fn mismatch(header: &str, value: Option<&str>, body: &str) -> Refusal {
    let body = clip(body, 200);
    Refusal::early(
        HEADER,
        match value {
            Some(value) => {
                format!("header mismatch: {header} is `{}`, the body says `{body}`", clip(value, 200))
            }
            None => format!("header mismatch: {header} is missing, the body says `{body}`"),
        },
    )
}

#[cfg(test)]
mod tests;
