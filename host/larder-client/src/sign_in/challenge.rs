//! What a response says about the token that it requires: `WWW-Authenticate` (RFC 6750, RFC 9728).

use http::header::{HeaderMap, WWW_AUTHENTICATE};
use http_auth::{ChallengeParser, ChallengeRef};

/// The `Bearer` challenge of a response.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct BearerChallenge {
    /// The URL of the metadata of the server.
    pub(crate) resource_metadata: Option<String>,
    /// The scopes that the request needs.
    pub(crate) scopes: Vec<String>,
    /// Whether the token is valid but lacks scopes.
    pub(crate) lacks_scopes: bool,
}

impl BearerChallenge {
    /// Returns the first `Bearer` challenge of a response.
    pub(crate) fn find(headers: &HeaderMap) -> Option<Self> {
        let values = headers.get_all(WWW_AUTHENTICATE).iter();
        let mut texts = values.filter_map(|value| value.to_str().ok());
        texts.find_map(Self::parse)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut challenges = ChallengeParser::new(text).map_while(Result::ok);
        challenges
            .find(|challenge| challenge.scheme.eq_ignore_ascii_case("bearer"))
            .map(|challenge| Self::new(&challenge))
    }

    fn new(challenge: &ChallengeRef<'_>) -> Self {
        let parameter = |wanted: &str| {
            let mut parameters = challenge.params.iter();
            let found = parameters.find(|(name, _)| name.eq_ignore_ascii_case(wanted))?;
            Some(found.1.to_unescaped())
        };
        let scopes = parameter("scope").unwrap_or_default();
        Self {
            resource_metadata: parameter("resource_metadata"),
            scopes: scopes.split_whitespace().map(str::to_owned).collect(),
            lacks_scopes: parameter("error").as_deref() == Some("insufficient_scope"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(values: &[&str], expected: Option<(Option<&str>, &[&str], bool)>) {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(WWW_AUTHENTICATE, value.parse().unwrap());
        }
        let expected = expected.map(|(metadata, scopes, lacks_scopes)| BearerChallenge {
            resource_metadata: metadata.map(str::to_owned),
            scopes: scopes.iter().map(|scope| (*scope).to_owned()).collect(),
            lacks_scopes,
        });
        assert_eq!(BearerChallenge::find(&headers), expected, "{values:?}");
    }

    #[test]
    fn finds_the_bearer_challenge() {
        check(&[], None);
        check(&["Basic realm=\"x\""], None);
        check(&["\"garbage, =="], None);
        check(&["Bearer realm=\"larder\""], Some((None, &[], false)));
        check(
            &[
                "Basic realm=\"x\"",
                "bearer error=\"insufficient_scope\", scope=\"a:b  c\", \
                 resource_metadata=\"https://x/m\"",
            ],
            Some((Some("https://x/m"), &["a:b", "c"], true)),
        );
        check(
            &["Basic realm=\"x\", Bearer scope=\"a\""],
            Some((None, &["a"], false)),
        );
    }
}
