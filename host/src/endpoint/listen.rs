//! Listening: what a client wants to hear, and the notifications that tell it.

use std::collections::HashSet;
use std::sync::Arc;

use futures_util::{StreamExt as _, stream};

use super::Endpoint;
use super::json::object;
use super::message::{Id, Params};
use super::refusal::{PARAMS, Refusal};
use crate::catalog::{Change, Watch};
use crate::metrics::Era;
use crate::resource::Call;
use crate::uri::Uri;

const METHOD: &str = "subscriptions/listen";
/// The most URIs of one listening.
const MOST: usize = 1024;
/// Questions for an owner that run at the same time.
const AT_ONCE: usize = 8;

/// What a client asks to hear, as far as this server has it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Filter {
    list: bool,
    uris: Vec<String>,
}

impl Filter {
    pub(super) fn read(params: &Params<'_>) -> Result<Self, Refusal> {
        if let Some(fault) = &params.fault {
            return Err(fault.clone().into());
        }
        let wanted = params.fields.needed_object("notifications")?;
        let mut uris = wanted.texts("resourceSubscriptions", MOST)?;
        if uris.len() > MOST {
            return Err(Refusal::new(PARAMS, format!("`resourceSubscriptions` has more than {MOST} URIs")));
        }
        let mut seen = HashSet::new();
        uris.retain(|uri| seen.insert(uri.clone()));
        Ok(Self { list: wanted.flag("resourcesListChanged")?, uris })
    }
}

/// A modern client that listens.
pub(super) struct Listening {
    id: Id,
    watch: Watch,
    list: bool,
    uris: Vec<Uri>,
}

impl Listening {
    /// Begins to watch what can be watched, and leaves out the rest.
    pub(super) async fn begin(endpoint: &Endpoint, id: Id, filter: Filter, mut call: Call) -> Self {
        call.request = Some(id.shared());
        // Of its beginning: the rest lasts for as long as the client listens.
        let span = endpoint.0.telemetry.request(&mut call, METHOD);
        let call = Arc::new(call);
        let gateway = &endpoint.0.gateway;
        let watch = gateway.watch(call.caller.as_ref().unwrap_or(&endpoint.0.config.caller));
        watch.list_changes(filter.list);
        let asked: Vec<Uri> = filter.uris.iter().filter_map(|uri| Uri::parse(uri).ok()).collect();
        let owned = stream::iter(asked)
            .map(|uri| {
                let (gateway, call) = (gateway.clone(), call.clone());
                async move { gateway.owns(&call, uri.as_str()).await.then_some(uri) }
            })
            .buffered(AT_ONCE);
        let uris: Vec<Uri> = owned.filter_map(std::future::ready).collect().await;
        let uris = uris.into_iter().filter(|uri| watch.add(uri.clone())).collect();
        endpoint.0.metrics.house().request("listen", Era::Modern);
        span.into_iter().for_each(|span| span.end(None));
        Self { id, watch, list: filter.list, uris }
    }

    /// The first message: what will be told.
    pub(super) fn acknowledgement(&self) -> Vec<u8> {
        object(|o| {
            o.text("jsonrpc", "2.0");
            o.text("method", "notifications/subscriptions/acknowledged");
            o.object("params", |o| {
                o.object("_meta", |o| o.json("io.modelcontextprotocol/subscriptionId", self.id.json()));
                o.object("notifications", |o| {
                    if self.list {
                        o.flag("resourcesListChanged", true);
                    }
                    if !self.uris.is_empty() {
                        o.texts("resourceSubscriptions", self.uris.iter().map(Uri::as_str));
                    }
                });
            });
        })
    }

    /// Waits for news.
    pub(super) async fn next(&self) -> Vec<Vec<u8>> {
        self.watch.next().await.iter().map(|change| notification(change, Some(&self.id))).collect()
    }

    pub(super) fn id(&self) -> &Id {
        &self.id
    }
}

/// A change, told to a listener of the modern era by its id, or to a legacy session.
pub(super) fn notification(change: &Change, listening: Option<&Id>) -> Vec<u8> {
    object(|o| {
        o.text("jsonrpc", "2.0");
        o.text(
            "method",
            match change {
                Change::List => "notifications/resources/list_changed",
                Change::Updated(_) => "notifications/resources/updated",
            },
        );
        let uri = match change {
            Change::List => None,
            Change::Updated(uri) => Some(uri.as_str()),
        };
        if uri.is_none() && listening.is_none() {
            return;
        }
        o.object("params", |o| {
            if let Some(id) = listening {
                o.object("_meta", |o| o.json("io.modelcontextprotocol/subscriptionId", id.json()));
            }
            o.maybe("uri", uri);
        });
    })
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::super::message::{Incoming, Message, read};
    use super::super::scan::Json;
    use super::*;

    fn filter(notifications: &str) -> Result<Filter, Refusal> {
        let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{notifications}}}"#);
        match read(text.as_bytes()) {
            Ok(Incoming::One(Message::Request(request))) => Filter::read(&request.params),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_filter_keeps_what_this_server_has() {
        let text =
            r#"{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["x:1","x:2","x:1"]}}"#;
        assert_eq!(filter(text), Ok(Filter { list: false, uris: vec!["x:1".into(), "x:2".into()] }));
        assert_eq!(filter(r#"{"notifications":{}}"#), Ok(Filter { list: false, uris: vec![] }));
        for bad in [
            "{}",
            "[]",
            r#"{"notifications":[]}"#,
            r#"{"notifications":{"resourcesListChanged":1}}"#,
            r#"{"notifications":{"resourceSubscriptions":"x:1"}}"#,
        ] {
            assert_eq!(filter(bad).map_err(|refusal| refusal.code), Err(PARAMS), "{bad}");
        }
    }

    #[test]
    fn notifications_are_tagged_where_somebody_listens() {
        let id = Id::read(Json::read("\"l\"").unwrap()).unwrap();
        let updated = Change::Updated(Uri::parse("x:1").unwrap());
        let all =
            [(&Change::List, None), (&updated, None), (&Change::List, Some(&id)), (&updated, Some(&id))]
                .map(|(change, id)| String::from_utf8(notification(change, id)).unwrap());
        expect![[r#"
            {"jsonrpc":"2.0","method":"notifications/resources/list_changed"}
            {"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"x:1"}}
            {"jsonrpc":"2.0","method":"notifications/resources/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"l"}}}
            {"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"l"},"uri":"x:1"}}"#]]
        .assert_eq(&all.join("\n"));
    }
}
