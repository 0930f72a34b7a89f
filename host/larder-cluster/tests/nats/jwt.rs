//! An account of NATS that is defined by tokens, as large deployments have it, and a user of it.

use nkeys::KeyPair;
use serde_json::{Value, json};

/// An operator with one account for users and one for the system.
pub(crate) struct Account {
    operator: KeyPair,
    account: KeyPair,
    system: KeyPair,
}

impl Account {
    pub(crate) fn new() -> Self {
        Self {
            operator: KeyPair::new_operator(),
            account: KeyPair::new_account(),
            system: KeyPair::new_account(),
        }
    }

    /// The lines in the configuration of a server.
    pub(crate) fn server_lines(&self) -> String {
        let limits = json!({
            "subs": -1, "conn": -1, "leaf": -1, "imports": -1, "exports": -1, "data": -1, "payload": -1,
            "wildcards": true, "mem_storage": -1, "disk_storage": -1, "streams": -1, "consumer": -1,
        });
        let system_limits = json!({ "subs": -1, "conn": -1, "leaf": -1, "imports": -1, "exports": -1, "data": -1, "payload": -1, "wildcards": true });
        let operator = token(
            &self.operator,
            &self.operator,
            "operator",
            json!({ "type": "operator", "version": 2 }),
        );
        let account = |key, limits: Value| {
            let claims = json!({ "type": "account", "version": 2, "limits": limits, "default_permissions": { "pub": {}, "sub": {} } });
            token(&self.operator, key, "account", claims)
        };
        format!(
            "operator: {operator}\nsystem_account: {}\nresolver: MEMORY\nresolver_preload {{\n{}: {}\n{}: {}\n}}",
            self.system.public_key(),
            self.account.public_key(),
            account(&self.account, limits),
            self.system.public_key(),
            account(&self.system, system_limits),
        )
    }

    /// The credentials file of a user.
    pub(crate) fn credentials(&self) -> String {
        let user = KeyPair::new_user();
        let claims = json!({ "type": "user", "version": 2, "pub": {}, "sub": {}, "subs": -1, "data": -1, "payload": -1 });
        let jwt = token(&self.account, &user, "user", claims);
        format!(
            "-----BEGIN NATS USER JWT-----\n{jwt}\n------END NATS USER JWT------\n\n\
             -----BEGIN USER NKEY SEED-----\n{}\n------END USER NKEY SEED------\n",
            user.seed().unwrap()
        )
    }
}

/// Returns a token about a key, which the issuer signs.
fn token(issuer: &KeyPair, subject: &KeyPair, name: &str, claims: Value) -> String {
    let part = |value: &Value| encode(&serde_json::to_vec(value).unwrap());
    let body = json!({
        "jti": subject.public_key(), "iat": 1_700_000_000, "iss": issuer.public_key(), "name": name,
        "sub": subject.public_key(), "nats": claims,
    });
    let text = format!(
        "{}.{}",
        part(&json!({ "typ": "JWT", "alg": "ed25519-nkey" })),
        part(&body)
    );
    let signature = encode(&issuer.sign(text.as_bytes()).unwrap());
    format!("{text}.{signature}")
}

fn encode(bytes: &[u8]) -> String {
    base64_simd::URL_SAFE_NO_PAD.encode_to_string(bytes)
}
