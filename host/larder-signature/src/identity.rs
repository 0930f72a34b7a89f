//! The identities whose certificates are trusted.

/// An identity that an issuer confirmed, such as the address of a person or the URL of a build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    identity: Pattern,
    issuer: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Pattern {
    Exactly(String),
    StartsWith(String),
}

/// Why an identity cannot be trusted.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum IdentityError {
    /// The identity would match everybody.
    #[error("`{0}` would trust everybody: write an identity, such as `release@example.com`")]
    Everybody(String),
    /// The wildcard is not at the end.
    #[error("`{0}`: a `*` can only be at the end")]
    Wildcard(String),
    /// The issuer is missing or has a wildcard.
    #[error(
        "`{0}` is not an issuer: write its URL, such as `https://token.actions.githubusercontent.com`"
    )]
    Issuer(String),
}

impl Identity {
    /// Creates an identity. A `*` at its end stands for any rest; the issuer must match exactly.
    pub fn new(identity: &str, issuer: &str) -> Result<Self, IdentityError> {
        let pattern = Pattern::parse(identity);
        let text = pattern.text();
        match () {
            () if text.contains('*') => Err(IdentityError::Wildcard(identity.into())),
            // This text is the beginning of every URL.
            () if text.is_empty() || "https://".starts_with(text) => {
                Err(IdentityError::Everybody(identity.into()))
            }
            () if issuer.is_empty() || issuer.contains('*') => {
                Err(IdentityError::Issuer(issuer.into()))
            }
            () => Ok(Self {
                identity: pattern,
                issuer: issuer.into(),
            }),
        }
    }

    /// Returns whether a certificate with this identity and issuer is trusted.
    pub(crate) fn matches(&self, identity: &str, issuer: &str) -> bool {
        self.identity.matches(identity) && issuer == self.issuer
    }
}

impl Pattern {
    fn parse(identity: &str) -> Self {
        match identity.strip_suffix('*') {
            Some(start) => Self::StartsWith(start.to_owned()),
            None => Self::Exactly(identity.to_owned()),
        }
    }

    fn text(&self) -> &str {
        match self {
            Self::Exactly(text) | Self::StartsWith(text) => text,
        }
    }

    fn matches(&self, identity: &str) -> bool {
        match self {
            Self::Exactly(text) => identity == text,
            Self::StartsWith(start) => identity.starts_with(start),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identities_match_exactly_or_by_their_start() {
        let one = Identity::new("a@example.com", "https://issuer").unwrap();
        assert!(one.matches("a@example.com", "https://issuer"));
        assert!(!one.matches("a@example.com.evil", "https://issuer"));
        assert!(!one.matches("a@example.com", "https://issuer/"));
        let tags = Identity::new(
            "https://github.com/acme/wiki/@refs/tags/*",
            "https://issuer",
        )
        .unwrap();
        assert!(tags.matches(
            "https://github.com/acme/wiki/@refs/tags/v1",
            "https://issuer"
        ));
        assert!(!tags.matches(
            "https://github.com/acme/wiki/@refs/heads/main",
            "https://issuer"
        ));
    }

    #[test]
    fn an_identity_that_is_everybody_is_an_error() {
        for identity in ["", "*", "h*", "https://*"] {
            let error = Identity::new(identity, "https://issuer").unwrap_err();
            assert_eq!(error, IdentityError::Everybody(identity.into()));
        }
        assert_eq!(
            Identity::new("a*b", "x"),
            Err(IdentityError::Wildcard("a*b".into()))
        );
        assert_eq!(
            Identity::new("a", "*"),
            Err(IdentityError::Issuer("*".into()))
        );
    }
}
