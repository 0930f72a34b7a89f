//! Random values of an authorization request, and the PKCE challenge (RFC 7636).

use base64_simd::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};

use super::error::SignInError;

/// Returns 256 random bits as text that needs no encoding in a URL.
pub(super) fn random_text() -> Result<String, SignInError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| SignInError::System(error.to_string()))?;
    Ok(URL_SAFE_NO_PAD.encode_to_string(bytes))
}

/// Returns the challenge for a code verifier, with the method `S256`.
pub(super) fn pkce_challenge(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode_to_string(Sha256::digest(verifier))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn computes_the_example_of_rfc_7636() {
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        let expected = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
        assert_eq!(pkce_challenge(verifier), expected);
    }
}
