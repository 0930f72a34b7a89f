//! The credentials of an API, from the secrets of the provider.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use larder_provider::{Declaration, Error, Result, Setting};

const TOKEN: Setting<String> = Setting::text(
    "token",
    "A token that is sent as `Authorization: Bearer TOKEN`.",
)
.secret();
const USERNAME: Setting<String> =
    Setting::text("username", "The name for HTTP basic authentication.");
const PASSWORD: Setting<String> =
    Setting::text("password", "The password for HTTP basic authentication.").secret();
const API_KEY: Setting<String> =
    Setting::text("api_key", "A key that is sent in a header or in the query.").secret();
const API_KEY_HEADER: Setting<String> =
    Setting::text("api_key_header", "The name of the header for `api_key`.");
const API_KEY_QUERY: Setting<String> = Setting::text(
    "api_key_query",
    "The name of the query parameter for `api_key`, if it is not sent in a header.",
);

/// The credentials that are sent to the API with each request, and to no other server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Credentials {
    /// Headers.
    pub headers: Vec<(String, String)>,
    /// A pair of the query.
    pub query: Option<(String, String)>,
}

impl Credentials {
    /// The settings that they are read from.
    pub fn declarations() -> Vec<Declaration> {
        [
            TOKEN,
            USERNAME,
            PASSWORD,
            API_KEY,
            API_KEY_HEADER,
            API_KEY_QUERY,
        ]
        .map(|it| it.declaration())
        .into()
    }

    /// Reads the settings. `key_header` is the name of the header for `api_key`, unless a setting names another header.
    pub fn read(key_header: &str) -> Result<Self> {
        let mut found = Self::default();
        match (TOKEN.find()?, USERNAME.find()?, PASSWORD.find()?) {
            (Some(_), Some(_), _) | (Some(_), _, Some(_)) => {
                return Err("the settings `token` and `username` exclude each other".into());
            }
            (Some(token), None, None) => found.authorization(format!("Bearer {token}"), "token")?,
            (None, Some(name), Some(password)) => {
                let pair = BASE64_STANDARD.encode(format!("{name}:{password}"));
                found.authorization(format!("Basic {pair}"), "password")?;
            }
            (None, None, None) => {}
            _ => return Err("the settings `username` and `password` belong together".into()),
        }
        if let Some(key) = API_KEY.find()? {
            match API_KEY_QUERY.find()? {
                Some(name) => found.query = Some((name, key)),
                None => {
                    let name = API_KEY_HEADER
                        .find()?
                        .unwrap_or_else(|| key_header.to_owned());
                    found.header(name, key, "api_key")?;
                }
            }
        }
        Ok(found)
    }

    /// Whether there are no credentials.
    pub fn is_empty(&self) -> bool {
        self.headers.is_empty() && self.query.is_none()
    }

    fn authorization(&mut self, value: String, setting: &str) -> Result<()> {
        self.header("authorization".to_owned(), value, setting)
    }

    fn header(&mut self, name: String, value: String, setting: &str) -> Result<()> {
        if !is_header(&name, &value) {
            return Err(Error::Failed(format!(
                "the setting `{setting}` cannot be sent as a header"
            )));
        }
        self.headers.push((name, value));
        Ok(())
    }
}

/// Whether a name and a value can be sent as a header.
pub(crate) fn is_header(name: &str, value: &str) -> bool {
    let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    !name.is_empty()
        && name.chars().all(is_token)
        && value.chars().all(|c| c == '\t' || !c.is_control())
}

#[cfg(test)]
mod tests {
    use larder_provider::set_setting;

    use super::*;

    #[test]
    fn become_headers_or_a_query() {
        let header = |name: &str, value: &str| vec![(name.to_owned(), value.to_owned())];
        assert!(Credentials::read("X-Key").is_ok_and(|it| it.is_empty()));
        set_setting("api_key", "hush");
        assert_eq!(
            Credentials::read("X-Key").map(|it| it.headers),
            Ok(header("X-Key", "hush"))
        );
        set_setting("api_key_query", "key");
        let found = Credentials::read("X-Key").unwrap();
        assert_eq!(
            (found.headers, found.query),
            (vec![], Some(("key".into(), "hush".into())))
        );
        set_setting("username", "ann");
        assert!(Credentials::read("X-Key").is_err());
        set_setting("password", "hush");
        let basic = header("authorization", "Basic YW5uOmh1c2g=");
        assert_eq!(Credentials::read("X-Key").map(|it| it.headers), Ok(basic));
        set_setting("token", "hush\r\nX: y");
        assert!(Credentials::read("X-Key").is_err());
    }

    #[test]
    fn a_line_break_ends_no_header() {
        set_setting("token", "hush\r\nX: y");
        let message = Credentials::read("X-Key").unwrap_err().to_string();
        assert!(!message.contains("hush"), "{message}");
    }
}
