//! The data behind the web page, as the admin address of the real server returns it.

mod document;
mod events;
mod history;
mod many;
mod provider;
mod stream;
mod teams;

use std::time::Duration;

use serde_json::Value;

use crate::administration::admin::AdminClient;
use crate::support::harness::{SLOW_WAIT, eventually_within};
use crate::support::process::{ProcessOutput, WorkDir, http_client};

const CONFIG: &str = "[admin]\nlisten = \"127.0.0.1:0\"\n";
/// The token `secret`, for the section `admin`.
const TOKEN: &str =
    "token = \"sha256:2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b\"\n";

/// A running server, and a client of its API with the token.
struct DataServer {
    admin: AdminClient,
    work_dir: WorkDir,
    /// The URL of the MCP endpoint.
    url: String,
    client: reqwest::Client,
}

impl DataServer {
    /// Starts a server with these guests, and this text in its configuration file after the section `admin`.
    fn start(guests: &str, config: &str) -> Self {
        let config = format!("{CONFIG}{TOKEN}{config}");
        Self::in_folder(WorkDir::with_guests(guests).file("larder.toml", &config))
    }

    fn in_folder(work_dir: WorkDir) -> Self {
        let (admin, url) = AdminClient::open(&work_dir);
        Self {
            admin,
            work_dir,
            url,
            client: http_client(),
        }
    }

    fn request(&self, method: &str, path: &str) -> reqwest::RequestBuilder {
        let url = format!("http://{}{path}", self.admin.address());
        self.client
            .request(method.parse().unwrap(), url)
            .bearer_auth("secret")
            .timeout(SLOW_WAIT)
    }

    /// Returns the status and the JSON of a response.
    async fn get(&self, path: &str) -> (u16, Value) {
        let response = self.request("GET", path).send().await.unwrap();
        (response.status().as_u16(), response.json().await.unwrap())
    }

    /// Returns the JSON of a successful response.
    async fn json(&self, path: &str) -> Value {
        let (status, value) = self.get(path).await;
        assert_eq!(status, 200, "{path}: {value}");
        value
    }

    /// Returns the items of a list.
    async fn items(&self, path: &str) -> Vec<Value> {
        self.json(path).await["items"].as_array().unwrap().clone()
    }

    /// Reads a resource as a client.
    fn read(&self, uri: &str) -> ProcessOutput {
        self.work_dir
            .larder(&format!("read {uri} --url {}", self.url))
    }

    /// Waits until a response has this property, and returns it.
    async fn until(&self, what: &str, path: &str, condition: impl Fn(&Value) -> bool) -> Value {
        let mut last = Value::Null;
        eventually_within(SLOW_WAIT, what, async || {
            last = self.json(path).await;
            let holds = condition(&last);
            if !holds {
                // Each check is a connection.
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            holds
        })
        .await;
        last
    }
}

/// The known values of a series.
fn known(series: &Value) -> Vec<f64> {
    series
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_f64)
        .collect()
}
