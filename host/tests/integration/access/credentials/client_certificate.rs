//! Client certificates: the host connects with them, and the guest has neither the certificate nor its key.

use larder_model::name::Digest;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

use super::server::{EchoServer, certificate};
use super::{SECRET, uri};
use crate::administration::admin::AdminClient;
use crate::support::harness::{SLOW_WAIT, eventually_within};
use crate::support::process::WorkDir;

type Issuer = CertifiedIssuer<'static, KeyPair>;

/// A client certificate with its key.
struct Client {
    certificate: String,
    key: String,
    digest: String,
}

fn issuer() -> Issuer {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

impl Client {
    fn new(issuer: &Issuer) -> Self {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(["client.example".to_owned()]).unwrap();
        let certificate = params.signed_by(&key, issuer).unwrap();
        Self {
            digest: Digest::of(certificate.der()).to_string(),
            certificate: certificate.pem(),
            key: key.serialize_pem(),
        }
    }
}

/// The part of `auth` for the certificate of the client.
const CERTIFICATE: &str = "client_certificate = { key = 'key', certificate = 'certificate' }";

fn work_dir(upstream: &EchoServer, client: &Client) -> WorkDir {
    work_dir_with(upstream, client, CERTIFICATE)
}

fn work_dir_with(upstream: &EchoServer, client: &Client, auth: &str) -> WorkDir {
    let origin = upstream.origin();
    let config = format!(
        "[admin]\nlisten = '127.0.0.1:0'\n\
         [secret.key]\nfile = 'key'\nhosts = ['{origin}']\n\
         [secret.certificate]\nfile = 'certificate'\nhosts = ['{origin}']\n\
         [secret.token]\nfile = 'token'\nhosts = ['{origin}']\n\
         [provider.credentials]\nhosts = [{{ host = '{origin}', auth = {{ {auth} }} }}]\n"
    );
    WorkDir::with_guests("credentials")
        .file("larder.toml", &config)
        .file("key", &client.key)
        .file("certificate", &client.certificate)
        .file("token", SECRET)
}

fn open(work_dir: &WorkDir) -> (AdminClient, String) {
    AdminClient::open_with(work_dir, |command| {
        let mut changed = std::process::Command::new(command.get_program());
        changed.args(command.get_args());
        changed.env("SSL_CERT_FILE", certificate());
        changed
    })
}

fn read(work_dir: &WorkDir, url: &str, of: &str) -> String {
    let output = work_dir.larder(&format!("read {} --url {url}", uri("http-client", of)));
    format!("{}{}", output.stdout, output.stderr)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_have_the_current_certificate() {
    let issuer = issuer();
    let upstream = EchoServer::start_for_clients(issuer.der());
    let first = Client::new(&issuer);
    let work_dir = work_dir(&upstream, &first);
    let (admin, url) = open(&work_dir);
    let text = read(&work_dir, &url, &upstream.url("ok"));
    assert!(text.starts_with("200 ") && text.contains("hello"), "{text}");
    assert_eq!(upstream.take_requests()[0], first.digest);
    let second = Client::new(&issuer);
    let work_dir = work_dir.file("key", &second.key);
    let work_dir = work_dir.file("certificate", &second.certificate);
    let is_rotated = async || {
        read(&work_dir, &url, &upstream.url("ok"));
        let requests = upstream.take_requests();
        requests.first() == Some(&second.digest)
    };
    eventually_within(SLOW_WAIT, "the new certificate is used", is_rotated).await;
    drop(admin);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_certificate_that_is_missing_or_refused_is_an_error() {
    let trusted = issuer();
    let upstream = EchoServer::start_for_clients(trusted.der());
    let client = Client::new(&issuer());
    let work_dir = work_dir(&upstream, &client);
    let (admin, url) = open(&work_dir);
    let text = read(&work_dir, &url, &upstream.url("ok"));
    assert!(text.starts_with("Failure::Unreachable("), "{text}");
    assert!(upstream.take_requests().is_empty());
    // A key without its certificate is refused before a connection is opened.
    let work_dir = work_dir.file("certificate", &Client::new(&trusted).certificate);
    let is_denied = async || {
        let text = read(&work_dir, &url, &upstream.url("ok"));
        text.contains("the secret `key` is not the private key of a client certificate")
    };
    eventually_within(SLOW_WAIT, "the key is refused", is_denied).await;
    drop(admin);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_can_demand_a_certificate_and_a_token() {
    let issuer = issuer();
    let upstream = EchoServer::start_for_clients(issuer.der());
    let client = Client::new(&issuer);
    let read_with = |auth: &str| {
        let work_dir = work_dir_with(&upstream, &client, auth);
        let (admin, url) = open(&work_dir);
        let text = read(&work_dir, &url, &upstream.url("protected"));
        drop(admin);
        text
    };
    let bearer = "bearer = 'token'";
    let text = read_with(&format!("{bearer}, {CERTIFICATE}"));
    assert!(
        text.starts_with("200 ") && text.contains("not found"),
        "{text}"
    );
    assert_eq!(upstream.take_requests()[0], client.digest);
    assert!(read_with(bearer).starts_with("Failure::Unreachable("));
    assert!(upstream.take_requests().is_empty());
    assert!(read_with(CERTIFICATE).starts_with("401 "));
    assert_eq!(upstream.take_requests().len(), 2);
    // The certificate is used at the authorization server, too.
    let endpoint = upstream.url("token");
    let text = read_with(&format!(
        "client_credentials = {{ token_endpoint = '{endpoint}', client_id = 'larder', client_secret = 'token' }}, {CERTIFICATE}"
    ));
    assert!(
        text.starts_with("200 ") && text.contains("not found"),
        "{text}"
    );
    let requests = upstream.take_requests();
    assert_eq!([&requests[0], &requests[2]], [&client.digest; 2]);
    assert!(requests[1].starts_with("POST /token "), "{requests:?}");
}
