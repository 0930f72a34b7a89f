//! Questions go down to the gateway, and what comes up is written as the answer, in the words of the era.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use http::HeaderMap;

use super::Endpoint;
use super::dialect::{self, Ear};
use super::era::{LEGACY, Legacy, MODERN, claims};
use super::escape;
use super::json::{Object, object, write_objects};
use super::message::{Id, Request};
use super::method::{self, Ask};
use super::progress::Waiting;
use super::refusal::{INTERNAL, METHOD, Refusal};
use super::show;
use crate::gateway::Error;
use crate::metrics::Era as Generation;
use crate::resource::{Body, Call, Caller, Completion, Content, Freshness, Page, Reading, Scope};
use crate::trace::Open;
use crate::uri::Uri;

/// JavaScript's largest integer: more than that no client reads exactly.
const LONGEST_TTL: u64 = (1 << 53) - 1;

/// Who is answered.
#[derive(Clone)]
pub(super) enum Peer {
    Modern,
    /// With what the session watches.
    Legacy(Arc<Ear>),
}

impl Peer {
    fn is_modern(&self) -> bool {
        matches!(self, Self::Modern)
    }
}

/// An answer with an error in it.
pub(super) fn error(id: Option<&Id>, refusal: &Refusal) -> Vec<u8> {
    object(|o| {
        o.text("jsonrpc", "2.0");
        // Without a readable id there is none in the answer either: the schema has no null.
        id.into_iter().for_each(|id| o.json("id", id.json()));
        o.object("error", |o| {
            o.code("code", refusal.code);
            o.text("message", &refusal.message);
            refusal.data.iter().for_each(|data| o.json("data", data));
        });
    })
}

impl Endpoint {
    /// The answer to a question, with whatever it is.
    pub(super) async fn answer(self, id: Id, ask: Ask, mut call: Arc<Call>, peer: Peer) -> Vec<u8> {
        let modern = peer.is_modern();
        let span = self.span(&ask, &mut call, modern);
        let _waiting = Waiting(call.clone());
        self.0
            .metrics
            .house()
            .request(ask.word(), if modern { Generation::Modern } else { Generation::Legacy });
        // Whatever went wrong below, it went wrong for one request.
        let asked = AssertUnwindSafe(self.ask(&id, ask, &call, &peer)).catch_unwind().await;
        let (refusal, is_trouble) = match asked {
            Ok(Ok(bytes)) => {
                span.into_iter().for_each(|span| span.end(None));
                return bytes;
            }
            Ok(Err(Unanswered::Said(refusal))) => (refusal, false),
            Ok(Err(Unanswered::Gateway(error))) => (Refusal::of(&error, modern), error.is_trouble()),
            Err(_) => (Refusal::new(INTERNAL, "the server failed to answer: its log says why"), true),
        };
        if let Some(mut span) = span {
            let code = refusal.code.to_string();
            span.say("rpc.response.status_code", code.as_str());
            // That there is no such thing is an answer, and no error of this server.
            span.end(is_trouble.then_some(code));
        }
        error(Some(&id), &refusal)
    }

    /// Begins the span of a request, in the words of OpenTelemetry for MCP, if it is to be recorded.
    fn span(&self, ask: &Ask, call: &mut Arc<Call>, modern: bool) -> Option<Open> {
        // Nobody else has the call yet.
        let mut span = self.0.telemetry.request(Arc::get_mut(call)?, ask.method())?;
        if modern {
            span.say("mcp.protocol.version", MODERN);
        }
        if let Ask::Read { uri, .. }
        | Ask::Get { uri, .. }
        | Ask::Subscribe { uri }
        | Ask::Unsubscribe { uri } = ask
        {
            span.say("mcp.resource.uri", uri.as_str());
        }
        Some(span)
    }

    /// Counts a request that never became a question, as nobody knows its method.
    pub(super) fn count_unknown(&self, request: &Request<'_>, refusal: &Refusal) {
        if refusal.code == METHOD {
            let era = if claims(&request.params) { Generation::Modern } else { Generation::Legacy };
            self.0.metrics.house().request("other", era);
        }
    }

    async fn ask(&self, id: &Id, ask: Ask, call: &Arc<Call>, peer: &Peer) -> Result<Vec<u8>, Unanswered> {
        let modern = peer.is_modern();
        let gateway = &self.0.gateway;
        Ok(match ask {
            Ask::Discover => self.discovery(id, call.caller.as_ref().unwrap_or(&self.0.config.caller)),
            Ask::Ping => self.result(id, modern, Hints::default(), |_| {}),
            Ask::List { cursor, filter } => {
                let page = gateway.list(call, cursor.as_deref(), &filter).await?;
                let items: Vec<_> = page.items.iter().map(|entry| show::listed(entry)).collect();
                self.page(id, modern, &page, "resources", &items)
            }
            Ask::Templates { cursor, filter } => {
                let page = gateway.templates(call, cursor.as_deref(), &filter).await?;
                let items: Vec<_> = page.items.iter().map(|item| show::listed_template(item)).collect();
                self.page(id, modern, &page, "resourceTemplates", &items)
            }
            Ask::Read { uri, held } => {
                let reading = gateway.read(call, &uri, held.as_deref()).await?;
                self.reading(id, modern, &reading)
            }
            Ask::Complete(None) => self.completion(id, modern, &Completion::default()),
            Ask::Complete(Some(ask)) => self.completion(id, modern, &gateway.complete(call, ask).await?),
            Ask::Subscribe { uri } => {
                self.subscribe(ear(peer)?, call, uri).await?;
                self.result(id, modern, Hints::default(), |_| {})
            }
            Ask::Unsubscribe { uri } => {
                ear(peer)?.remove(&uri);
                self.result(id, modern, Hints::default(), |_| {})
            }
            Ask::Get { uri, held } => {
                let reading = gateway.read(call, &uri, held.as_deref()).await?;
                let entry = gateway.entry(call, &uri);
                self.result(id, modern, Hints::of(&reading), |o| {
                    dialect::got(o, &uri, entry.as_deref(), &reading);
                })
            }
            Ask::SubscribeAll { uris } => {
                self.subscribe_all(ear(peer)?, call, uris).await?;
                self.result(id, modern, Hints::default(), |_| {})
            }
            Ask::UnsubscribeAll { uris } => {
                let ear = ear(peer)?;
                uris.iter().for_each(|uri| ear.remove(uri));
                self.result(id, modern, Hints::default(), |_| {})
            }
        })
    }

    async fn subscribe(&self, ear: &Ear, call: &Arc<Call>, uri: String) -> Result<(), Unanswered> {
        match ear.add(self.watchable(call, uri).await?, false) {
            true => Ok(()),
            false => Err(Refusal::too_many_subscriptions().into()),
        }
    }

    /// A URI that somebody would be asked for.
    pub(super) async fn watchable(&self, call: &Arc<Call>, uri: String) -> Result<Uri, Unanswered> {
        let parsed = Uri::parse(&uri).map_err(Error::BadUri)?;
        match self.0.gateway.owns(call, &uri).await {
            true => Ok(parsed),
            false => Err(Error::NotFound { uri }.into()),
        }
    }

    fn discovery(&self, id: &Id, caller: &Caller) -> Vec<u8> {
        let about = self.0.gateway.about(caller);
        self.result(id, true, Hints { freshness: Some(about.freshness), version: None }, |o| {
            o.texts("supportedVersions", std::iter::once(MODERN).chain(LEGACY));
            capabilities(o);
            o.maybe("instructions", about.instructions.as_deref());
        })
    }

    /// The answer to the legacy handshake.
    pub(super) fn handshake(
        &self,
        request: &Request<'_>,
        headers: Option<&HeaderMap>,
        version: Legacy,
        caller: &Caller,
    ) -> Vec<u8> {
        self.0.metrics.house().request("initialize", Generation::Legacy);
        let span = self.recorded(request, headers, caller);
        let about = self.0.gateway.about(caller);
        let answer = self.result(&request.id, false, Hints::default(), |o| {
            o.text("protocolVersion", version.as_str());
            capabilities(o);
            o.json("serverInfo", &self.0.server);
            o.maybe("instructions", about.instructions.as_deref());
        });
        if let Some(mut span) = span {
            span.say("mcp.protocol.version", version.as_str());
            span.end(None);
        }
        answer
    }

    /// The span of a request that is no question to anybody below.
    fn recorded(&self, request: &Request<'_>, headers: Option<&HeaderMap>, caller: &Caller) -> Option<Open> {
        let telemetry = Some(&self.0.telemetry).filter(|telemetry| telemetry.is_on())?;
        let mut call = method::call(&request.params, caller.clone()).ok()?;
        call.request = Some(request.id.shared());
        headers.into_iter().for_each(|headers| method::trace(&mut call, headers));
        telemetry.request(&mut call, &request.method)
    }

    fn page<T>(&self, id: &Id, modern: bool, page: &Page<T>, key: &'static str, items: &[&[u8]]) -> Vec<u8> {
        let room = 512 + items.iter().map(|item| item.len() + 1).sum::<usize>();
        let hints = Hints { freshness: Some(page.freshness), version: None };
        self.sized_result(room, id, modern, hints, |o| {
            o.lines(key, items.iter().copied());
            o.maybe("nextCursor", page.next.as_deref());
        })
    }

    fn reading(&self, id: &Id, modern: bool, reading: &Reading) -> Vec<u8> {
        let hints = Hints::of(reading);
        if reading.kept {
            let written = reading.contents.written.or_write(|| written(&reading.contents));
            return self
                .sized_result(512 + written.len(), id, modern, hints, |o| o.bytes("contents", written));
        }
        self.sized_result(512 + room(&reading.contents), id, modern, hints, |o| {
            o.objects("contents", reading.contents.iter(), show::content)
        })
    }

    fn completion(&self, id: &Id, modern: bool, completion: &Completion) -> Vec<u8> {
        self.result(id, modern, Hints::default(), |o| {
            o.object("completion", |o| {
                o.texts("values", completion.values.iter().take(100).map(String::as_str));
                completion.total.into_iter().for_each(|total| o.integer("total", total));
                o.flag("hasMore", completion.more || completion.values.len() > 100);
            });
        })
    }

    fn result(&self, id: &Id, modern: bool, hints: Hints<'_>, fill: impl FnOnce(&mut Object<'_>)) -> Vec<u8> {
        self.sized_result(512, id, modern, hints, fill)
    }

    fn sized_result(
        &self,
        room: usize,
        id: &Id,
        modern: bool,
        hints: Hints<'_>,
        fill: impl FnOnce(&mut Object<'_>),
    ) -> Vec<u8> {
        // What nobody gets without a credential, nobody between may keep and hand on.
        let hints = if self.0.gate.is_open() { hints } else { hints.private() };
        let mut out = Vec::with_capacity(room);
        super::json::write_object(&mut out, |o| {
            o.text("jsonrpc", "2.0");
            o.json("id", id.json());
            o.object("result", |o| {
                if modern {
                    o.text("resultType", "complete");
                }
                fill(o);
                hints.write(o, modern, &self.0.server);
            });
        });
        out
    }

    /// The end of a listening that this side ends.
    pub(super) fn closing(&self, id: &Id) -> Vec<u8> {
        object(|o| {
            o.text("jsonrpc", "2.0");
            o.json("id", id.json());
            o.object("result", |o| {
                o.text("resultType", "complete");
                o.object("_meta", |o| {
                    o.json("io.modelcontextprotocol/subscriptionId", id.json());
                    o.json("io.modelcontextprotocol/serverInfo", &self.0.server);
                });
            });
        })
    }
}

/// Why there is no answer: the gateway's reason, or one of this room's.
pub(super) enum Unanswered {
    Gateway(Error),
    Said(Refusal),
}

impl From<Error> for Unanswered {
    fn from(error: Error) -> Self {
        Self::Gateway(error)
    }
}

impl From<Refusal> for Unanswered {
    fn from(refusal: Refusal) -> Self {
        Self::Said(refusal)
    }
}

fn ear(peer: &Peer) -> Result<&Ear, Refusal> {
    match peer {
        Peer::Legacy(ear) => Ok(ear),
        Peer::Modern => Err(Refusal::unknown_method("resources/subscribe")),
    }
}

fn capabilities(o: &mut Object<'_>) {
    o.json("capabilities", r#"{"resources":{"subscribe":true,"listChanged":true},"completions":{}}"#);
}

/// What a result says beside its content.
#[derive(Default)]
struct Hints<'a> {
    freshness: Option<Freshness>,
    version: Option<&'a str>,
}

impl<'a> Hints<'a> {
    fn of(reading: &'a Reading) -> Self {
        Self { freshness: Some(reading.freshness), version: reading.version.as_deref() }
    }
}

impl Hints<'_> {
    fn private(mut self) -> Self {
        if let Some(freshness) = &mut self.freshness {
            freshness.scope = Scope::Caller;
        }
        self
    }

    fn write(&self, o: &mut Object<'_>, modern: bool, server: &str) {
        if let (true, Some(freshness)) = (modern, self.freshness) {
            o.integer("ttlMs", milliseconds(freshness.ttl));
            o.text(
                "cacheScope",
                match freshness.scope {
                    Scope::Everyone => "public",
                    Scope::Caller => "private",
                },
            );
        }
        if !modern && self.version.is_none() {
            return;
        }
        o.object("_meta", |o| {
            if modern {
                o.json("io.modelcontextprotocol/serverInfo", server);
            }
            o.maybe(show::VERSION_KEY, self.version);
        });
    }
}

/// All contents of an answer, as an array.
fn written(contents: &[Content]) -> Vec<u8> {
    let mut out = Vec::with_capacity(room(contents));
    write_objects(&mut out, contents, show::content);
    out
}

/// About as many bytes as contents take when they are written.
fn room(contents: &[Content]) -> usize {
    let sizes = contents.iter().map(|content| match &content.body {
        Body::Text(text) => text.len() + text.len() / 8,
        Body::Blob(bytes) => bytes.len().div_ceil(3) * 4,
    });
    escape::ROOM + sizes.map(|size| size + 256).sum::<usize>()
}

fn milliseconds(ttl: Duration) -> u64 {
    u64::try_from(ttl.as_millis()).map_or(LONGEST_TTL, |ttl| ttl.min(LONGEST_TTL))
}
