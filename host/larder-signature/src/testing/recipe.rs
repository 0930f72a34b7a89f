//! How a bundle is made.

use super::now;

/// How a bundle is made.
#[derive(Clone)]
pub struct Recipe {
    pub identity: String,
    pub issuer: String,
    /// From when until when the certificate is valid, in seconds since 1970.
    pub valid: (i64, i64),
    /// When the signature was logged.
    pub logged: i64,
    pub content: Content,
}

/// The signed content.
#[derive(Clone, Copy)]
pub enum Content {
    Message,
    /// A statement with this type.
    Statement(&'static str),
}

impl Default for Recipe {
    fn default() -> Self {
        let begin = now() - 24 * 3600;
        Self {
            identity: "release@example.com".into(),
            issuer: "https://issuer.example.com".into(),
            valid: (begin, begin + 600),
            logged: begin + 60,
            content: Content::Message,
        }
    }
}
