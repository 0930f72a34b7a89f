//! A little issuer: it serves its metadata and its keys over real HTTP, and signs what it is asked to sign.
//! The RSA key opens nothing anywhere; the others are made anew for each test.

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

/// A key with both its halves.
pub(crate) enum Pair {
    Rsa(Box<RsaKeyPair>),
    P256(EcdsaKeyPair),
    P384(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
}

impl Pair {
    pub(crate) fn rsa() -> Self {
        Self::Rsa(Box::new(RsaKeyPair::from_pkcs8(include_bytes!("rsa-for-tests.der")).unwrap()))
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

    /// The public half, under this name.
    pub(crate) fn public(&self, id: &str) -> Value {
        let point = |pair: &EcdsaKeyPair, name: &str| {
            let (x, y) = pair.public_key().as_ref()[1..].split_at(pair.public_key().as_ref().len() / 2);
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
                let mut signed = vec![0; pair.public().modulus_len()];
                let how: &dyn signature::RsaEncoding = match algorithm {
                    "PS256" => &signature::RSA_PSS_SHA256,
                    _ => &signature::RSA_PKCS1_SHA256,
                };
                pair.sign(how, &random, text, &mut signed).unwrap();
                signed
            }
            Self::P256(pair) | Self::P384(pair) => pair.sign(&random, text).unwrap().as_ref().to_vec(),
            Self::Ed25519(pair) => pair.sign(text).as_ref().to_vec(),
        }
    }

    /// A token with this head and these claims.
    pub(crate) fn token(&self, head: &Value, claims: &Value) -> String {
        let text = unsigned(head, claims);
        let signed = self.sign(head["alg"].as_str().unwrap(), text.as_bytes());
        format!("{text}.{}", base64(&signed))
    }
}

fn curve(how: &'static signature::EcdsaSigningAlgorithm) -> EcdsaKeyPair {
    let random = SystemRandom::new();
    let document = EcdsaKeyPair::generate_pkcs8(how, &random).unwrap();
    EcdsaKeyPair::from_pkcs8(how, document.as_ref(), &random).unwrap()
}

pub(crate) fn base64(bytes: &[u8]) -> String {
    base64_simd::URL_SAFE_NO_PAD.encode_to_string(bytes)
}

pub(crate) fn unsigned(head: &Value, claims: &Value) -> String {
    format!("{}.{}", base64(head.to_string().as_bytes()), base64(claims.to_string().as_bytes()))
}

/// Seconds from now, as claims have them.
pub(crate) fn from_now(seconds: i64) -> i64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    i64::try_from(now.as_secs()).unwrap() + seconds
}

/// The issuer.
pub(crate) struct Issuer {
    pub(crate) url: String,
    served: Arc<Served>,
}

#[derive(Default)]
struct Served {
    url: String,
    keys: Mutex<Option<Value>>,
    asked: AtomicUsize,
}

impl Issuer {
    /// With the public halves of these keys.
    pub(crate) async fn of(drain: &Drain, keys: Value) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/realm", listener.local_addr().unwrap());
        let served =
            Arc::new(Served { url: url.clone(), keys: Mutex::new(Some(keys)), asked: AtomicUsize::new(0) });
        let router = axum::Router::new().fallback(answer).with_state(served.clone());
        drain.spawn(async move { axum::serve(listener, router).await });
        Self { url, served }
    }

    /// Has other keys from now on; with none, it is ill.
    pub(crate) fn rotate(&self, keys: Option<Value>) {
        *self.served.keys.lock().unwrap() = keys;
    }

    /// How often it was asked for its keys.
    pub(crate) fn asked(&self) -> usize {
        self.served.asked.load(Ordering::SeqCst)
    }

    /// What a server believes that believes this issuer.
    pub(crate) fn believed(&self) -> Oauth {
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

    /// Claims that hold.
    pub(crate) fn claims(&self) -> Value {
        json!({ "iss": self.url, "aud": AUDIENCE, "sub": "ann", "exp": from_now(600), "scope": "docs:read" })
    }
}

async fn answer(State(served): State<Arc<Served>>, request: Request) -> (StatusCode, String) {
    match request.uri().path() {
        "/.well-known/openid-configuration/realm" => {
            let metadata = json!({ "issuer": served.url, "jwks_uri": format!("{}/keys", served.url) });
            (StatusCode::OK, metadata.to_string())
        }
        "/realm/keys" => {
            served.asked.fetch_add(1, Ordering::SeqCst);
            match &*served.keys.lock().unwrap() {
                Some(keys) => (StatusCode::OK, json!({ "keys": keys }).to_string()),
                None => (StatusCode::INTERNAL_SERVER_ERROR, String::new()),
            }
        }
        _ => (StatusCode::NOT_FOUND, String::new()),
    }
}
