//! The method `subscriptions/listen`: the filter that a client requests, and the notifications that it
//! receives.

use std::collections::HashSet;
use std::sync::Arc;

use futures_util::{StreamExt as _, stream};

use crate::Endpoint;
use crate::wire::json_writer::object;
use crate::wire::message::{Id, Params};
use crate::wire::rpc_error::{INVALID_PARAMS, RpcError};
use larder_core::catalog::{Change, Lists, Watch};
use larder_model::resource::Call;
use larder_model::uri::Uri;
use larder_runtime::metrics::ProtocolEra;

const LISTEN_METHOD: &str = "subscriptions/listen";
/// Maximum number of URIs of one subscription.
const MAX_URIS: usize = 1024;
/// Maximum number of concurrent checks whether a URI is readable.
const MAX_CONCURRENT_CHECKS: usize = 8;

/// The notifications that a client requests, as far as this server supports them.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ListenFilter {
    lists: Lists,
    uris: Vec<String>,
}

impl ListenFilter {
    pub(crate) fn read(params: &Params<'_>) -> Result<Self, RpcError> {
        if let Some(fault) = &params.error {
            return Err(fault.clone().into());
        }
        let notifications = params.fields.required_object("notifications")?;
        let mut uris = notifications.texts("resourceSubscriptions", MAX_URIS)?;
        if uris.len() > MAX_URIS {
            return Err(RpcError::new(
                INVALID_PARAMS,
                format!("`resourceSubscriptions` has more than {MAX_URIS} URIs"),
            ));
        }
        let mut seen = HashSet::new();
        uris.retain(|uri| seen.insert(uri.clone()));
        let lists = Lists {
            resources: notifications.flag("resourcesListChanged")?,
            tools: notifications.flag("toolsListChanged")?,
            prompts: notifications.flag("promptsListChanged")?,
        };
        Ok(Self { lists, uris })
    }
}

/// A subscription of a modern client.
pub(crate) struct ListenSubscription {
    id: Id,
    watch: Watch,
    lists: Lists,
    uris: Vec<Uri>,
}

impl ListenSubscription {
    /// Starts watching the resources that the caller can read. Other resources are omitted.
    pub(crate) async fn begin(
        endpoint: &Endpoint,
        id: Id,
        filter: ListenFilter,
        mut call: Call,
    ) -> Self {
        call.request_id = Some(id.shared());
        // The span covers only the start: the subscription lasts as long as the client listens.
        let span = endpoint.0.telemetry.start_request(&mut call, LISTEN_METHOD);
        let call = Arc::new(call);
        let gateway = &endpoint.0.gateway;
        let watch = gateway.watch(call.caller.as_ref().unwrap_or(&endpoint.0.fixed.caller));
        watch.watch_lists(filter.lists);
        let uris: Vec<Uri> = filter
            .uris
            .iter()
            .filter_map(|uri| Uri::parse(uri).ok())
            .collect();
        let readable = stream::iter(uris)
            .map(|uri| {
                let gateway = gateway.clone();
                let call = call.clone();
                async move { gateway.is_readable(&call, &uri).await.then_some(uri) }
            })
            .buffered(MAX_CONCURRENT_CHECKS);
        let uris: Vec<Uri> = readable.filter_map(std::future::ready).collect().await;
        let uris: Vec<Uri> = uris
            .into_iter()
            .filter(|uri| watch.add(uri.clone()))
            .collect();
        endpoint.settled(&watch, &uris).await;
        endpoint
            .0
            .metrics
            .server()
            .request("listen", ProtocolEra::Modern);
        if let Some(span) = span {
            span.end(None);
        }
        Self {
            id,
            watch,
            lists: filter.lists,
            uris,
        }
    }

    /// The first message, which lists the accepted notifications.
    pub(crate) fn acknowledgement(&self) -> Vec<u8> {
        object(|o| {
            o.text("jsonrpc", "2.0");
            o.text("method", "notifications/subscriptions/acknowledged");
            o.object("params", |o| {
                o.object("_meta", |o| {
                    o.json("io.modelcontextprotocol/subscriptionId", self.id.json())
                });
                o.object("notifications", |o| {
                    let Lists {
                        resources,
                        tools,
                        prompts,
                    } = self.lists;
                    let lists = [
                        ("resourcesListChanged", resources),
                        ("toolsListChanged", tools),
                        ("promptsListChanged", prompts),
                    ];
                    lists
                        .into_iter()
                        .filter(|(_, on)| *on)
                        .for_each(|(key, on)| o.flag(key, on));
                    if !self.uris.is_empty() {
                        o.texts("resourceSubscriptions", self.uris.iter().map(Uri::as_str));
                    }
                });
            });
        })
    }

    /// Waits for the next notifications. Cancel-safe.
    pub(crate) async fn next(&self) -> Vec<Vec<u8>> {
        self.watch
            .next()
            .await
            .iter()
            .map(|change| notification(change, Some(&self.id)))
            .collect()
    }

    /// Returns the notifications that are pending.
    pub(crate) fn take(&self) -> Vec<Vec<u8>> {
        self.watch
            .take()
            .iter()
            .map(|change| notification(change, Some(&self.id)))
            .collect()
    }

    pub(crate) fn id(&self) -> &Id {
        &self.id
    }
}

/// Encodes a change as a notification. The notification has the subscription id for a modern client, and no id for a
/// legacy session.
pub(crate) fn notification(change: &Change, subscription_id: Option<&Id>) -> Vec<u8> {
    object(|o| {
        o.text("jsonrpc", "2.0");
        o.text(
            "method",
            match change {
                Change::List => "notifications/resources/list_changed",
                Change::Tools => "notifications/tools/list_changed",
                Change::Prompts => "notifications/prompts/list_changed",
                Change::Updated(_) => "notifications/resources/updated",
            },
        );
        let uri = match change {
            Change::List | Change::Tools | Change::Prompts => None,
            Change::Updated(uri) => Some(uri.as_str()),
        };
        if uri.is_none() && subscription_id.is_none() {
            return;
        }
        o.object("params", |o| {
            if let Some(id) = subscription_id {
                o.object("_meta", |o| {
                    o.json("io.modelcontextprotocol/subscriptionId", id.json())
                });
            }
            o.optional_text("uri", uri);
        });
    })
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::wire::message::{IncomingMessages, Message, read};
    use crate::wire::raw_json::RawJson;

    fn filter(notifications: &str) -> Result<ListenFilter, RpcError> {
        let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{notifications}}}"#);
        match read(text.as_bytes()) {
            Ok(IncomingMessages::One(Message::Request(request))) => {
                ListenFilter::read(&request.params)
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn reads_the_supported_filters() {
        let text = r#"{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["x:1","x:2","x:1"]}}"#;
        assert_eq!(
            filter(text),
            Ok(ListenFilter {
                lists: Lists {
                    tools: true,
                    ..Lists::default()
                },
                uris: vec!["x:1".into(), "x:2".into()]
            })
        );
        assert_eq!(
            filter(r#"{"notifications":{}}"#),
            Ok(ListenFilter {
                lists: Lists::default(),
                uris: vec![]
            })
        );
        for bad in [
            "{}",
            "[]",
            r#"{"notifications":[]}"#,
            r#"{"notifications":{"resourcesListChanged":1}}"#,
            r#"{"notifications":{"resourceSubscriptions":"x:1"}}"#,
        ] {
            assert_eq!(
                filter(bad).map_err(|rpc_error| rpc_error.code),
                Err(INVALID_PARAMS),
                "{bad}"
            );
        }
    }

    #[test]
    fn notifications_carry_the_subscription_id() {
        let id = Id::read(RawJson::read("\"l\"").unwrap()).unwrap();
        let updated = Change::Updated(Uri::parse("x:1").unwrap());
        let all = [
            (&Change::List, None),
            (&updated, None),
            (&Change::List, Some(&id)),
            (&updated, Some(&id)),
        ]
        .map(|(change, id)| String::from_utf8(notification(change, id)).unwrap());
        expect![[r#"
            {"jsonrpc":"2.0","method":"notifications/resources/list_changed"}
            {"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"x:1"}}
            {"jsonrpc":"2.0","method":"notifications/resources/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"l"}}}
            {"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"l"},"uri":"x:1"}}"#]]
        .assert_eq(&all.join("\n"));
    }
}
