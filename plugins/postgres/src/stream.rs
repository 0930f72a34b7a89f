//! The TCP connection to the server, encrypted unless the operator decided otherwise.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use bytes::BytesMut;
use larder_provider::{Error, Result};
use postgres_protocol::message::frontend;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::settings::Server;

/// Bytes in both directions.
pub(crate) trait Stream: Read + Write {}

impl<T: Read + Write> Stream for T {}

/// Connects to a server.
pub(crate) fn open(server: &Server) -> Result<Box<dyn Stream>> {
    let address = (server.host.as_str(), server.port);
    let tcp = TcpStream::connect(address).map_err(|error| not_connected(server, &error))?;
    if server.tls {
        Ok(Box::new(encrypted(tcp, server)?))
    } else {
        Ok(Box::new(tcp))
    }
}

fn not_connected(server: &Server, error: &std::io::Error) -> Error {
    let what = format!("cannot connect to {}:{}: {error}", server.host, server.port);
    match error.kind() {
        std::io::ErrorKind::PermissionDenied => {
            Error::Denied(format!("{what}; see the grant `tcp` of this provider"))
        }
        _ => Error::Unavailable(what),
    }
}

/// Starts TLS on a connection, which PostgreSQL offers on the same port.
pub(crate) fn encrypted<S: Stream>(mut stream: S, server: &Server) -> Result<impl Stream + use<S>> {
    let mut request = BytesMut::new();
    frontend::ssl_request(&mut request);
    let (mut answer, failed) = ([0], |error| {
        Error::Unavailable(format!("the database closed the connection: {error}"))
    });
    stream
        .write_all(&request)
        .and_then(|()| stream.read_exact(&mut answer))
        .map_err(failed)?;
    match answer {
        [b'S'] => {}
        [b'N'] => {
            return Err(
                "the server offers no TLS: turn `ssl` on in postgresql.conf. If the network is trusted, set \
                              `tls = false` in the settings"
                    .into(),
            );
        }
        _ => return Err("the server is not a PostgreSQL server".into()),
    }
    let name = ServerName::try_from(server.host.clone())
        .map_err(|_| "the setting `host` is not a name or an address")?;
    let client =
        ClientConnection::new(Arc::new(configuration(server)?), name).map_err(Error::failed)?;
    let mut stream = StreamOwned::new(client, stream);
    while stream.conn.is_handshaking() {
        stream.conn.complete_io(&mut stream.sock).map_err(|error| {
            Error::Failed(format!(
                "TLS with the database failed: {error}; see the settings `host` and `ca_certificate`"
            ))
        })?;
    }
    Ok(stream)
}

fn configuration(server: &Server) -> Result<ClientConfig> {
    let mut roots = RootCertStore::empty();
    match &server.certificates {
        None => roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
        Some(pem) => {
            for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
                let certificate = certificate
                    .map_err(|error| format!("the setting `ca_certificate`: {error}"))?;
                roots
                    .add(certificate)
                    .map_err(|error| format!("the setting `ca_certificate`: {error}"))?;
            }
        }
    }
    if roots.is_empty() {
        return Err("the setting `ca_certificate` has no certificate in the format PEM".into());
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder
        .with_safe_default_protocol_versions()
        .map_err(Error::failed)?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}
