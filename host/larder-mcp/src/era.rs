//! Decides the protocol version of a request from its body; headers must agree with the body. The order of
//! the checks is part of the protocol: the first check that fails determines the error.
//!
//! The modules read a request of each era: its method, parameters, filter and client. They use `subscribe`,
//! `client_side`, `render` and `wire`.

pub(crate) mod extension;
mod filter;
pub(crate) mod method;
pub(crate) mod parameter_headers;
pub(crate) mod peer;
pub(crate) mod request_slot;

use std::borrow::Cow;

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

use self::method::Method;
use crate::wire::message::{Params, Request};
use crate::wire::raw_json::RawJson;
use crate::wire::rpc_error::{
    HEADER_MISMATCH, INVALID_PARAMS, INVALID_REQUEST, RpcError, UNSUPPORTED_PROTOCOL_VERSION, clip,
};

/// The version without a handshake.
pub(super) const MODERN: &str = "2026-07-28";
/// The versions with `initialize`, newest first.
pub(super) const LEGACY: [&str; 3] = ["2025-11-25", "2025-06-18", "2025-03-26"];

const VERSION_HEADER: HeaderName = HeaderName::from_static("mcp-protocol-version");
pub(super) const METHOD_HEADER: HeaderName = HeaderName::from_static("mcp-method");
pub(super) const NAME_HEADER: HeaderName = HeaderName::from_static("mcp-name");

const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";

/// A version with `initialize`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LegacyVersion(&'static str);

impl LegacyVersion {
    pub(super) fn parse(version: &str) -> Option<Self> {
        LEGACY.into_iter().find(|known| *known == version).map(Self)
    }

    /// Returns the requested version if it is supported, else the newest legacy version.
    pub(super) fn negotiate(version: &str) -> Self {
        Self::parse(version).unwrap_or(Self(LEGACY[0]))
    }

    /// Negotiates the version of an `initialize` request.
    pub(super) fn from_initialize(request: &Request<'_>) -> Result<Self, RpcError> {
        if let Some(error) = &request.params.error {
            return Err(error.clone().into());
        }
        Ok(Self::negotiate(
            &request.params.fields.required_text("protocolVersion")?,
        ))
    }

    pub(super) fn as_str(self) -> &'static str {
        self.0
    }

    /// Whether an SSE stream begins with a priming event: an id and empty data. Clients of older versions
    /// take such an event for a message.
    pub(super) fn has_priming_event(self) -> bool {
        self.0 >= "2025-11-25"
    }

    /// Whether JSON-RPC batches are allowed: only one version has them.
    pub(super) fn has_batches(self) -> bool {
        self.0 == "2025-03-26"
    }
}

/// How a request is handled.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RequestKind {
    Modern(Method),
    Listen,
    Initialize,
    Legacy,
}

/// Whether a message has a protocol version in its `_meta`, as every modern message does.
pub(super) fn declares_version(params: &Params<'_>) -> bool {
    params.meta.get(VERSION_KEY).is_some()
}

/// Returns how to handle a request. On stdio there are no headers to check.
pub(super) fn classify(
    request: &Request<'_>,
    headers: Option<&HeaderMap>,
) -> Result<RequestKind, RpcError> {
    match request.params.meta.get(VERSION_KEY) {
        Some(version) => classify_modern(request, version, headers),
        None => classify_without_version(request, headers),
    }
}

fn classify_modern(
    request: &Request<'_>,
    version: RawJson<'_>,
    headers: Option<&HeaderMap>,
) -> Result<RequestKind, RpcError> {
    let Some(version) = version.string() else {
        let message = format!("`_meta.{VERSION_KEY}` must be a string");
        return Err(RpcError::bad_request(INVALID_PARAMS, message));
    };
    check_capabilities(request)?;
    let headers = headers.map(RoutingHeaders::read);
    check_version(&version, headers.as_ref())?;
    if let Some(headers) = headers {
        headers.check(request)?;
    }
    if request.method == "subscriptions/listen" {
        return Ok(RequestKind::Listen);
    }
    Method::modern(&request.method)
        .map(RequestKind::Modern)
        .ok_or_else(|| RpcError::unknown_method(&request.method).with_status(StatusCode::NOT_FOUND))
}

fn check_capabilities(request: &Request<'_>) -> Result<(), RpcError> {
    let capabilities = request.params.meta.get(CAPABILITIES_KEY);
    if capabilities.is_some_and(|raw| raw.get().starts_with('{')) {
        return Ok(());
    }
    let message = format!("`_meta.{CAPABILITIES_KEY}` is missing or not an object");
    Err(RpcError::bad_request(INVALID_PARAMS, message))
}

/// Checks the version, and that the header agrees with it. On stdio there are no headers.
fn check_version(version: &str, headers: Option<&RoutingHeaders<'_>>) -> Result<(), RpcError> {
    let header = match headers {
        Some(headers) => headers.version.text(&VERSION_HEADER)?,
        None => None,
    };
    if header.is_some_and(|header| header != version) {
        return Err(mismatch("MCP-Protocol-Version", header, version));
    }
    if version != MODERN {
        return Err(unsupported_version(version));
    }
    if headers.is_some() && header.is_none() {
        return Err(mismatch("MCP-Protocol-Version", None, version));
    }
    Ok(())
}

/// The headers that proxies use for routing. They are read in one pass over the headers, which costs less than one
/// lookup by name.
#[derive(Default)]
struct RoutingHeaders<'h> {
    version: SingleHeader<'h>,
    method: SingleHeader<'h>,
    name: SingleHeader<'h>,
}

impl<'h> RoutingHeaders<'h> {
    fn read(headers: &'h HeaderMap) -> Self {
        let mut found = Self::default();
        for (name, value) in headers {
            match name.as_str() {
                "mcp-protocol-version" => found.version.add(value),
                "mcp-method" => found.method.add(value),
                "mcp-name" => found.name.add(value),
                _ => {}
            }
        }
        found
    }

    /// Checks that the headers agree with the body.
    fn check(&self, request: &Request<'_>) -> Result<(), RpcError> {
        let method = self.method.text(&METHOD_HEADER)?;
        if method != Some(&*request.method) {
            return Err(mismatch("Mcp-Method", method, &request.method));
        }
        let (key, missing) = match Method::modern(&request.method) {
            Some(Method::Read) => ("uri", "params.uri"),
            Some(Method::CallTool | Method::GetPrompt) => ("name", "params.name"),
            _ => return Ok(()),
        };
        let name = self.name.text(&NAME_HEADER)?;
        let decoded = name
            .map(|name| decode(name, "Mcp-Name"))
            .ok_or_else(|| mismatch("Mcp-Name", None, missing))??;
        // A value that is not a string is rejected when the parameters are read.
        match request.params.fields.text(key) {
            Ok(Some(value)) if value != decoded => Err(mismatch("Mcp-Name", name, &value)),
            _ => Ok(()),
        }
    }
}

/// A header that must not be repeated. A repeated header is rejected also if one value is right, because a proxy might
/// use the other value.
#[derive(Default)]
pub(super) struct SingleHeader<'h> {
    value: Option<&'h HeaderValue>,
    is_repeated: bool,
}

impl<'h> SingleHeader<'h> {
    pub(super) fn add(&mut self, value: &'h HeaderValue) {
        self.is_repeated = self.value.replace(value).is_some();
    }

    pub(super) fn text(&self, name: &HeaderName) -> Result<Option<&'h str>, RpcError> {
        let Some(value) = self.value else {
            return Ok(None);
        };
        let text = value
            .to_str()
            .ok()
            .filter(|_| !self.is_repeated)
            .ok_or_else(|| invalid_header(name))?;
        Ok(Some(text.trim()))
    }
}

fn invalid_header(name: &HeaderName) -> RpcError {
    let message = format!("header mismatch: `{name}` is repeated or not plain ASCII");
    RpcError::bad_request(HEADER_MISMATCH, message)
}

/// Decodes `=?base64?…?=`, the form for values that are not allowed in a header.
pub(super) fn decode<'a>(value: &'a str, header: &str) -> Result<Cow<'a, str>, RpcError> {
    let Some(encoded) = value
        .strip_prefix("=?base64?")
        .and_then(|rest| rest.strip_suffix("?="))
    else {
        return Ok(value.into());
    };
    let bytes = base64_simd::STANDARD.decode_to_vec(encoded.as_bytes()).ok();
    bytes
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .map(Cow::Owned)
        .ok_or_else(|| invalid_base64(header))
}

fn invalid_base64(header: &str) -> RpcError {
    let message = format!("header mismatch: {header} is not base64 of UTF-8");
    RpcError::bad_request(HEADER_MISMATCH, message)
}

fn classify_without_version(
    request: &Request<'_>,
    headers: Option<&HeaderMap>,
) -> Result<RequestKind, RpcError> {
    let modern = headers
        .map(header_version)
        .transpose()?
        .flatten()
        .is_some_and(is_modern);
    if request.method == "initialize" {
        return if modern {
            Err(RpcError::bad_request(
                HEADER_MISMATCH,
                "header mismatch: `initialize` is not in the version that MCP-Protocol-Version names",
            ))
        } else {
            Ok(RequestKind::Initialize)
        };
    }
    if modern || request.method == "server/discover" {
        let why = request
            .params
            .error
            .as_ref()
            .map(|error| format!(" ({error})"))
            .unwrap_or_default();
        let keys = format!("`{VERSION_KEY}` and `{CAPABILITIES_KEY}`");
        return Err(RpcError::bad_request(
            INVALID_PARAMS,
            format!("`params._meta` must have {keys}{why}"),
        ));
    }
    Ok(RequestKind::Legacy)
}

/// Whether this is the modern version or a later one.
fn is_modern(version: &str) -> bool {
    is_date(version) && version >= MODERN
}

fn is_date(text: &str) -> bool {
    text.len() == 10
        && text.bytes().enumerate().all(|(n, byte)| {
            if matches!(n, 4 | 7) {
                byte == b'-'
            } else {
                byte.is_ascii_digit()
            }
        })
}

/// Returns the version in the `MCP-Protocol-Version` header.
fn header_version(headers: &HeaderMap) -> Result<Option<&str>, RpcError> {
    RoutingHeaders::read(headers).version.text(&VERSION_HEADER)
}

/// Whether the value of the `MCP-Protocol-Version` header is a modern version.
pub(super) fn has_modern_version_header(headers: &HeaderMap) -> bool {
    header_version(headers).is_ok_and(|version| version.is_some_and(is_modern))
}

/// Checks the `MCP-Protocol-Version` header of a message in a legacy session.
pub(super) fn check_legacy_header(headers: &HeaderMap) -> Result<(), RpcError> {
    match header_version(headers)? {
        Some(version) if LegacyVersion::parse(version).is_none() => Err(RpcError::bad_request(
            INVALID_REQUEST,
            format!(
                "MCP-Protocol-Version `{}` is not supported: use the version that was negotiated",
                clip(version, 40)
            ),
        )),
        _ => Ok(()),
    }
}

fn unsupported_version(version: &str) -> RpcError {
    let message = "unsupported protocol version: use one of data.supported";
    RpcError::bad_request(UNSUPPORTED_PROTOCOL_VERSION, message).with_data(|data| {
        data.texts("supported", std::iter::once(MODERN).chain(LEGACY));
        data.text("requested", &clip(version, 100));
    })
}

pub(super) fn mismatch(header: &str, value: Option<&str>, body: &str) -> RpcError {
    let body = clip(body, 200);
    RpcError::bad_request(
        HEADER_MISMATCH,
        match value {
            Some(value) => {
                format!(
                    "header mismatch: {header} is `{}`, but the body has `{body}`",
                    clip(value, 200)
                )
            }
            None => format!("header mismatch: {header} is missing, but the body has `{body}`"),
        },
    )
}

#[cfg(test)]
mod tests;
