//! What is said instead of an answer: a JSON-RPC code, a sentence, data, and the HTTP status that goes with them.
//! The one place where errors of the gateway become words of the protocol.

use std::borrow::Cow;
use std::time::Duration;

use http::StatusCode;

use super::fields::BadFields;
use super::json::{Object, object};
use crate::gateway::Error;
use crate::name::ProviderName;
use crate::policy::UsedUp;

pub(super) const PARSE: i32 = -32700;
pub(super) const REQUEST: i32 = -32600;
pub(super) const METHOD: i32 = -32601;
pub(super) const PARAMS: i32 = -32602;
pub(super) const INTERNAL: i32 = -32603;
pub(super) const HEADER: i32 = -32020;
pub(super) const VERSION: i32 = -32022;
const NOT_FOUND_LEGACY: i32 = -32002;
/// Outside of what JSON-RPC and MCP reserve.
const NOT_MODIFIED: i32 = -31001;
/// When a provider that is busy is worth another try.
const BUSY: Duration = Duration::from_secs(1);

/// What is said instead of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) status: StatusCode,
    pub(super) code: i32,
    pub(super) message: Cow<'static, str>,
    pub(super) data: Option<String>,
    /// When another try is worth it, in whole seconds, and never at once.
    pub(super) retry_after: Option<u64>,
}

impl Refusal {
    /// The method's own answer: HTTP is content with it.
    pub(super) fn new(code: i32, message: impl Into<Cow<'static, str>>) -> Self {
        Self { status: StatusCode::OK, code, message: message.into(), data: None, retry_after: None }
    }

    /// The request did not get as far as its method.
    pub(super) fn early(code: i32, message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(code, message).with_status(StatusCode::BAD_REQUEST)
    }

    pub(super) fn with_status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    pub(super) fn with_data(mut self, fill: impl FnOnce(&mut Object<'_>)) -> Self {
        self.data = String::from_utf8(object(fill)).ok();
        self
    }

    pub(super) fn unknown_method(method: &str) -> Self {
        Self::new(METHOD, format!("the method `{}` is not one of this server's", clip(method, 100)))
    }

    pub(super) fn too_many_subscriptions() -> Self {
        Self::new(
            INTERNAL,
            "too many subscriptions, of this client or of all its team: unsubscribe from some first",
        )
    }

    pub(super) fn id_taken() -> Self {
        Self::new(REQUEST, "a request with this id is still under way")
    }

    /// The caller's team has used up what it may use: HTTP says it as well.
    pub(super) fn used_up(used_up: UsedUp) -> Self {
        let retry = u64::try_from(used_up.retry.as_millis()).unwrap_or(u64::MAX);
        let mut refusal = Self::new(INTERNAL, used_up.to_string());
        refusal.retry_after = Some(used_up.retry.as_secs() + 1);
        refusal.with_status(StatusCode::TOO_MANY_REQUESTS).with_data(|data| {
            data.text("kind", "quota");
            data.integer("retryAfterMs", retry);
        })
    }

    /// The house has no room for this now.
    pub(super) fn overloaded(what: &str) -> Self {
        let mut refusal = Self::new(INTERNAL, format!("{what}: try again in a second"));
        refusal.retry_after = Some(1);
        refusal.with_status(StatusCode::SERVICE_UNAVAILABLE).with_data(|data| {
            data.text("kind", "overloaded");
            data.integer("retryAfterMs", 1_000);
        })
    }

    /// What the client is told of an error of the gateway.
    pub(super) fn of(error: &Error, modern: bool) -> Self {
        let refusal = translate(error, modern);
        tracing::debug!(%error, code = refusal.code, "refused");
        refusal
    }
}

impl From<BadFields> for Refusal {
    fn from(bad: BadFields) -> Self {
        Self::new(PARAMS, bad.to_string())
    }
}

fn translate(error: &Error, modern: bool) -> Refusal {
    let params = |message: String| Refusal::new(PARAMS, message);
    match error {
        Error::NotFound { uri } => {
            let code = if modern { PARAMS } else { NOT_FOUND_LEGACY };
            // Clients recognise the error by `uri` being the only key.
            Refusal::new(code, "Resource not found").with_data(|data| data.text("uri", uri))
        }
        Error::BadUri(bad) => params(bad.to_string()),
        Error::BadCursor => params("the cursor is not one of this server's: begin the list anew".into()),
        Error::OtherFilter => {
            params("the cursor belongs to a list with another filter: send that one again, or none".into())
        }
        Error::UnknownTemplate { template } => {
            params(format!("there is no template `{}`: see resources/templates/list", clip(template, 200)))
        }
        Error::UnknownVariable { template, variable } => params(format!(
            "the template `{}` has no variable `{}`",
            clip(template, 200),
            clip(variable, 100)
        )),
        Error::Refused { uri, why } => params(format!("`{}` is refused: {why}", clip(uri, 200))),
        Error::NotModified { uri, version } => {
            Refusal::new(NOT_MODIFIED, "the version that is held is still the current one").with_data(
                |data| {
                    data.text("uri", uri);
                    data.maybe("version", version.as_deref());
                },
            )
        }
        Error::Invalid { provider, message } => {
            params(format!("the provider `{provider}` refused the request: {}", clip(message, 1000)))
        }
        Error::Denied { provider, message } => failed(provider, "denied", "denied the request", message),
        Error::Unavailable { provider, message } => {
            failed(provider, "unavailable", "is unavailable at the moment", message)
        }
        Error::Failed { provider, message } => failed(provider, "failed", "failed", message),
        Error::Fault { provider, fault } => failed(provider, "fault", "failed", fault),
        Error::Busy { provider } => later(provider, "busy", "is busy: try again later", BUSY),
        Error::SetAside { provider, retry } => {
            let words = format!("only failed lately: try again in {} ms", retry.as_millis());
            later(provider, "set-aside", &words, *retry)
        }
        Error::UsedUp(used_up) => Refusal::used_up(*used_up),
        Error::Unaudited(closed) => Refusal::new(INTERNAL, closed.to_string()),
    }
}

fn failed(provider: &ProviderName, kind: &str, verb: &str, message: &str) -> Refusal {
    let message = clip(message, 1000);
    Refusal::new(INTERNAL, format!("the provider `{provider}` {verb}: {message}")).with_data(|data| {
        data.text("provider", provider.as_str());
        data.text("kind", kind);
    })
}

/// The provider was not asked, and may be later. HTTP is content: of the other providers nothing is said.
fn later(provider: &ProviderName, kind: &str, words: &str, retry: Duration) -> Refusal {
    Refusal::new(INTERNAL, format!("the provider `{provider}` {words}")).with_data(|data| {
        data.text("provider", provider.as_str());
        data.text("kind", kind);
        data.integer("retryAfterMs", u64::try_from(retry.as_millis()).unwrap_or(u64::MAX));
    })
}

/// As much of a text from elsewhere as fits into a message.
pub(super) fn clip(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        None => Cow::Borrowed(text),
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::uri::Uri;

    fn check(error: Error, expected: Expect) {
        let show = |r: Refusal| format!("{} {} {}", r.code, r.message, r.data.unwrap_or_default());
        let (modern, legacy) = (show(translate(&error, true)), show(translate(&error, false)));
        let both = if modern == legacy { modern } else { format!("{modern}\n{legacy}") };
        expected.assert_eq(&both);
    }

    #[test]
    fn every_error_has_its_words() {
        let provider = ProviderName::parse("wiki").unwrap();
        let message = || "no \"such\" page".to_owned();
        check(
            Error::NotFound { uri: "x:1".into() },
            expect![[r#"
                -32602 Resource not found {"uri":"x:1"}
                -32002 Resource not found {"uri":"x:1"}"#]],
        );
        check(
            Error::BadUri(Uri::parse("no uri").unwrap_err()),
            expect![
                "-32602 `no uri` is not an absolute URI by RFC 3986 (it needs a scheme, and other characters percent-encoded) "
            ],
        );
        check(
            Error::BadCursor,
            expect!["-32602 the cursor is not one of this server's: begin the list anew "],
        );
        check(
            Error::NotModified { uri: "x:1".into(), version: Some("7".into()) },
            expect![[
                r#"-31001 the version that is held is still the current one {"uri":"x:1","version":"7"}"#
            ]],
        );
        check(
            Error::Invalid { provider: provider.clone(), message: message() },
            expect![[r#"-32602 the provider `wiki` refused the request: no "such" page "#]],
        );
        check(
            Error::Fault { provider: provider.clone(), fault: "it took too long".into() },
            expect![[
                r#"-32603 the provider `wiki` failed: it took too long {"provider":"wiki","kind":"fault"}"#
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
    fn a_clip_counts_characters() {
        assert_eq!(clip("äöü", 3), "äöü");
        assert_eq!(clip("äöü", 2), "äö…");
    }
}
