//! Bearer tokens of our own: how one is made and what is kept of it. They are random enough that a plain digest
//! tells nothing about them, and looking one up by its digest takes no time that depends on how much of it is right.

use std::time::SystemTime;

use crate::name::Digest;
use crate::resource::Caller;

/// What they begin with, so that people and scanners of leaked secrets know one when they see it.
const PREFIX: &str = "larder_";
/// Random bytes in one.
const SECRET: usize = 32;
/// Hexadecimal digits at the end that follow from the rest.
const CHECK: usize = 8;

/// A token that is accepted, without the token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// Of the token's text.
    pub digest: Digest,
    /// Who asks with it.
    pub caller: Caller,
    /// When it ends.
    pub expires: Option<SystemTime>,
}

/// The system gives no random bytes.
#[derive(Debug, thiserror::Error)]
#[error("the system gives no random bytes: {0}")]
pub struct NoRandom(getrandom::Error);

/// Makes a token. Nobody has it but who asked for it.
pub fn mint() -> Result<String, NoRandom> {
    let mut bytes = [0; SECRET];
    getrandom::fill(&mut bytes).map_err(NoRandom)?;
    let secret: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("{PREFIX}{secret}{}", check(&secret)))
}

/// Whether this is meant to be one of ours, but cannot be: somebody lost or mixed up a character.
pub(super) fn is_mistyped(token: &str) -> bool {
    let Some(rest) = token.strip_prefix(PREFIX) else { return false };
    let split = rest.len().checked_sub(CHECK).and_then(|at| rest.split_at_checked(at));
    split.is_none_or(|(secret, end)| secret.len() != SECRET * 2 || check(secret) != end)
}

/// Finds typing errors. It is no secret: whoever has the rest can work it out.
fn check(secret: &str) -> String {
    Digest::of(secret.as_bytes()).to_string()[..CHECK].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_token_is_another_and_all_are_in_order() {
        let (one, other) = (mint().unwrap(), mint().unwrap());
        assert_ne!(one, other);
        for token in [one, other] {
            assert!(
                token.len() == 79 && token.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            );
            assert!(!is_mistyped(&token), "{token}");
        }
    }

    #[test]
    fn a_slip_is_noticed() {
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
            assert!(is_mistyped(bad), "{bad}");
        }
        assert!(!is_mistyped("somebody's own kind of token"));
    }
}
