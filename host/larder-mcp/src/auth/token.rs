//! Bearer tokens from the configuration: generation and storage as digests. The tokens have enough random bits that a
//! plain digest reveals nothing about them, and the time of a lookup by digest does not depend on how many characters
//! of a token are right.

use std::time::SystemTime;

use larder_model::name::Digest;
use larder_model::resource::Caller;

/// The prefix of all tokens, by which people and secret scanners recognize them.
const PREFIX: &str = "larder_";
/// Random bytes in a token.
const SECRET_BYTES: usize = 32;
/// Hexadecimal digits of the checksum at the end.
const CHECKSUM_DIGITS: usize = 8;

/// An accepted token, stored as its digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// The digest of the token's text.
    pub digest: Digest,
    /// The caller that the token authenticates.
    pub caller: Caller,
    /// When the token expires.
    pub expires: Option<SystemTime>,
}

/// The operating system returned no random bytes.
#[derive(Debug, thiserror::Error)]
#[error("the operating system returned no random bytes: {0}")]
pub struct RandomError(getrandom::Error);

/// Generates a token. Only the return value contains it.
pub fn mint() -> Result<String, RandomError> {
    let mut bytes = [0; SECRET_BYTES];
    getrandom::fill(&mut bytes).map_err(RandomError)?;
    let secret: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("{PREFIX}{secret}{}", checksum(&secret)))
}

/// Whether the token has the prefix of a generated token, but a wrong length or checksum. Such a token was copied
/// incompletely or mistyped.
pub(super) fn has_bad_checksum(token: &str) -> bool {
    let Some(rest) = token.strip_prefix(PREFIX) else {
        return false;
    };
    let split = rest
        .len()
        .checked_sub(CHECKSUM_DIGITS)
        .and_then(|at| rest.split_at_checked(at));
    split.is_none_or(|(secret, end)| secret.len() != SECRET_BYTES * 2 || checksum(secret) != end)
}

/// Returns a checksum against typing errors. The checksum is not secret: it is computed from the rest of the token.
fn checksum(secret: &str) -> String {
    Digest::of(secret.as_bytes()).to_string()[..CHECKSUM_DIGITS].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mints_distinct_valid_tokens() {
        let one = mint().unwrap();
        let other = mint().unwrap();
        assert_ne!(one, other);
        for token in [one, other] {
            assert!(
                token.len() == 79
                    && token
                        .bytes()
                        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            );
            assert!(!has_bad_checksum(&token), "{token}");
        }
    }

    #[test]
    fn detects_typing_errors() {
        let token = mint().unwrap();
        let swapped = match token.as_bytes()[20] {
            b'0' => '1',
            _ => '0',
        };
        let swapped = format!("{}{swapped}{}", &token[..20], &token[21..]);
        for bad in [
            &token[..78],
            &format!("{token}0"),
            &swapped,
            "larder_",
            "larder_ü",
            &token.to_uppercase().replace("LARDER", "larder"),
        ] {
            assert!(has_bad_checksum(bad), "{bad}");
        }
        assert!(!has_bad_checksum("somebody's own kind of token"));
    }
}
