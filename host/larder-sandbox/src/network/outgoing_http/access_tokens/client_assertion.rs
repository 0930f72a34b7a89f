//! The signed statement of a client about itself (`private_key_jwt`, RFC 7523).

use std::time::SystemTime;

use base64_simd::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, RSA_PKCS1_SHA256, RsaKeyPair,
};
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject as _;
use serde_json::{Value, json};

/// How long a statement is valid, in seconds. Clocks may differ.
const LIFETIME: u64 = 300;

/// A statement that is not signed yet.
pub(super) struct ClientAssertion<'a> {
    pub(super) client_id: &'a str,
    /// The server for which the statement is.
    pub(super) audience: &'a str,
    pub(super) key_id: Option<&'a str>,
    pub(super) now: SystemTime,
}

enum PrivateKey {
    Rsa(RsaKeyPair),
    Ecdsa(EcdsaKeyPair),
}

impl ClientAssertion<'_> {
    /// Signs the statement with a private key in the format PEM.
    pub(super) fn sign(&self, pem: &str) -> Result<String, String> {
        let key = PrivateKey::parse(pem)?;
        let mut header = json!({ "alg": key.algorithm(), "typ": "JWT" });
        if let Some(key_id) = self.key_id {
            header["kid"] = key_id.into();
        }
        let claims = self.claims()?;
        let text = format!("{}.{}", encoded(&header), encoded(&claims));
        let signature = key.sign(text.as_bytes())?;
        let signature = URL_SAFE_NO_PAD.encode_to_string(signature);
        Ok(format!("{text}.{signature}"))
    }

    fn claims(&self) -> Result<Value, String> {
        let mut id = [0; 16];
        getrandom::fill(&mut id).map_err(|error| format!("no random numbers: {error}"))?;
        let now = self.now.duration_since(SystemTime::UNIX_EPOCH);
        let now = now.unwrap_or_default().as_secs();
        Ok(json!({
            "iss": self.client_id,
            "sub": self.client_id,
            "aud": self.audience,
            "jti": URL_SAFE_NO_PAD.encode_to_string(id),
            "iat": now,
            "exp": now + LIFETIME,
        }))
    }
}

impl PrivateKey {
    fn parse(pem: &str) -> Result<Self, String> {
        let Ok(PrivateKeyDer::Pkcs8(der)) = PrivateKeyDer::from_pem_slice(pem.as_bytes()) else {
            return Err(
                "the private key is not in the format PKCS#8: convert it with `openssl pkcs8 -topk8 -nocrypt`"
                    .to_owned(),
            );
        };
        let der = der.secret_pkcs8_der();
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        if let Ok(key) = EcdsaKeyPair::from_pkcs8(algorithm, der, &SystemRandom::new()) {
            return Ok(Self::Ecdsa(key));
        }
        RsaKeyPair::from_pkcs8(der)
            .map(Self::Rsa)
            .map_err(|_| "the private key is neither an RSA key nor a key for P-256".to_owned())
    }

    fn algorithm(&self) -> &'static str {
        match self {
            Self::Rsa(_) => "RS256",
            Self::Ecdsa(_) => "ES256",
        }
    }

    fn sign(&self, text: &[u8]) -> Result<Vec<u8>, String> {
        let random = SystemRandom::new();
        let signed = match self {
            Self::Ecdsa(key) => key.sign(&random, text).map(|it| it.as_ref().to_vec()),
            Self::Rsa(key) => {
                let mut signature = vec![0; key.public().modulus_len()];
                key.sign(&RSA_PKCS1_SHA256, &random, text, &mut signature)
                    .map(|()| signature)
            }
        };
        signed.map_err(|_| "the private key cannot sign".to_owned())
    }
}

fn encoded(json: &Value) -> String {
    URL_SAFE_NO_PAD.encode_to_string(json.to_string())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ring::signature::{ECDSA_P256_SHA256_FIXED, KeyPair as _, UnparsedPublicKey};

    use super::*;

    fn pem(der: &[u8]) -> String {
        let text = base64_simd::STANDARD.encode_to_string(der);
        format!("-----BEGIN PRIVATE KEY-----\n{text}\n-----END PRIVATE KEY-----\n")
    }

    #[test]
    fn signs_what_a_server_expects() {
        let random = SystemRandom::new();
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let der = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
        let assertion = ClientAssertion {
            client_id: "larder",
            audience: "https://id.example/token",
            key_id: Some("key-1"),
            now: SystemTime::UNIX_EPOCH + Duration::from_secs(1_000),
        };
        let token = assertion.sign(&pem(der.as_ref())).unwrap();
        let (text, signature) = token.rsplit_once('.').unwrap();
        let decoded = |part: &str| URL_SAFE_NO_PAD.decode_to_vec(part).unwrap();
        let public = EcdsaKeyPair::from_pkcs8(algorithm, der.as_ref(), &random).unwrap();
        let public = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, public.public_key());
        public.verify(text.as_bytes(), &decoded(signature)).unwrap();
        let (header, claims) = text.split_once('.').unwrap();
        let header: Value = serde_json::from_slice(&decoded(header)).unwrap();
        assert_eq!(
            header,
            json!({ "alg": "ES256", "kid": "key-1", "typ": "JWT" })
        );
        let claims: Value = serde_json::from_slice(&decoded(claims)).unwrap();
        assert_eq!(claims["iss"], "larder");
        assert_eq!(claims["aud"], "https://id.example/token");
        assert_eq!(
            (&claims["iat"], &claims["exp"]),
            (&json!(1_000), &json!(1_300))
        );
    }

    #[test]
    fn refuses_other_keys() {
        let refused = |pem: &str| PrivateKey::parse(pem).err().unwrap();
        assert!(refused("hush").contains("PKCS#8"));
        assert!(refused(&pem(b"hush")).contains("neither an RSA key"));
    }
}
