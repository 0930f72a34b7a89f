//! The credential that the host adds to requests to a host: `{ bearer = "SECRET" }`, `{ basic = { … } }`,
//! `{ header = { … } }` or `{ query = { … } }`. The configuration contains only the names of secrets.

use serde::Deserialize;

use larder_model::policy::{CredentialPlacement, HostAuth};

/// Headers that belong to the connection or to the body. The HTTP client sets them.
const OWN_HEADERS: [&str; 8] = [
    "host",
    "connection",
    "content-length",
    "keep-alive",
    "proxy-connection",
    "te",
    "transfer-encoding",
    "upgrade",
];

#[derive(Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub(super) enum Auth {
    Bearer(String),
    Basic { user: String, password: String },
    Header { name: String, secret: String },
    Query { name: String, secret: String },
}

/// Returns the credential of a rule for this scheme.
pub(super) fn of_rule(
    auth: Option<Auth>,
    plain_http: Option<bool>,
    scheme: &str,
) -> Result<Option<HostAuth>, String> {
    let Some(auth) = auth else {
        return match plain_http {
            Some(_) => Err("`plain_http` has no effect without `auth`: remove it".into()),
            None => Ok(None),
        };
    };
    let plain_http = plain_http.unwrap_or(false);
    match (scheme, plain_http) {
        ("http", false) => Err(
            "a credential is sent only over TLS: use https, or set `plain_http = true` if everybody on the way may see it"
                .into(),
        ),
        ("https", true) => Err("`plain_http` has no effect on https: remove it".into()),
        _ => Ok(Some(HostAuth {
            plain_http,
            ..parse(auth)?
        })),
    }
}

fn parse(auth: Auth) -> Result<HostAuth, String> {
    let (secret, placement) = match auth {
        Auth::Bearer(secret) => (secret, CredentialPlacement::Bearer),
        Auth::Basic { user, password } => {
            check_user(&user)?;
            (password, CredentialPlacement::Basic { user })
        }
        Auth::Header { name, secret } => {
            let name = parse_header(&name)?;
            (secret, CredentialPlacement::Header { name })
        }
        Auth::Query { name, secret } => {
            if name.is_empty() {
                return Err("the name of a query parameter is empty".into());
            }
            (secret, CredentialPlacement::Query { name })
        }
    };
    Ok(HostAuth {
        secret,
        placement,
        plain_http: false,
    })
}

fn check_user(user: &str) -> Result<(), String> {
    if user.contains(|c: char| c == ':' || c.is_control()) {
        return Err(format!(
            "{user:?} is not a user: it contains `:` or a control character"
        ));
    }
    Ok(())
}

fn parse_header(name: &str) -> Result<String, String> {
    let name = name.to_ascii_lowercase();
    if http::HeaderName::from_bytes(name.as_bytes()).is_err() {
        return Err(format!("`{name}` is not the name of a header"));
    }
    if OWN_HEADERS.contains(&name.as_str()) {
        return Err(format!(
            "the HTTP client sets the header `{name}`: use another one"
        ));
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(scheme: &str, table: &str, expected: Expect) {
        #[derive(Deserialize)]
        struct Table {
            auth: Option<Auth>,
            plain_http: Option<bool>,
        }
        let shown = match toml::from_str::<Table>(table) {
            Ok(Table { auth, plain_http }) => match of_rule(auth, plain_http, scheme) {
                Ok(auth) => format!("{auth:?}"),
                Err(message) => message,
            },
            Err(error) => error.message().to_owned(),
        };
        expected.assert_eq(&shown);
    }

    #[test]
    fn accepts_each_placement() {
        check(
            "https",
            "auth = { bearer = 'token' }",
            expect![[
                r#"Some(HostAuth { secret: "token", placement: Bearer, plain_http: false })"#
            ]],
        );
        check(
            "http",
            "auth = { basic = { user = 'me', password = 'pw' } }\nplain_http = true",
            expect![[
                r#"Some(HostAuth { secret: "pw", placement: Basic { user: "me" }, plain_http: true })"#
            ]],
        );
        check(
            "https",
            "auth = { header = { name = 'X-Api-Key', secret = 'key' } }",
            expect![[
                r#"Some(HostAuth { secret: "key", placement: Header { name: "x-api-key" }, plain_http: false })"#
            ]],
        );
        check(
            "https",
            "auth = { query = { name = 'key', secret = 'key' } }",
            expect![[
                r#"Some(HostAuth { secret: "key", placement: Query { name: "key" }, plain_http: false })"#
            ]],
        );
    }

    #[test]
    fn rejects_what_cannot_be_sent_safely() {
        check(
            "http",
            "auth = { bearer = 'token' }",
            expect![
                "a credential is sent only over TLS: use https, or set `plain_http = true` if everybody on the way may see it"
            ],
        );
        check(
            "https",
            "auth = { bearer = 'token' }\nplain_http = true",
            expect!["`plain_http` has no effect on https: remove it"],
        );
        check(
            "http",
            "plain_http = true",
            expect!["`plain_http` has no effect without `auth`: remove it"],
        );
        check(
            "https",
            "auth = { basic = { user = 'a:b', password = 'pw' } }",
            expect![[r#""a:b" is not a user: it contains `:` or a control character"#]],
        );
        check(
            "https",
            "auth = { header = { name = 'Host', secret = 'key' } }",
            expect!["the HTTP client sets the header `host`: use another one"],
        );
        check(
            "https",
            "auth = { header = { name = 'a b', secret = 'key' } }",
            expect!["`a b` is not the name of a header"],
        );
        check(
            "https",
            "auth = { sigv4 = 'key' }",
            expect![
                "unknown variant `sigv4`, expected one of `bearer`, `basic`, `header`, `query`"
            ],
        );
    }
}
