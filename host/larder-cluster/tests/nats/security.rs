//! Encrypted connections, and users of NATS.

use larder_cluster::{ClusterConfig, NatsCredentials, NatsServer as NatsUrl};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

use crate::jwt::Account;
use crate::replica::{Replica, config};
use crate::server::{NatsServer, eventually};

/// Waits until the replica knows why it cannot connect.
async fn refused(config: ClusterConfig, reason: &str) {
    let replica = Replica::start(config);
    let error = || replica.cluster.status().last_error.unwrap_or_default();
    eventually(&format!("the reason is {reason}"), || {
        error().contains(reason)
    })
    .await;
    assert!(!replica.cluster.status().connected);
    assert!(
        replica
            .health
            .problems()
            .iter()
            .any(|problem| problem.message.contains(reason))
    );
}

#[tokio::test]
async fn a_user_and_a_password_in_the_url() {
    let lines = "jetstream {}\nauthorization { user: larder, password: \"pa55@word\" }";
    let Some(nats) = NatsServer::with_lines(lines) else {
        return;
    };
    let url = |user: &str| format!("nats://{user}127.0.0.1:{}", nats.port);
    let replica = Replica::start(config(&url("larder:pa55%40word@")));
    replica.sees(0).await;
    refused(config(&url("larder:wrong@")), "authorization violation").await;
    refused(config(&url("")), "authorization violation").await;
}

#[tokio::test]
async fn a_token_in_the_url() {
    let Some(nats) = NatsServer::with_lines("jetstream {}\nauthorization { token: t0ken }") else {
        return;
    };
    let replica = Replica::start(config(&format!("nats://t0ken@127.0.0.1:{}", nats.port)));
    replica.sees(0).await;
}

#[tokio::test]
async fn a_credentials_file() {
    let account = Account::new();
    let Some(nats) = NatsServer::with_lines(&format!("jetstream {{}}\n{}", account.server_lines()))
    else {
        return;
    };
    let with = |credentials: &str| ClusterConfig {
        credentials: Some(NatsCredentials::parse(credentials).unwrap()),
        ..config(&nats.url())
    };
    let replica = Replica::start(with(&account.credentials()));
    replica.sees(0).await;
    refused(
        with(&Account::new().credentials()),
        "authorization violation",
    )
    .await;
}

/// Writes a certificate for 127.0.0.1 that this authority issued. Returns the lines of the server.
fn tls_lines(folder: &std::path::Path, authority: &CertifiedIssuer<'_, KeyPair>) -> String {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["127.0.0.1".into()]).unwrap();
    let certificate = params.signed_by(&key, authority).unwrap();
    let (certificate_file, key_file) = (folder.join("server.pem"), folder.join("server.key"));
    std::fs::write(&certificate_file, certificate.pem()).unwrap();
    std::fs::write(&key_file, key.serialize_pem()).unwrap();
    format!("jetstream {{}}\ntls {{ cert_file: {certificate_file:?}, key_file: {key_file:?} }}")
}

fn authority() -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

#[tokio::test]
async fn an_encrypted_connection_with_an_authority_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let own = authority();
    let Some(nats) = NatsServer::with_lines(&tls_lines(folder.path(), &own)) else {
        return;
    };
    let with = |name: &str, authority: &CertifiedIssuer<'_, KeyPair>| {
        let ca = folder.path().join(name);
        std::fs::write(&ca, authority.as_ref().pem()).unwrap();
        let servers = vec![NatsUrl::parse(&format!("tls://127.0.0.1:{}", nats.port)).unwrap()];
        ClusterConfig {
            servers,
            ca: Some(ca),
            ..config(&nats.url())
        }
    };
    let replica = Replica::start(with("own.pem", &own));
    replica.sees(0).await;
    refused(with("other.pem", &authority()), "certificate").await;
}

#[tokio::test]
async fn a_server_without_encryption_is_refused_if_it_is_required() {
    let Some(nats) = NatsServer::start() else {
        return;
    };
    let ca = nats.folder().join("ca.pem");
    std::fs::write(&ca, authority().as_ref().pem()).unwrap();
    let replica = Replica::start(ClusterConfig {
        ca: Some(ca),
        ..config(&nats.url())
    });
    eventually("the reason is known", || {
        replica.cluster.status().last_error.is_some()
    })
    .await;
    assert!(!replica.cluster.status().connected);
}
