//! A minimal OAuth issuer: it serves its metadata and its keys over HTTP, and signs tokens.
//! The RSA key is used in these tests only; the other keys are generated for each test.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use axum::extract::{Request, State};
use axum::http::StatusCode;
use larder_mcp::auth::{Algorithm, Audience, Membership, Oauth, SecureUrl};
use larder_model::name::Teams;
use larder_runtime::drain::Drain;
use ring::rand::SystemRandom;
use ring::signature::{self, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _, RsaKeyPair};
use serde_json::{Value, json};

pub(crate) const AUDIENCE: &str = "https://docs.example.com/mcp";

/// A key pair.
pub(crate) enum Pair {
    Rsa(Box<RsaKeyPair>),
    P256(EcdsaKeyPair),
    P384(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
}

impl Pair {
    pub(crate) fn rsa() -> Self {
        Self::Rsa(Box::new(
            RsaKeyPair::from_pkcs8(include_bytes!("rsa-for-tests.der")).unwrap(),
        ))
    }

    pub(crate) fn p256() -> Self {
        Self::P256(curve(&signature::ECDSA_P256_SHA256_FIXED_SIGNING))
    }

    pub(crate) fn p384() -> Self {
        Self::P384(curve(&signature::ECDSA_P384_SHA384_FIXED_SIGNING))
    }

    pub(crate) fn ed25519() -> Self {
        let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        Self::Ed25519(Ed25519KeyPair::from_pkcs8(document.as_ref()).unwrap())
    }

    /// The public key as a JWK with this key id.
    pub(crate) fn public(&self, id: &str) -> Value {
        let point = |pair: &EcdsaKeyPair, name: &str| {
            let (x, y) =
                pair.public_key().as_ref()[1..].split_at(pair.public_key().as_ref().len() / 2);
            json!({ "kty": "EC", "crv": name, "x": base64(x), "y": base64(y) })
        };
        let mut key = match self {
            Self::Rsa(pair) => {
                let parts = signature::RsaPublicKeyComponents::<Vec<u8>>::from(pair.public());
                json!({ "kty": "RSA", "n": base64(&parts.n), "e": base64(&parts.e) })
            }
            Self::P256(pair) => point(pair, "P-256"),
            Self::P384(pair) => point(pair, "P-384"),
            Self::Ed25519(pair) => {
                json!({ "kty": "OKP", "crv": "Ed25519", "x": base64(pair.public_key().as_ref()) })
            }
        };
        key["kid"] = json!(id);
        key["use"] = json!("sig");
        key
    }

    fn sign(&self, algorithm: &str, text: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match self {
            Self::Rsa(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                let encoding: &dyn signature::RsaEncoding = match algorithm {
                    "PS256" => &signature::RSA_PSS_SHA256,
                    _ => &signature::RSA_PKCS1_SHA256,
                };
                pair.sign(encoding, &random, text, &mut signature).unwrap();
                signature
            }
            Self::P256(pair) | Self::P384(pair) => {
                pair.sign(&random, text).unwrap().as_ref().to_vec()
            }
            Self::Ed25519(pair) => pair.sign(text).as_ref().to_vec(),
        }
    }

    /// Signs a token with this header and these claims.
    pub(crate) fn token(&self, header: &Value, claims: &Value) -> String {
        let text = unsigned(header, claims);
        let signed = self.sign(header["alg"].as_str().unwrap(), text.as_bytes());
        format!("{text}.{}", base64(&signed))
    }
}

fn curve(algorithm: &'static signature::EcdsaSigningAlgorithm) -> EcdsaKeyPair {
    let random = SystemRandom::new();
    let document = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
    EcdsaKeyPair::from_pkcs8(algorithm, document.as_ref(), &random).unwrap()
}

pub(crate) fn base64(bytes: &[u8]) -> String {
    base64_simd::URL_SAFE_NO_PAD.encode_to_string(bytes)
}

pub(crate) fn unsigned(header: &Value, claims: &Value) -> String {
    format!(
        "{}.{}",
        base64(header.to_string().as_bytes()),
        base64(claims.to_string().as_bytes())
    )
}

/// A time as a claim: seconds since the epoch.
pub(crate) fn from_now(seconds: i64) -> i64 {
    let now = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap();
    i64::try_from(now.as_secs()).unwrap() + seconds
}

/// A running issuer.
pub(crate) struct Issuer {
    pub(crate) url: String,
    served: Arc<IssuerState>,
}

#[derive(Default)]
struct IssuerState {
    url: String,
    keys: Mutex<Option<Value>>,
    key_requests: AtomicUsize,
}

impl Issuer {
    /// Starts an issuer with these public keys.
    pub(crate) async fn start(drain: &Drain, keys: Value) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/realm", listener.local_addr().unwrap());
        let served = Arc::new(IssuerState {
            url: url.clone(),
            keys: Mutex::new(Some(keys)),
            key_requests: AtomicUsize::new(0),
        });
        let router = axum::Router::new()
            .fallback(respond)
            .with_state(served.clone());
        drain.spawn(async move { axum::serve(listener, router).await });
        Self { url, served }
    }

    /// Replaces the keys. With `None`, requests for the keys fail.
    pub(crate) fn rotate(&self, keys: Option<Value>) {
        *self.served.keys.lock().unwrap() = keys;
    }

    /// How often the keys were requested.
    pub(crate) fn key_requests(&self) -> usize {
        self.served.key_requests.load(Ordering::SeqCst)
    }

    /// The configuration of a server that accepts tokens of this issuer.
    pub(crate) fn oauth_config(&self) -> Oauth {
        Oauth {
            issuer: SecureUrl::parse(&self.url).unwrap(),
            audience: Audience::parse(AUDIENCE).unwrap(),
            jwks: None,
            algorithms: ["RS256", "PS256", "ES256", "ES384", "EdDSA"]
                .map(|name| Algorithm::parse(name).unwrap())
                .into(),
            membership: Membership::All(Teams::default_team()),
            scopes: vec![],
            leeway: Duration::from_secs(60),
            refresh: Duration::from_secs(3600),
            min_fetch_interval: Duration::ZERO,
        }
    }

    /// Valid claims.
    pub(crate) fn claims(&self) -> Value {
        json!({ "iss": self.url, "aud": AUDIENCE, "sub": "ann", "exp": from_now(600), "scope": "docs:read" })
    }
}

async fn respond(State(served): State<Arc<IssuerState>>, request: Request) -> (StatusCode, String) {
    match request.uri().path() {
        "/.well-known/openid-configuration/realm" => {
            let metadata =
                json!({ "issuer": served.url, "jwks_uri": format!("{}/keys", served.url) });
            (StatusCode::OK, metadata.to_string())
        }
        "/realm/keys" => {
            served.key_requests.fetch_add(1, Ordering::SeqCst);
            match &*served.keys.lock().unwrap() {
                Some(keys) => (StatusCode::OK, json!({ "keys": keys }).to_string()),
                None => (StatusCode::INTERNAL_SERVER_ERROR, String::new()),
            }
        }
        _ => (StatusCode::NOT_FOUND, String::new()),
    }
}
