//! The credential that the host adds to requests to a host, such as `{ bearer = "SECRET" }`. The configuration contains
//! only the names of secrets.

use serde::Deserialize;
use serde::de::{Deserializer, Error as _};

use super::oauth_client::{self, ClientCredentials};
use larder_model::policy::{AwsSigner, CertificateSecrets, CredentialPlacement, HostAuth};

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

/// What the host adds to a request, and the client certificate of its connection if there is one in addition.
pub(super) struct Auth {
    added: RequestAuth,
    certificate: Option<ClientCertificate>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum RequestAuth {
    Bearer(String),
    Basic { user: String, password: String },
    Header { name: String, secret: String },
    Query { name: String, secret: String },
    AwsV4(AwsV4),
    ClientCredentials(Box<ClientCredentials>),
    ClientCertificate(ClientCertificate),
}

/// The names of the secrets. One secret can contain both.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClientCertificate {
    key: String,
    certificate: Option<String>,
}

impl From<ClientCertificate> for CertificateSecrets {
    fn from(names: ClientCertificate) -> Self {
        Self {
            key: names.key,
            certificate: names.certificate,
        }
    }
}

impl<'de> Deserialize<'de> for Auth {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut table = toml::Table::deserialize(deserializer)?;
        let message = |error: toml::de::Error| D::Error::custom(error.message());
        let certificate = match table.len() {
            0 | 1 => None,
            _ => table.remove("client_certificate"),
        };
        let certificate = certificate.map(toml::Value::try_into).transpose();
        Ok(Self {
            added: table.try_into().map_err(message)?,
            certificate: certificate.map_err(message)?,
        })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AwsV4 {
    region: String,
    service: String,
    access_key_id: String,
    /// The name of the secret.
    secret_access_key: String,
    /// The name of the secret.
    session_token: Option<String>,
}

/// Returns the credential of a rule for this scheme.
pub(super) fn of_rule(
    auth: Option<Auth>,
    plain_http: Option<bool>,
    scheme: &str,
) -> Result<Option<HostAuth>, String> {
    let Some(auth) = auth else {
        return without_auth(plain_http);
    };
    let plain_http = plain_http.unwrap_or(false);
    match (scheme, plain_http) {
        ("http", false) => Err(
            "a credential is sent only over TLS: use https, or set `plain_http = true` if everybody on the way may see it"
                .into(),
        ),
        ("https", true) => Err("`plain_http` has no effect on https: remove it".into()),
        _ => {
            let auth = HostAuth {
                plain_http,
                ..parse(auth)?
            };
            check_scheme(&auth, scheme)?;
            Ok(Some(auth))
        }
    }
}

fn without_auth(plain_http: Option<bool>) -> Result<Option<HostAuth>, String> {
    match plain_http {
        Some(_) => Err("`plain_http` has no effect without `auth`: remove it".into()),
        None => Ok(None),
    }
}

fn parse(auth: Auth) -> Result<HostAuth, String> {
    let mut certificate = auth.certificate;
    let (secret, placement) = match auth.added {
        RequestAuth::Bearer(secret) => (secret, CredentialPlacement::Bearer),
        RequestAuth::Basic { user, password } => {
            check_user(&user)?;
            (password, CredentialPlacement::Basic { user })
        }
        RequestAuth::Header { name, secret } => {
            let name = parse_header(&name)?;
            (secret, CredentialPlacement::Header { name })
        }
        RequestAuth::Query { name, secret } => {
            check_parameter(&name)?;
            (secret, CredentialPlacement::Query { name })
        }
        RequestAuth::AwsV4(aws) => parse_aws(aws)?,
        RequestAuth::ClientCredentials(client) => {
            let (secret, client) = oauth_client::parse(*client)?;
            (secret, CredentialPlacement::ClientCredentials(client))
        }
        RequestAuth::ClientCertificate(names) => {
            let names = certificate.insert(names);
            (names.key.clone(), CredentialPlacement::ClientCertificate)
        }
    };
    Ok(HostAuth {
        secret,
        placement,
        certificate: certificate.map(CertificateSecrets::from),
        plain_http: false,
    })
}

/// Checks that the credential can be used with this scheme, and that an authorization server is reached in the same way.
fn check_scheme(auth: &HostAuth, scheme: &str) -> Result<(), String> {
    if auth.certificate.is_some() && scheme == "http" {
        return Err("a client certificate needs TLS: use https".into());
    }
    match &auth.placement {
        CredentialPlacement::ClientCredentials(client) if !auth.plain_http => {
            require_tls(client.server.url())
        }
        _ => Ok(()),
    }
}

fn require_tls(url: &str) -> Result<(), String> {
    if url.starts_with("https://") {
        return Ok(());
    }
    Err(format!(
        "the secret of a client is sent only over TLS: use https instead of `{url}`"
    ))
}

fn parse_aws(aws: AwsV4) -> Result<(String, CredentialPlacement), String> {
    check_word("region", &aws.region)?;
    check_word("service", &aws.service)?;
    check_word("access_key_id", &aws.access_key_id)?;
    let signer = AwsSigner {
        region: aws.region,
        service: aws.service,
        access_key_id: aws.access_key_id,
        session_token: aws.session_token,
    };
    Ok((aws.secret_access_key, CredentialPlacement::AwsV4(signer)))
}

/// Checks a word that becomes a part of a signature.
fn check_word(name: &str, word: &str) -> Result<(), String> {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if word.is_empty() || !word.chars().all(is_allowed) {
        return Err(format!(
            "{word:?} is not a value of `{name}`: it has letters, digits, `-`, `_` and `.`"
        ));
    }
    Ok(())
}

fn check_user(user: &str) -> Result<(), String> {
    if user.contains(|c: char| c == ':' || c.is_control()) {
        return Err(format!(
            "{user:?} is not a user: it contains `:` or a control character"
        ));
    }
    Ok(())
}

fn check_parameter(name: &str) -> Result<(), String> {
    if name.is_empty() {
        return Err("the name of a query parameter is empty".into());
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
                r#"Some(HostAuth { secret: "token", placement: Bearer, certificate: None, plain_http: false })"#
            ]],
        );
        check(
            "http",
            "auth = { basic = { user = 'me', password = 'pw' } }\nplain_http = true",
            expect![[
                r#"Some(HostAuth { secret: "pw", placement: Basic { user: "me" }, certificate: None, plain_http: true })"#
            ]],
        );
        check(
            "https",
            "auth = { header = { name = 'X-Api-Key', secret = 'key' } }",
            expect![[
                r#"Some(HostAuth { secret: "key", placement: Header { name: "x-api-key" }, certificate: None, plain_http: false })"#
            ]],
        );
        check(
            "https",
            "auth = { query = { name = 'key', secret = 'key' } }",
            expect![[
                r#"Some(HostAuth { secret: "key", placement: Query { name: "key" }, certificate: None, plain_http: false })"#
            ]],
        );
    }

    #[test]
    fn accepts_a_signature() {
        check(
            "https",
            "auth.aws_v4 = { region = 'eu-central-1', service = 's3', access_key_id = 'AKIA1', secret_access_key = 'key', session_token = 'session' }",
            expect![[
                r#"Some(HostAuth { secret: "key", placement: AwsV4(AwsSigner { region: "eu-central-1", service: "s3", access_key_id: "AKIA1", session_token: Some("session") }), certificate: None, plain_http: false })"#
            ]],
        );
        check(
            "https",
            "auth.aws_v4 = { region = 'a/b', service = 's3', access_key_id = 'AKIA1', secret_access_key = 'key' }",
            expect![[
                r#""a/b" is not a value of `region`: it has letters, digits, `-`, `_` and `.`"#
            ]],
        );
    }

    #[test]
    fn a_client_certificate_needs_tls() {
        check(
            "https",
            "auth.client_certificate = { key = 'k', certificate = 'c' }",
            expect![[
                r#"Some(HostAuth { secret: "k", placement: ClientCertificate, certificate: Some(CertificateSecrets { key: "k", certificate: Some("c") }), plain_http: false })"#
            ]],
        );
        check(
            "http",
            "auth.client_certificate = { key = 'k' }\nplain_http = true",
            expect!["a client certificate needs TLS: use https"],
        );
        check(
            "https",
            "auth = { bearer = 'token', client_certificate = { key = 'k' } }",
            expect![[
                r#"Some(HostAuth { secret: "token", placement: Bearer, certificate: Some(CertificateSecrets { key: "k", certificate: None }), plain_http: false })"#
            ]],
        );
        check(
            "https",
            "auth = { bearer = 'token', query = { name = 'key', secret = 'key' } }",
            expect!["wanted exactly 1 element, more than 1 element"],
        );
    }

    #[test]
    fn accepts_a_client_of_an_authorization_server() {
        check(
            "https",
            "auth.client_credentials = { issuer = 'https://id.example', client_id = 'larder', client_secret = 's', scopes = ['a', 'b'] }",
            expect![[
                r#"Some(HostAuth { secret: "s", placement: ClientCredentials(OauthClient { server: Issuer("https://id.example"), client_id: "larder", authentication: Secret, scopes: ["a", "b"], audience: None, resource: None }), certificate: None, plain_http: false })"#
            ]],
        );
        check(
            "https",
            "auth.client_credentials = { token_endpoint = 'https://id.example/token', client_id = 'larder', private_key = 'k', key_id = '1' }",
            expect![[
                r#"Some(HostAuth { secret: "k", placement: ClientCredentials(OauthClient { server: Endpoint("https://id.example/token"), client_id: "larder", authentication: PrivateKey { key_id: Some("1") }, scopes: [], audience: None, resource: None }), certificate: None, plain_http: false })"#
            ]],
        );
    }

    #[test]
    fn rejects_clients_that_are_not_complete() {
        let check = |keys: &str, expected: Expect| {
            let table = format!("auth.client_credentials = {{ client_id = 'larder', {keys} }}");
            check("https", &table, expected);
        };
        check(
            "client_secret = 's'",
            expect!["write either `issuer` or `token_endpoint`"],
        );
        check(
            "issuer = 'https://a.example', client_secret = 's', assertion = 't'",
            expect![
                "write one of `client_secret`, `private_key` and `assertion`, with the name of a secret"
            ],
        );
        check(
            "issuer = 'id.example', client_secret = 's'",
            expect![[
                r#"`issuer` is not a URL such as "https://id.example.com", without a user and a fragment"#
            ]],
        );
        check(
            "issuer = 'http://id.example', client_secret = 's'",
            expect![
                "the secret of a client is sent only over TLS: use https instead of `http://id.example`"
            ],
        );
        check(
            "issuer = 'https://id.example', client_secret = 's', scopes = ['a b']",
            expect![[r#""a b" is not a scope: write one scope per text"#]],
        );
        check(
            "issuer = 'https://id.example', client_secret = 's', key_id = '1'",
            expect!["`key_id` has no effect without `private_key`: remove it"],
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
                "unknown variant `sigv4`, expected one of `bearer`, `basic`, `header`, `query`, `aws_v4`, `client_credentials`, `client_certificate`"
            ],
        );
    }
}
