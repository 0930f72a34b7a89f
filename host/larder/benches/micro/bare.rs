//! A minimal server of hyper and wasmtime, configured as in Larder, without any other code of Larder. It
//! validates nothing, parses no JSON and has no limits, so it shows how fast a server that calls guests can
//! be at best. `cargo xtask bench` measures it in addition to Larder.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use larder_runtime::drain::Drain;
use larder_runtime::yield_batch;
use tokio::net::TcpListener;
use wasmtime::Enabled;

use super::allocators::{KEEP_RESIDENT, LinkedComponent, OpenGuest, pool};

/// How guests are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GuestMode {
    /// One call in total: its response is cached.
    Cached,
    /// A guest serves many requests.
    Reused,
    /// A new guest for each request.
    Fresh,
}

struct BareServer {
    mode: GuestMode,
    component: LinkedComponent,
    cached: Mutex<Option<Bytes>>,
    idle: Mutex<Vec<OpenGuest>>,
}

impl BareServer {
    async fn read(&self, uri: &str) -> wasmtime::Result<Bytes> {
        let cached = self
            .cached
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        if let Some(cached) = cached {
            return Ok(cached);
        }
        let idle = self
            .idle
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop();
        let mut guest = match idle {
            Some(guest) => guest,
            None => self.component.open().await?,
        };
        let body = Bytes::from(response_body(uri, &guest.read(uri).await?));
        match self.mode {
            GuestMode::Fresh => drop(guest),
            GuestMode::Reused => self
                .idle
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(guest),
            GuestMode::Cached => {
                *self.cached.lock().unwrap_or_else(PoisonError::into_inner) = Some(body.clone());
            }
        }
        Ok(body)
    }
}

/// Writes a response of the same size as Larder's.
fn response_body(uri: &str, text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(512 + text.len() * 2);
    let before =
        r#"{"jsonrpc":"2.0","id":100,"result":{"resultType":"complete","contents":[{"uri":""#;
    let after = r#"}],"ttlMs":0,"cacheScope":"public","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"bare","version":"0.1.0"}}}}"#;
    for part in [before, uri, r#"","mimeType":"text/plain","text":"#] {
        out.extend_from_slice(part.as_bytes());
    }
    json_escape_simd::escape_into(text, &mut out);
    out.extend_from_slice(after.as_bytes());
    out
}

async fn respond(
    server: Arc<BareServer>,
    request: http::Request<Incoming>,
) -> wasmtime::Result<http::Response<Full<Bytes>>> {
    let (head, body) = request.into_parts();
    body.collect().await?;
    let uri = head
        .headers
        .get("mcp-name")
        .and_then(|uri| uri.to_str().ok())
        .unwrap_or_default();
    let mut response = http::Response::new(Full::new(server.read(uri).await?));
    let json = http::HeaderValue::from_static("application/json");
    response
        .headers_mut()
        .insert(http::header::CONTENT_TYPE, json);
    yield_batch::delay_response().await;
    Ok(response)
}

/// Serves on a free port, which it prints, until the process is killed.
pub(crate) fn serve(mode: &str, guest: &Path) {
    let mode = match mode {
        "cached" => GuestMode::Cached,
        "reused" => GuestMode::Reused,
        "fresh" => GuestMode::Fresh,
        other => panic!("unknown mode `{other}`: use cached, reused or fresh"),
    };
    let guest = std::fs::read(guest).expect("a component");
    let component = LinkedComponent::new(pool(KEEP_RESIDENT, Enabled::Auto), &guest);
    let component = component.expect("a supported strategy");
    let server = Arc::new(BareServer {
        mode,
        component,
        cached: Mutex::default(),
        idle: Mutex::default(),
    });
    // Batches responses as Larder does. Otherwise each response wakes its client, which takes longer.
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime
        .enable_all()
        .on_thread_park(yield_batch::start)
        .build()
        .expect("threads");
    let drain = Drain::new();
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        eprintln!("http://{}/", listener.local_addr().expect("an address"));
        while let Ok((stream, _)) = listener.accept().await {
            let _ = stream.set_nodelay(true);
            let server = server.clone();
            let connection = http1::Builder::new().serve_connection(
                TokioIo::new(stream),
                service_fn(move |request| respond(server.clone(), request)),
            );
            drain.spawn(async move { drop(connection.await) });
        }
    });
}
