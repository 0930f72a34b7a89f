//! The full-text index of the real server: which resources are read for it and when, and which callers find them.

mod changes;
mod charging;
mod folder;
mod isolation;

use std::fs;
use std::time::Duration;

use larder_client::{Client, Search};
use serde_json::Value;

use crate::administration::admin::AdminClient;
use crate::support::harness::{SLOW_WAIT, eventually_within};
use crate::support::process::WorkDir;

/// A server whose provider `indexed` serves the files in `docs`.
struct IndexedServer {
    work_dir: WorkDir,
    admin: AdminClient,
    url: String,
}

const ADMIN: &str = "[admin]\nlisten = '127.0.0.1:0'\n";

/// The configuration of the provider. Changes in a folder to which the provider may write are not detected by file
/// events.
fn config(access: &str, others: &str) -> String {
    format!(
        "{ADMIN}[provider.indexed]\nindex = true\ndirs = [{{ host = 'docs', access = '{access}' }}, \
         {{ host = 'log', access = 'write' }}]\n{others}\n"
    )
}

impl IndexedServer {
    /// Starts a server with three files.
    fn start(config: &str) -> Self {
        let work_dir = WorkDir::with_guests("indexed").file("larder.toml", config);
        for folder in ["docs", "log"] {
            fs::create_dir(work_dir.path(folder)).unwrap();
        }
        for (name, text) in [
            ("a", "An alpine marmot."),
            ("b", "Crème brûlée"),
            ("c", "The 東京都 office"),
        ] {
            fs::write(work_dir.path("docs").join(name), text).unwrap();
        }
        Self::run(work_dir)
    }

    fn run(work_dir: WorkDir) -> Self {
        let (admin, url) = AdminClient::open(&work_dir);
        Self {
            work_dir,
            admin,
            url,
        }
    }

    /// Ends the server with this signal, and starts it again.
    fn restart(self, signal: &str, between: impl FnOnce(&WorkDir)) -> Self {
        let Self {
            work_dir, admin, ..
        } = self;
        admin.process.signal(signal);
        admin.process.wait();
        between(&work_dir);
        Self::run(work_dir)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.work_dir.path("docs").join(name), text).unwrap();
    }

    /// The URIs that were read without a caller, in order.
    fn reads(&self) -> Vec<String> {
        let log = fs::read_to_string(self.work_dir.path("log/reads")).unwrap_or_default();
        log.lines()
            .map(|uri| uri.trim_start_matches("indexed://").to_owned())
            .collect()
    }

    async fn status(&self) -> Value {
        serde_json::from_str(&self.admin.get("/status").await.1).unwrap()
    }

    /// The state of the index of the provider.
    async fn index(&self) -> Value {
        self.status().await["teams"][0]["providers"][0]["index"].clone()
    }

    /// Waits until the index has this many documents, and no read is pending.
    async fn indexed(&self, documents: u64) {
        self.index_where(&format!("{documents} documents"), |index| {
            index["documents"] == documents && index["pending"] == 0
        })
        .await;
    }

    async fn index_where(&self, what: &str, condition: impl Fn(&Value) -> bool) {
        let mut last = Value::Null;
        let holds = async || {
            last = self.index().await;
            condition(&last)
        };
        let in_time =
            tokio::time::timeout(SLOW_WAIT, eventually_within(SLOW_WAIT * 2, what, holds)).await;
        assert!(
            in_time.is_ok(),
            "{what}: the index is {}",
            self.index().await
        );
    }

    /// The URIs that a search finds.
    async fn found(&self, text: &str) -> String {
        found(&self.url, None, text).await
    }

    async fn finds(&self, text: &str, uris: &str) {
        let what = format!("{text} finds {uris:?}");
        eventually_within(SLOW_WAIT, &what, async || self.found(text).await == uris).await;
    }
}

/// The URIs that a search with this token finds.
async fn found(url: &str, token: Option<&str>, text: &str) -> String {
    let builder = token
        .into_iter()
        .fold(Client::builder(), larder_client::ClientBuilder::token);
    let mut client = builder.http(url).await.unwrap();
    let query = Search {
        query: text.into(),
        limit: Some(100),
        uri_prefix: None,
        kind: None,
    };
    let page = tokio::time::timeout(Duration::from_secs(60), client.search(&query, None)).await;
    let page = page.expect("no answer in time").unwrap();
    let uris: Vec<_> = page
        .items
        .into_iter()
        .map(|found| found.resource.uri)
        .collect();
    uris.join(" ")
}
