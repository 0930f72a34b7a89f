//! The client library and the server, in both eras: over HTTP, and over stdio with a server that the client starts.

use std::net::{Ipv4Addr, SocketAddr};
use std::ops::ControlFlow;
use std::time::Duration;

use futures_util::StreamExt as _;
use larder_client::{
    Client, ClientBuilder, ClientError, Filter, ListenTargets, Progress, ResourceChange, Revision,
};
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::support::harness::component_path;
use crate::support::http_server::HttpTestServer;

/// A TCP proxy that can cut all its connections.
struct Proxy {
    address: SocketAddr,
    cuts: watch::Sender<u32>,
    connection_count: watch::Receiver<u32>,
}

impl Proxy {
    async fn to(http: &HttpTestServer) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let (address, server) = (listener.local_addr().unwrap(), http.address);
        let (cuts, cut) = watch::channel(0);
        let (count, connection_count) = watch::channel(0);
        let drain = http.server.drain.clone();
        http.server.drain.spawn(async move {
            loop {
                let accepted = tokio::select! {
                    () = drain.stopping() => return,
                    accepted = listener.accept() => accepted,
                };
                let (mut near, _) = accepted.unwrap();
                let mut far = TcpStream::connect(server).await.unwrap();
                let (mut cut, stop) = (cut.clone(), drain.clone());
                cut.mark_unchanged();
                count.send_modify(|count| *count += 1);
                drain.spawn(async move {
                    tokio::select! {
                        _ = tokio::io::copy_bidirectional(&mut near, &mut far) => {}
                        _ = cut.changed() => {}
                        () = stop.stopping() => {}
                    }
                });
            }
        });
        Self {
            address,
            cuts,
            connection_count,
        }
    }

    fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    fn cut(&self) {
        self.cuts.send_modify(|cuts| *cuts += 1);
    }

    fn connections(&mut self) -> u32 {
        *self.connection_count.borrow_and_update()
    }
}

fn client_of_revision(revision: &str) -> ClientBuilder {
    Client::builder().revision(revision.parse::<Revision>().unwrap())
}

async fn touch(http: &HttpTestServer, uri: &str) {
    assert_eq!(
        http.read(&format!("echo://touch/{uri}")).await.verdict(),
        "200 ok"
    );
}

async fn next(listening: &mut larder_client::ListeningClient) -> Option<ResourceChange> {
    let next = tokio::time::timeout(Duration::from_secs(60), listening.next_change()).await;
    next.expect("nothing within a minute").unwrap()
}

/// Uses every kind of request of the client.
async fn use_every_request(client: &mut Client) {
    let page = client.resources(&Filter::default(), None).await.unwrap();
    assert_eq!(page.items.len(), 4);
    let page = client.templates(&Filter::default(), None).await.unwrap();
    assert_eq!(page.items.len(), 4);
    let blob = client.read("echo://blob").await.unwrap();
    assert_eq!(blob.contents[0].bytes().unwrap(), [0, 159, 146, 150]);
    let filled = [("lang".to_owned(), "en".to_owned())];
    let values = client
        .complete("echo://say/{word}", "word", "hel", &filled)
        .await
        .unwrap()
        .values;
    assert_eq!(values, ["hello", "help", "lang=en"]);
    let gone = client.read("nobody:x").await.unwrap_err();
    let ClientError::Rpc(error) = gone else {
        panic!("{gone}")
    };
    assert_eq!(error.data, Some(json!({ "uri": "nobody:x" })));

    let mut reports: Vec<Progress> = Vec::new();
    let reading = client.read_with_progress("echo://progress", |progress| {
        reports.push(progress);
        ControlFlow::Continue(())
    });
    assert_eq!(
        reading.await.unwrap().contents[0].text.as_deref(),
        Some("done, cancelled: false")
    );
    let steps: Vec<_> = reports
        .iter()
        .map(|report| (report.progress, report.total))
        .collect();
    assert_eq!(
        steps,
        [(1.0, Some(3.0)), (2.0, Some(3.0)), (3.0, Some(3.0))]
    );
    assert_eq!(reports[0].message.as_deref(), Some("step 1"));

    let cancelled = client
        .read_with_progress("echo://progress", |_| ControlFlow::Break(()))
        .await;
    assert!(
        matches!(cancelled, Err(ClientError::Cancelled)),
        "{cancelled:?}"
    );
    let after = client.read("echo://say/after").await.unwrap();
    assert!(
        after.contents[0]
            .text
            .as_deref()
            .unwrap()
            .contains("value: word=after")
    );
}

#[tokio::test]
async fn supports_every_request_in_each_revision() {
    let http = HttpTestServer::start("echo").await;
    for revision in ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"] {
        let mut client = client_of_revision(revision).http(&http.url).await.unwrap();
        assert_eq!(client.revision(), revision);
        use_every_request(&mut client).await;
        client.close().await;
    }
    // The client supports one older revision than the server.
    let error = client_of_revision("2024-11-05")
        .http(&http.url)
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("2025-11-25 and not 2024-11-05"), "{error}");
}

#[tokio::test]
async fn supports_every_request_over_stdio() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(component_path("echo"), folder.path().join("echo.wasm")).unwrap();
    for revision in ["2026-07-28", "2025-11-25"] {
        let mut larder = tokio::process::Command::new(env!("CARGO_BIN_EXE_larder"));
        larder
            .args(["serve", "--stdio", "--plugins"])
            .arg(folder.path());
        larder
            .env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"))
            .current_dir(folder.path());
        larder
            .env("XDG_STATE_HOME", folder.path())
            .stderr(std::process::Stdio::null());
        let mut client = client_of_revision(revision).spawn(larder).await.unwrap();
        assert_eq!(client.revision(), revision);
        use_every_request(&mut client).await;
        client.close().await;
    }
    let error = Client::spawn(tokio::process::Command::new("/no/such/program"))
        .await
        .unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("cannot start /no/such/program: "),
        "{error}"
    );
}

#[tokio::test]
async fn listens_in_each_era() {
    let mut http = HttpTestServer::start("echo").await;
    http.run_reconciler();
    for revision in ["2026-07-28", "2025-11-25", "2025-06-18"] {
        let client = client_of_revision(revision).http(&http.url).await.unwrap();
        let wanted = ListenTargets {
            uris: vec!["echo://hello".into(), "nobody:x".into()],
            list: false,
        };
        let mut listening = client.listen(&wanted).await.unwrap();
        assert_eq!(
            listening.honoured(),
            &ListenTargets {
                uris: vec!["echo://hello".into()],
                list: false
            }
        );
        touch(&http, "echo://hello").await;
        assert_eq!(
            next(&mut listening).await,
            Some(ResourceChange::Updated("echo://hello".into()))
        );
        touch(&http, "echo://hello").await;
        let mut changes = std::pin::pin!(listening.stream());
        let again = tokio::time::timeout(Duration::from_secs(60), changes.next())
            .await
            .unwrap();
        assert_eq!(
            again.unwrap().unwrap(),
            ResourceChange::Updated("echo://hello".into())
        );
    }
}

#[tokio::test]
async fn resumes_a_session_stream_after_a_broken_connection() {
    let mut http = HttpTestServer::start("echo").await;
    http.run_reconciler();
    let mut proxy = Proxy::to(&http).await;
    let client = client_of_revision("2025-11-25")
        .http(&proxy.url())
        .await
        .unwrap();
    let wanted = ListenTargets {
        uris: vec!["echo://hello".into(), "echo://many".into()],
        list: true,
    };
    let mut listening = client.listen(&wanted).await.unwrap();
    touch(&http, "echo://hello").await;
    assert_eq!(
        next(&mut listening).await,
        Some(ResourceChange::Updated("echo://hello".into()))
    );
    let before = proxy.connections();
    for uri in ["echo://many", "echo://hello"] {
        proxy.cut();
        touch(&http, uri).await;
        let change = Some(ResourceChange::Updated(uri.into()));
        assert_eq!(
            next(&mut listening).await,
            change,
            "the change was not received exactly once"
        );
    }
    assert!(proxy.connections() > before, "the client did not reconnect");
    listening.close().await;
}

#[tokio::test]
async fn a_stream_that_cannot_be_resumed_ends() {
    let http = HttpTestServer::start("echo").await;
    let client = client_of_revision("2025-11-25")
        .http(&http.url)
        .await
        .unwrap();
    let mut listening = client
        .listen(&ListenTargets {
            uris: vec![],
            list: true,
        })
        .await
        .unwrap();
    let drain = http.server.drain.clone();
    // The server tells the client to wait for more than ten seconds.
    tokio::time::pause();
    let (_, ended) = tokio::join!(
        drain.finish(Duration::from_secs(30)),
        tokio::time::timeout(Duration::from_secs(60), listening.next_change())
    );
    assert!(matches!(ended, Ok(Ok(None))), "{ended:?}");
}
