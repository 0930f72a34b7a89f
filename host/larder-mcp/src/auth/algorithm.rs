//! Signature algorithms and their verification. `jsonwebtoken` makes the checks; `ring`, which is already linked for
//! TLS, does the cryptography. Only public keys are used, and nothing is signed.

use std::fmt;

use jsonwebtoken::crypto::{CryptoProvider, JwtSigner, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{Error, ErrorKind, new_error};
use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyOperations, PublicKeyUse};
use jsonwebtoken::signature::{Error as Unverified, Verifier};
use jsonwebtoken::{Algorithm as Name, DecodingKey, DecodingKeyKind, EncodingKey};
use ring::signature::{
    self, RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey, VerificationAlgorithm,
};

/// An asymmetric signature algorithm. `none` and algorithms with shared keys are not supported.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Algorithm(pub(super) Name);

/// The text is not the name of a supported algorithm.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is not a supported signature algorithm: use {}", list())]
pub struct BadAlgorithm {
    name: String,
}

const ALL: [Name; 9] = [
    Name::RS256,
    Name::RS384,
    Name::RS512,
    Name::PS256,
    Name::PS384,
    Name::PS512,
    Name::ES256,
    Name::ES384,
    Name::EdDSA,
];

impl Algorithm {
    /// The default algorithms: nearly every issuer uses one of these.
    pub const DEFAULT: [Self; 3] = [Self(Name::RS256), Self(Name::ES256), Self(Name::EdDSA)];

    /// Parses a name of RFC 7518 or RFC 8037.
    pub fn parse(text: &str) -> Result<Self, BadAlgorithm> {
        let found = ALL.into_iter().find(|name| format!("{name:?}") == text);
        found.map(Self).ok_or_else(|| BadAlgorithm {
            name: text.escape_debug().take(40).collect(),
        })
    }

    /// Whether this key can verify signatures of this algorithm: its type matches, and its declared use allows it.
    pub(super) fn fits(self, key: &Jwk) -> bool {
        let common = &key.common;
        let is_type_match = match (&key.algorithm, self.0) {
            (AlgorithmParameters::RSA(_), Name::RS256 | Name::RS384 | Name::RS512) => true,
            (AlgorithmParameters::RSA(_), Name::PS256 | Name::PS384 | Name::PS512) => true,
            (AlgorithmParameters::EllipticCurve(key), Name::ES256) => {
                key.curve == EllipticCurve::P256
            }
            (AlgorithmParameters::EllipticCurve(key), Name::ES384) => {
                key.curve == EllipticCurve::P384
            }
            (AlgorithmParameters::OctetKeyPair(key), Name::EdDSA) => {
                key.curve == EllipticCurve::Ed25519
            }
            _ => false,
        };
        is_type_match
            && common
                .key_algorithm
                .is_none_or(|algorithm| algorithm == self.0.into())
            && common
                .key_operations
                .as_ref()
                .is_none_or(|all| all.contains(&KeyOperations::Verify))
            && common
                .public_key_use
                .as_ref()
                .is_none_or(|purpose| *purpose == PublicKeyUse::Signature)
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

impl fmt::Debug for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn list() -> String {
    ALL.map(|name| format!("{name:?}")).join(", ")
}

/// Installs `ring` as the provider of `jsonwebtoken`. Further calls have no effect.
pub(super) fn install() {
    static RING: CryptoProvider = CryptoProvider {
        signer_factory: no_signer,
        verifier_factory: verifier,
        // These functions convert keys for display, which is not needed here.
        key_utils: KeyUtils::new_unimplemented(),
    };
    // An error means that a provider is installed already.
    let _ = RING.install_default();
}

fn no_signer(_: &Name, _: &EncodingKey) -> Result<Box<dyn JwtSigner>, Error> {
    Err(new_error(ErrorKind::UnsupportedAlgorithm))
}

fn verifier(name: &Name, key: &DecodingKey) -> Result<Box<dyn JwtVerifier>, Error> {
    if key.family() != name.family() || !ALL.contains(name) {
        return Err(new_error(ErrorKind::InvalidAlgorithm));
    }
    Ok(Box::new(RingVerifier {
        name: *name,
        key: key.clone(),
    }))
}

/// Verifies signatures with one key.
struct RingVerifier {
    name: Name,
    key: DecodingKey,
}

impl JwtVerifier for RingVerifier {
    fn algorithm(&self) -> Name {
        self.name
    }
}

impl Verifier<Vec<u8>> for RingVerifier {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> Result<(), Unverified> {
        let result = match self.key.kind() {
            DecodingKeyKind::RsaModulusExponent { n, e } => {
                let rsa = rsa(self.name).ok_or_else(Unverified::new)?;
                RsaPublicKeyComponents { n, e }.verify(rsa, message, signature)
            }
            DecodingKeyKind::SecretOrDer(bytes) => {
                let curve = curve(self.name).ok_or_else(Unverified::new)?;
                UnparsedPublicKey::new(curve, bytes).verify(message, signature)
            }
        };
        result.map_err(|_| Unverified::new())
    }
}

/// All RSA algorithms reject keys of fewer than 2048 bits.
fn rsa(name: Name) -> Option<&'static RsaParameters> {
    match name {
        Name::RS256 => Some(&signature::RSA_PKCS1_2048_8192_SHA256),
        Name::RS384 => Some(&signature::RSA_PKCS1_2048_8192_SHA384),
        Name::RS512 => Some(&signature::RSA_PKCS1_2048_8192_SHA512),
        Name::PS256 => Some(&signature::RSA_PSS_2048_8192_SHA256),
        Name::PS384 => Some(&signature::RSA_PSS_2048_8192_SHA384),
        Name::PS512 => Some(&signature::RSA_PSS_2048_8192_SHA512),
        _ => None,
    }
}

fn curve(name: Name) -> Option<&'static dyn VerificationAlgorithm> {
    match name {
        Name::ES256 => Some(&signature::ECDSA_P256_SHA256_FIXED),
        Name::ES384 => Some(&signature::ECDSA_P384_SHA384_FIXED),
        Name::EdDSA => Some(&signature::ED25519),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_only_asymmetric_algorithms() {
        for good in ["RS256", "PS512", "ES384", "EdDSA"] {
            assert_eq!(
                Algorithm::parse(good).map(|name| name.to_string()),
                Ok(good.to_owned())
            );
        }
        for bad in ["", "none", "None", "HS256", "HS512", "rs256", "ES512"] {
            assert!(Algorithm::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn matches_keys_by_type_and_use() {
        let fits = |key: &str, name: &str| {
            Algorithm::parse(name)
                .unwrap()
                .fits(&serde_json::from_str(key).unwrap())
        };
        let rsa = r#"{"kty":"RSA","n":"AQAB","e":"AQAB"}"#;
        assert!(fits(rsa, "RS256") && fits(rsa, "PS256") && !fits(rsa, "ES256"));
        let curve = r#"{"kty":"EC","crv":"P-256","x":"AQ","y":"AQ"}"#;
        assert!(fits(curve, "ES256") && !fits(curve, "ES384") && !fits(curve, "RS256"));
        let edwards = r#"{"kty":"OKP","crv":"Ed25519","x":"AQ","use":"sig"}"#;
        assert!(fits(edwards, "EdDSA") && !fits(edwards, "ES256"));
        assert!(!fits(
            r#"{"kty":"RSA","n":"AQAB","e":"AQAB","use":"enc"}"#,
            "RS256"
        ));
        assert!(!fits(
            r#"{"kty":"RSA","n":"AQAB","e":"AQAB","alg":"RS512"}"#,
            "RS256"
        ));
        assert!(!fits(r#"{"kty":"oct","k":"AQAB"}"#, "RS256"));
    }
}
