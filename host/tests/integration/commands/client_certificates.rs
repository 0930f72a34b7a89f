//! Client commands and a server with a self-signed certificate, behind a proxy that ends TLS.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::thread;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::support::process::WorkDir;

/// Starts a proxy with TLS in front of an HTTP server, for requests without a body, and returns its address.
fn start_tls_proxy(server: SocketAddr) -> SocketAddr {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/integration/commands/tls");
    let certificate = CertificateDer::from_pem_file(folder.join("cert-for-tests.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_file(folder.join("key-for-tests.pem")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap();
    let config = config
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for client in listener.incoming() {
            let tls = ServerConnection::new(config.clone()).unwrap();
            // An error means that the client does not trust the certificate.
            _ = forward(StreamOwned::new(tls, client.unwrap()), server);
        }
    });
    address
}

fn forward(mut client: impl Read + Write, server: SocketAddr) -> std::io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        client.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    let mut server = TcpStream::connect(server)?;
    server.write_all(
        &String::from_utf8_lossy(&head)
            .replace("\r\n\r\n", "\r\nconnection: close\r\n\r\n")
            .into_bytes(),
    )?;
    let mut response = Vec::new();
    server.read_to_end(&mut response)?;
    client.write_all(&response)?;
    client.flush()
}

#[test]
fn plain_http_needs_no_certificates_of_the_system() {
    let work_dir = WorkDir::with_guests("echo");
    let (_server, url) = work_dir.serve("");
    let without = [("SSL_CERT_FILE", "/gone"), ("SSL_CERT_DIR", "/gone")];
    let list = work_dir.start_with(&without, &format!("list --url {url}"));
    let listed = list.wait().expect_success();
    assert!(listed.contains("echo://"), "{listed}");
}

#[test]
fn a_self_signed_certificate_is_explained_and_can_be_trusted() {
    let certificate = include_str!("tls/cert-for-tests.pem");
    let work_dir = WorkDir::with_guests("echo")
        .file("larder.toml", "admin.listen = '127.0.0.1:0'")
        .file("cert.pem", certificate)
        .file("empty.pem", "");
    let mut server = work_dir.start("serve --listen 127.0.0.1:0");
    let line = server.wait_for_stderr("serving /livez");
    let admin = line
        .split("http://")
        .nth(1)
        .unwrap()
        .split_whitespace()
        .next()
        .unwrap();
    server.wait_for_stderr("serves http://");
    let proxy = start_tls_proxy(admin.parse().unwrap());
    for command in [
        format!("status --admin https://{proxy}"),
        format!("list --url https://{proxy}/mcp"),
    ] {
        let refused = work_dir.larder(&command).expect_exit(1);
        assert!(
            refused.contains("is not trusted: it is self-signed") && refused.contains("--ca FILE"),
            "{refused}"
        );
    }
    let status = work_dir
        .larder(&format!("status --admin https://{proxy} --ca cert.pem"))
        .expect_success();
    assert!(status.contains("ready"), "{status}");
    let empty = work_dir
        .larder(&format!("status --admin https://{proxy} --ca empty.pem"))
        .expect_exit(64);
    assert!(empty.contains("PEM"), "{empty}");
    let gone = work_dir
        .larder(&format!("status --admin https://{proxy} --ca gone.pem"))
        .expect_exit(64);
    assert!(gone.contains("cannot read gone.pem"), "{gone}");
}
