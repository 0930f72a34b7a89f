//! An HTTP server, with or without TLS, that records its requests and repeats them in its responses.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use larder_model::name::Digest;
use parking_lot::Mutex;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};
use serde_json::json;

use super::SECRET;

pub(super) struct EchoServer {
    scheme: &'static str,
    pub(super) port: u16,
    requests: Arc<Mutex<Vec<String>>>,
}

impl EchoServer {
    pub(super) fn start() -> Self {
        Self::with("http", answer)
    }

    /// Starts a server with the certificate in [`certificate`].
    pub(super) fn start_tls() -> Self {
        let config = tls();
        Self::with("https", move |stream, requests| {
            let tls = ServerConnection::new(config.clone()).unwrap();
            answer(StreamOwned::new(tls, stream), requests)
        })
    }

    /// Starts a server that demands a client certificate of this issuer. Its requests begin with the digest of the
    /// certificate.
    pub(super) fn start_for_clients(issuer: &CertificateDer<'static>) -> Self {
        let config = tls_for_clients(issuer);
        Self::with("https", move |stream, requests| {
            let tls = ServerConnection::new(config.clone()).unwrap();
            let mut stream = StreamOwned::new(tls, stream);
            while stream.conn.is_handshaking() {
                stream.conn.complete_io(&mut stream.sock)?;
            }
            let certificates = stream.conn.peer_certificates().unwrap();
            let digest = Digest::of(&certificates[0]);
            requests.lock().push(digest.to_string());
            answer(stream, requests)
        })
    }

    fn with(
        scheme: &'static str,
        answer: impl Fn(TcpStream, &Mutex<Vec<String>>) -> std::io::Result<()> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests = Arc::<Mutex<Vec<String>>>::default();
        let seen = requests.clone();
        let answer = Arc::new(answer);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (Ok(stream), seen, answer) = (stream, seen.clone(), answer.clone()) else {
                    return;
                };
                // An error means that the client does not trust the certificate, or has read enough.
                std::thread::spawn(move || _ = answer(stream, &seen));
            }
        });
        Self {
            scheme,
            port,
            requests,
        }
    }

    /// The origin of the server, for `hosts`.
    pub(super) fn origin(&self) -> String {
        format!("{}://127.0.0.1:{}", self.scheme, self.port)
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("{}/{path}", self.origin())
    }

    /// The requests since the last call.
    pub(super) fn take_requests(&self) -> Vec<String> {
        std::mem::take(&mut self.requests.lock())
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/integration/commands/tls")
}

/// The file with the certificate of the server.
pub(super) fn certificate() -> PathBuf {
    folder().join("cert-for-tests.pem")
}

fn tls() -> Arc<ServerConfig> {
    tls_with(WebPkiClientVerifier::no_client_auth())
}

fn tls_for_clients(issuer: &CertificateDer<'static>) -> Arc<ServerConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(issuer.clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
    tls_with(verifier.build().unwrap())
}

fn tls_with(verifier: Arc<dyn ClientCertVerifier>) -> Arc<ServerConfig> {
    let certificate = CertificateDer::from_pem_file(certificate()).unwrap();
    let key = PrivateKeyDer::from_pem_file(folder().join("key-for-tests.pem")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap();
    let config = config
        .with_client_cert_verifier(verifier)
        .with_single_cert(vec![certificate], key);
    Arc::new(config.unwrap())
}

/// Answers one request by its path: `ok`, `unauthorized` and `redirect`; `token` and `protected`, which needs the token; `echo` with the request in the body, `pieces`
/// with each byte of it in a chunk of its own, and `headers` with the request in headers.
fn answer(mut stream: impl Read + Write, requests: &Mutex<Vec<String>>) -> std::io::Result<()> {
    let head = read_head(&mut stream)?;
    requests.lock().push(head.clone());
    let target = head.split(' ').nth(1).unwrap_or_default();
    let path = target.trim_start_matches('/').split('?').next();
    let flat = head.replace("\r\n", " ");
    match path.unwrap_or_default() {
        "echo" => respond(&mut stream, "200 OK", "", &head),
        "pieces" => respond_in_pieces(&mut stream, &head),
        "headers" => {
            let headers = format!("x-echo: {flat}\r\nlocation: {target}\r\n");
            respond(&mut stream, "200 OK", &headers, "hello")
        }
        "redirect" => respond(&mut stream, "302 Found", "location: /ok\r\n", "moved"),
        "token" => {
            let token = json!({ "access_token": SECRET, "token_type": "Bearer" });
            respond(&mut stream, "200 OK", "", &token.to_string())
        }
        "protected" if head.contains(&format!("authorization: Bearer {SECRET}\r\n")) => {
            respond(&mut stream, "200 OK", "", "hello")
        }
        "unauthorized" | "protected" => respond(&mut stream, "401 Unauthorized", "", "who are you"),
        _ => respond(&mut stream, "200 OK", "", "hello"),
    }
}

fn read_head(stream: &mut impl Read) -> std::io::Result<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    // A connection that is closed before its data was read would be reset.
    let mut lines = head.lines();
    let length = lines.find_map(|line| line.strip_prefix("content-length: "));
    let length = length.and_then(|length| length.parse().ok()).unwrap_or(0);
    stream.read_exact(&mut vec![0; length])?;
    Ok(head)
}

fn respond(
    stream: &mut impl Write,
    status: &str,
    headers: &str,
    body: &str,
) -> std::io::Result<()> {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n{body}"
    );
    stream.write_all(head.as_bytes())?;
    stream.flush()
}

fn respond_in_pieces(stream: &mut impl Write, body: &str) -> std::io::Result<()> {
    let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n";
    stream.write_all(head.as_bytes())?;
    for byte in body.bytes() {
        stream.write_all(b"1\r\n")?;
        stream.write_all(&[byte])?;
        stream.write_all(b"\r\n")?;
        stream.flush()?;
    }
    stream.write_all(b"0\r\n\r\n")?;
    stream.flush()
}
