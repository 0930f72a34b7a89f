//! JSON-RPC errors: code, message and data, with the HTTP status of the response. Only this module translates
//! errors of the gateway to the protocol.

use std::borrow::Cow;
use std::time::Duration;

use http::StatusCode;

use super::fields::BadFields;
use super::json_writer::{Object, object};
use larder_core::gateway::Error;
use larder_model::name::ProviderName;
use larder_model::policy::QuotaExceeded;
use larder_runtime::host_policy::Forbidden;
use larder_runtime::metrics::Refusal;

pub(crate) const PARSE_ERROR: i32 = -32700;
pub(crate) const INVALID_REQUEST: i32 = -32600;
pub(crate) const METHOD_NOT_FOUND: i32 = -32601;
pub(crate) const INVALID_PARAMS: i32 = -32602;
pub(crate) const INTERNAL_ERROR: i32 = -32603;
pub(crate) const HEADER_MISMATCH: i32 = -32020;
pub(crate) const MISSING_CLIENT_CAPABILITY: i32 = -32021;
pub(crate) const UNSUPPORTED_PROTOCOL_VERSION: i32 = -32022;
const LEGACY_RESOURCE_NOT_FOUND: i32 = -32002;
/// A code outside of the ranges that JSON-RPC and MCP reserve.
const NOT_MODIFIED: i32 = -31001;
/// Suggested delay before a request to a busy provider is repeated.
const BUSY_RETRY: Duration = Duration::from_secs(1);

/// A JSON-RPC error response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RpcError {
    pub(crate) status: StatusCode,
    pub(crate) code: i32,
    pub(crate) message: Cow<'static, str>,
    pub(crate) data: Option<String>,
    /// Why the request is refused; none if it is not refused.
    pub(crate) refusal: Option<Refusal>,
    /// Value of the `retry-after` header in seconds, at least one.
    pub(crate) retry_after: Option<u64>,
}

impl RpcError {
    /// An error of the method itself, with HTTP status 200.
    pub(crate) fn new(code: i32, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            status: StatusCode::OK,
            code,
            message: message.into(),
            data: None,
            refusal: None,
            retry_after: None,
        }
    }

    /// An error before the method was called, with HTTP status 400.
    pub(crate) fn bad_request(code: i32, message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(code, message).with_status(StatusCode::BAD_REQUEST)
    }

    pub(crate) fn with_status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    /// Names the reason, for the request log and metrics.
    pub(crate) fn with_refusal(self, refusal: Refusal) -> Self {
        Self {
            refusal: Some(refusal),
            ..self
        }
    }

    pub(crate) fn with_data(mut self, fill: impl FnOnce(&mut Object<'_>)) -> Self {
        self.data = String::from_utf8(object(fill)).ok();
        self
    }

    pub(crate) fn unknown_method(method: &str) -> Self {
        Self::new(
            METHOD_NOT_FOUND,
            format!("unknown method `{}`", clip(method, 100)),
        )
    }

    pub(crate) fn subscription_limit_exceeded() -> Self {
        Self::new(
            INTERNAL_ERROR,
            "too many subscriptions of this client or its team: unsubscribe from some first",
        )
    }

    pub(crate) fn duplicate_id() -> Self {
        Self::new(
            INVALID_REQUEST,
            "a request with this id is in progress: use another id",
        )
    }

    /// The caller's team has exceeded its quota. The HTTP status is 429.
    pub(crate) fn quota_exceeded(quota: QuotaExceeded) -> Self {
        let retry = u64::try_from(quota.retry.as_millis()).unwrap_or(u64::MAX);
        let mut rpc_error = Self::new(INTERNAL_ERROR, quota.to_string());
        rpc_error.retry_after = Some(quota.retry.as_secs() + 1);
        rpc_error
            .with_status(StatusCode::TOO_MANY_REQUESTS)
            .with_refusal(Refusal::Quota)
            .with_data(|data| {
                data.text("kind", "quota");
                data.integer("retryAfterMs", retry);
            })
    }

    /// The server is out of capacity. The HTTP status is 503.
    pub(crate) fn overloaded(what: &str) -> Self {
        let mut rpc_error = Self::new(INTERNAL_ERROR, format!("{what}: try again in a second"));
        rpc_error.retry_after = Some(1);
        rpc_error
            .with_status(StatusCode::SERVICE_UNAVAILABLE)
            .with_refusal(Refusal::Overloaded)
            .with_data(|data| {
                data.text("kind", "overloaded");
                data.integer("retryAfterMs", 1_000);
            })
    }

    /// Translates an error of the gateway for the client.
    pub(crate) fn from_gateway(error: &Error, is_modern: bool) -> Self {
        let rpc_error = gateway_error(error, is_modern);
        tracing::debug!(%error, code = rpc_error.code, "request failed");
        rpc_error
    }
}

impl From<BadFields> for RpcError {
    fn from(bad: BadFields) -> Self {
        Self::new(INVALID_PARAMS, bad.to_string())
    }
}

fn gateway_error(error: &Error, is_modern: bool) -> RpcError {
    let invalid_params = |message: String| RpcError::new(INVALID_PARAMS, message);
    match error {
        Error::NotFound { uri } => not_found(uri, is_modern),
        Error::BadCursor => invalid_params("unknown cursor: request the first page again".into()),
        Error::FilterMismatch => invalid_params(
            "the cursor belongs to a list with another filter: send that filter, or omit the cursor".into(),
        ),
        Error::UnknownTemplate { template } => invalid_params(format!(
            "there is no template `{}`: see resources/templates/list",
            clip(template, 200)
        )),
        Error::UnknownVariable { template, variable } => invalid_params(format!(
            "the template `{}` has no variable `{}`",
            clip(template, 200),
            clip(variable, 100)
        )),
        Error::UnknownTool { name } => invalid_params(format!("Unknown tool: {}", clip(name, 100))),
        Error::UnknownPrompt { name } => invalid_params(format!("Unknown prompt: {}", clip(name, 100))),
        Error::UnknownSkill { uri } => unknown_uri("there is no skill with this URI", uri),
        Error::NoDirectory { uri } => unknown_uri("this is not a folder with listed resources", uri),
        Error::InvalidArguments { message } => invalid_params(clip(message, 1000).into_owned()),
        Error::Replaced { .. } => invalid_params(error.to_string()),
        Error::Refused { uri, why } => invalid_params(format!("`{}` is refused: {why}", clip(uri, 200))),
        Error::NotModified { uri, version } => not_modified(uri, version.as_deref()),
        Error::Invalid { provider, message } => {
            invalid_params(format!("the provider `{provider}` refused the request: {}", clip(message, 1000)))
        }
        Error::Denied { provider, message } => {
            provider_failed(provider, "denied", "denied the request", message)
        }
        Error::Unavailable { provider, message } => {
            provider_failed(provider, "unavailable", "is unavailable at the moment", message)
        }
        Error::NotLoaded { provider, retry } => {
            let words = format!("is not loaded at the moment: try again in {} ms", retry.as_millis());
            retry_later(provider, "unavailable", &words, *retry)
        }
        Error::Failed { provider, message } => provider_failed(provider, "failed", "failed", message),
        Error::ResponseTooLarge { provider, fault } => RpcError {
            // This is not an internal error: clients assume that internal errors are temporary, and repeat the request.
            code: INVALID_PARAMS,
            ..provider_failed(provider, "too-large", "failed", fault)
        },
        Error::Fault { provider, fault } => provider_failed(provider, "fault", "failed", fault),
        Error::Busy { provider } => retry_later(provider, "busy", "is busy: try again later", BUSY_RETRY),
        Error::NoMemory { provider } => RpcError::overloaded(&format!(
            "the server has no memory for a call of the provider `{provider}` at the moment"
        )),
        Error::CircuitOpen { provider, retry } => {
            let words = format!("failed repeatedly: try again in {} ms", retry.as_millis());
            retry_later(provider, "circuit-open", &words, *retry)
        }
        Error::QuotaExceeded(quota) => RpcError::quota_exceeded(*quota),
        Error::AuditClosed(closed) => RpcError::new(INTERNAL_ERROR, closed.to_string()),
    }
}

fn not_found(uri: &str, is_modern: bool) -> RpcError {
    let code = if is_modern {
        INVALID_PARAMS
    } else {
        LEGACY_RESOURCE_NOT_FOUND
    };
    // Clients recognise the error by `uri` being the only key.
    RpcError::new(code, "Resource not found").with_data(|data| data.text("uri", uri))
}

/// The error of the skills extension, which has the same code in both eras.
fn unknown_uri(message: &'static str, uri: &str) -> RpcError {
    RpcError::new(INVALID_PARAMS, message).with_data(|data| data.text("uri", uri))
}

fn not_modified(uri: &str, version: Option<&str>) -> RpcError {
    let message = "not modified: the client has the current version";
    RpcError::new(NOT_MODIFIED, message).with_data(|data| {
        data.text("uri", uri);
        data.optional_text("version", version);
    })
}

fn provider_failed(provider: &ProviderName, kind: &str, verb: &str, message: &str) -> RpcError {
    let message = clip(message, 1000);
    RpcError::new(
        INTERNAL_ERROR,
        format!("the provider `{provider}` {verb}: {message}"),
    )
    .with_data(|data| {
        data.text("provider", provider.as_str());
        data.text("kind", kind);
    })
}

/// The provider was not called, and a later call may be possible. The HTTP status is 200, because other providers may
/// be available.
fn retry_later(provider: &ProviderName, kind: &str, words: &str, retry: Duration) -> RpcError {
    RpcError::new(INTERNAL_ERROR, format!("the provider `{provider}` {words}")).with_data(|data| {
        data.text("provider", provider.as_str());
        data.text("kind", kind);
        data.integer(
            "retryAfterMs",
            u64::try_from(retry.as_millis()).unwrap_or(u64::MAX),
        );
    })
}

/// Why an operation failed: an error of the gateway, or of the endpoint itself.
pub(crate) enum DispatchError {
    Gateway(Error),
    Rpc(RpcError),
}

impl From<Error> for DispatchError {
    fn from(error: Error) -> Self {
        Self::Gateway(error)
    }
}

impl From<RpcError> for DispatchError {
    fn from(rpc_error: RpcError) -> Self {
        Self::Rpc(rpc_error)
    }
}

impl From<Forbidden<'_>> for RpcError {
    fn from(forbidden: Forbidden<'_>) -> Self {
        let refusal = match forbidden {
            Forbidden::NoHost | Forbidden::Host(_) | Forbidden::RepeatedHost => Refusal::Host,
            Forbidden::Origin | Forbidden::RepeatedOrigin => Refusal::Origin,
        };
        let status = match forbidden {
            Forbidden::NoHost => StatusCode::BAD_REQUEST,
            Forbidden::Host(_)
            | Forbidden::RepeatedHost
            | Forbidden::Origin
            | Forbidden::RepeatedOrigin => StatusCode::FORBIDDEN,
        };
        let why = match forbidden {
            Forbidden::NoHost => "the header `host` is missing".into(),
            Forbidden::Host(host) => {
                format!(
                    "the host `{}` is not allowed: add it to `server.hosts`",
                    clip(host, 100)
                )
            }
            Forbidden::RepeatedHost => "the header `host` is repeated".into(),
            Forbidden::RepeatedOrigin => "the header `origin` is repeated".into(),
            Forbidden::Origin => "the origin of the request is not allowed on this server".into(),
        };
        Self::new(INVALID_REQUEST, why)
            .with_status(status)
            .with_refusal(refusal)
    }
}

/// Truncates a foreign text for use in a message.
pub(crate) fn clip(text: &str, max_chars: usize) -> Cow<'_, str> {
    match text.char_indices().nth(max_chars) {
        None => Cow::Borrowed(text),
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(error: Error, expected: Expect) {
        let show = |r: RpcError| format!("{} {} {}", r.code, r.message, r.data.unwrap_or_default());
        let modern = show(gateway_error(&error, true));
        let legacy = show(gateway_error(&error, false));
        let both = if modern == legacy {
            modern
        } else {
            format!("{modern}\n{legacy}")
        };
        expected.assert_eq(&both);
    }

    #[test]
    fn translates_gateway_errors() {
        let provider = ProviderName::parse("wiki").unwrap();
        let message = || "no \"such\" page".to_owned();
        check(
            Error::NotFound { uri: "x:1".into() },
            expect![[r#"
                -32602 Resource not found {"uri":"x:1"}
                -32002 Resource not found {"uri":"x:1"}"#]],
        );
        check(
            Error::BadCursor,
            expect!["-32602 unknown cursor: request the first page again "],
        );
        check(
            Error::NotModified {
                uri: "x:1".into(),
                version: Some("7".into()),
            },
            expect![[
                r#"-31001 not modified: the client has the current version {"uri":"x:1","version":"7"}"#
            ]],
        );
        check(
            Error::Invalid {
                provider: provider.clone(),
                message: message(),
            },
            expect![[r#"-32602 the provider `wiki` refused the request: no "such" page "#]],
        );
        check(
            Error::Fault {
                provider: provider.clone(),
                fault: "it took too long".into(),
            },
            expect![[
                r#"-32603 the provider `wiki` failed: it took too long {"provider":"wiki","kind":"fault"}"#
            ]],
        );
        check(
            Error::ResponseTooLarge {
                provider: provider.clone(),
                fault: "its response is too large".into(),
            },
            expect![[
                r#"-32602 the provider `wiki` failed: its response is too large {"provider":"wiki","kind":"too-large"}"#
            ]],
        );
        check(
            Error::Busy { provider },
            expect![[
                r#"-32603 the provider `wiki` is busy: try again later {"provider":"wiki","kind":"busy","retryAfterMs":1000}"#
            ]],
        );
    }

    #[test]
    fn clip_counts_characters() {
        assert_eq!(clip("äöü", 3), "äöü");
        assert_eq!(clip("äöü", 2), "äö…");
    }
}
