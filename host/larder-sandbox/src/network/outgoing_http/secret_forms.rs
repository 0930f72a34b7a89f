//! The texts in which a secret can appear in a response: as it is, as it was sent, and encoded with base64, also as a
//! part of a longer text.

use std::cmp::Reverse;

use base64_simd::{Base64, STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use http::{HeaderMap, HeaderValue};
use memchr::memmem::Finder;

/// The replacement for a secret.
const REDACTED: &[u8] = b"[secret]";

/// The forms of one secret.
pub(super) struct SecretForms {
    /// The longest form is the first: if a form contains another form, no part of it must remain.
    finders: Vec<Finder<'static>>,
}

impl SecretForms {
    /// The forms of a secret that a request contains in this form.
    pub(super) fn new(secret: &str, as_sent: &str) -> Self {
        let mut forms = all_forms(secret);
        forms.push(as_sent.as_bytes().to_vec());
        Self::of(forms)
    }

    /// The forms of several secrets.
    pub(super) fn of_all<'a>(secrets: impl Iterator<Item = &'a str>) -> Self {
        Self::of(secrets.flat_map(all_forms).collect())
    }

    fn of(mut forms: Vec<Vec<u8>>) -> Self {
        forms.sort_unstable_by(|a, b| (Reverse(a.len()), a).cmp(&(Reverse(b.len()), b)));
        forms.dedup();
        let finders = forms.iter().map(|form| Finder::new(form).into_owned());
        Self {
            finders: finders.collect(),
        }
    }

    /// The length of the longest form in bytes, or 1 if there are no forms.
    pub(super) fn longest(&self) -> usize {
        self.finders.first().map_or(1, |form| form.needle().len())
    }

    pub(super) fn are_in(&self, bytes: &[u8]) -> bool {
        self.finders
            .iter()
            .any(|finder| finder.find(bytes).is_some())
    }

    /// Returns the bytes without the secret. `None` if they do not contain it.
    pub(super) fn redact(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        if !self.are_in(bytes) {
            return None;
        }
        let mut redacted = bytes.to_vec();
        for finder in &self.finders {
            redacted = replace(&redacted, finder);
        }
        Some(redacted)
    }

    /// Removes the secret from the values of headers.
    pub(super) fn redact_headers(&self, headers: &mut HeaderMap) {
        for value in headers.values_mut() {
            if let Some(redacted) = self.redact(value.as_bytes()) {
                // The rest of the value was valid before.
                *value = HeaderValue::from_bytes(&redacted)
                    .unwrap_or_else(|_| HeaderValue::from_static("[secret]"));
            }
        }
    }

    /// Returns the text without the secret.
    pub(super) fn redact_text(&self, text: String) -> String {
        match self.redact(text.as_bytes()) {
            Some(redacted) => String::from_utf8_lossy(&redacted).into_owned(),
            None => text,
        }
    }
}

/// Returns a secret as it is, and encoded with base64.
fn all_forms(secret: &str) -> Vec<Vec<u8>> {
    let mut forms = vec![secret.as_bytes().to_vec()];
    for alphabet in [STANDARD_NO_PAD, URL_SAFE_NO_PAD] {
        forms.extend((0..3).map(|offset| base64_form(&alphabet, secret, offset)));
    }
    forms
}

/// Returns the characters of base64 that depend only on the secret, if this number of bytes precedes it.
fn base64_form(alphabet: &Base64, secret: &str, offset: usize) -> Vec<u8> {
    let mut bytes = vec![0; offset];
    bytes.extend_from_slice(secret.as_bytes());
    let first = (offset * 8).div_ceil(6);
    let end = bytes.len() * 8 / 6;
    alphabet.encode_to_string(&bytes).as_bytes()[first..end].to_vec()
}

fn replace(bytes: &[u8], finder: &Finder<'_>) -> Vec<u8> {
    let mut replaced = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(at) = finder.find(rest) {
        replaced.extend_from_slice(&rest[..at]);
        replaced.extend_from_slice(REDACTED);
        rest = &rest[at + finder.needle().len()..];
    }
    replaced.extend_from_slice(rest);
    replaced
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "hush/hush+hush?";

    fn forms() -> SecretForms {
        SecretForms::new(SECRET, "hush%2Fhush%2Bhush%3F")
    }

    #[test]
    fn finds_the_secret_and_its_base64_form_at_every_position() {
        let forms = forms();
        for before in ["", "a", "ab", "abc", "user:"] {
            for after in ["", "x", "xy", "xyz"] {
                let text = format!("{before}{SECRET}{after}");
                assert!(forms.are_in(text.as_bytes()), "{text}");
                for alphabet in [STANDARD_NO_PAD, URL_SAFE_NO_PAD] {
                    let encoded = alphabet.encode_to_string(text.as_bytes());
                    assert!(forms.are_in(encoded.as_bytes()), "{text}: {encoded}");
                }
            }
        }
        for other in ["", "hush/hush", "hush-hush-hush?", "aHVzaC9odXNo"] {
            assert!(!forms.are_in(other.as_bytes()), "{other}");
        }
    }

    #[test]
    fn redacts_each_form() {
        let forms = forms();
        let redacted = |text: &str| forms.redact_text(text.to_owned());
        assert_eq!(redacted("plain"), "plain");
        assert_eq!(
            redacted(&format!("/?key=hush%2Fhush%2Bhush%3F&a={SECRET}{SECRET}")),
            "/?key=[secret]&a=[secret][secret]"
        );
        let encoded = STANDARD_NO_PAD.encode_to_string(SECRET.as_bytes());
        assert_eq!(redacted(&format!("Basic {encoded}!")), "Basic [secret]!");
    }

    #[test]
    fn redacts_headers() {
        let mut headers = HeaderMap::new();
        let location = HeaderValue::from_static("/?key=hush/hush+hush?&a=b");
        headers.insert("location", location);
        headers.insert("server", HeaderValue::from_static("x"));
        forms().redact_headers(&mut headers);
        assert_eq!(headers["location"], "/?key=[secret]&a=b");
        assert_eq!(headers["server"], "x");
    }
}
