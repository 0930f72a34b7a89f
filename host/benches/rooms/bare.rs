//! What an answer takes with nothing of ours around it: hyper, and the engine as the sandbox has it. It checks nothing, reads no
//! JSON and has no limits, so it shows how near to the floor a server can come that asks a guest. `cargo xtask bench`
//! measures it beside Larder.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use larder::drain::Drain;
use larder::round;
use tokio::net::TcpListener;
use wasmtime::Enabled;

use super::allocators::{KEPT, Open, Ready, pool};

/// How a guest is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manner {
    /// Once, for the first answer, which is kept.
    Kept,
    /// For many answers.
    Reused,
    /// For one.
    Fresh,
}

struct Bare {
    manner: Manner,
    ready: Ready,
    kept: Mutex<Option<Bytes>>,
    idle: Mutex<Vec<Open>>,
}

impl Bare {
    async fn answer(&self, uri: &str) -> wasmtime::Result<Bytes> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(kept) = kept {
            return Ok(kept);
        }
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut guest = match idle {
            Some(guest) => guest,
            None => self.ready.open().await?,
        };
        let answer = Bytes::from(written(uri, &guest.read(uri).await?));
        round::ran(false);
        match self.manner {
            Manner::Fresh => drop(guest),
            Manner::Reused => self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(guest),
            Manner::Kept => {
                *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(answer.clone());
            }
        }
        Ok(answer)
    }
}

/// As much as Larder writes.
fn written(uri: &str, text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(512 + text.len() * 2);
    let before = r#"{"jsonrpc":"2.0","id":100,"result":{"resultType":"complete","contents":[{"uri":""#;
    let after = r#"}],"ttlMs":0,"cacheScope":"public","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"bare","version":"0.1.0"}}}}"#;
    for part in [before, uri, r#"","mimeType":"text/plain","text":"#] {
        out.extend_from_slice(part.as_bytes());
    }
    json_escape_simd::escape_into(text, &mut out);
    out.extend_from_slice(after.as_bytes());
    out
}

async fn respond(
    bare: Arc<Bare>,
    request: http::Request<Incoming>,
) -> wasmtime::Result<http::Response<Full<Bytes>>> {
    let (head, body) = request.into_parts();
    body.collect().await?;
    let uri = head.headers.get("mcp-name").and_then(|uri| uri.to_str().ok()).unwrap_or_default();
    let mut response = http::Response::new(Full::new(bare.answer(uri).await?));
    let json = http::HeaderValue::from_static("application/json");
    response.headers_mut().insert(http::header::CONTENT_TYPE, json);
    round::end().await;
    Ok(response)
}

/// On a free port, which it says, until it is killed.
pub(crate) fn serve(manner: &str, guest: &Path) {
    let manner = match manner {
        "kept" => Manner::Kept,
        "reused" => Manner::Reused,
        "fresh" => Manner::Fresh,
        other => panic!("`{other}` is none of kept, reused and fresh"),
    };
    let guest = std::fs::read(guest).expect("a component");
    let ready = Ready::new(pool(KEPT, Enabled::Auto), &guest).expect("a setting that this machine has");
    let bare = Arc::new(Bare { manner, ready, kept: Mutex::default(), idle: Mutex::default() });
    // The rounds are Larder's: without them each answer wakes its client, which takes longer.
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.enable_all().on_thread_park(round::begin).build().expect("threads");
    let drain = Drain::new();
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        eprintln!("http://{}/", listener.local_addr().expect("an address"));
        while let Ok((stream, _)) = listener.accept().await {
            let _ = stream.set_nodelay(true);
            let bare = bare.clone();
            let serving = http1::Builder::new().serve_connection(
                TokioIo::new(stream),
                service_fn(move |request| respond(bare.clone(), request)),
            );
            drain.spawn(async move { drop(serving.await) });
        }
    });
}
