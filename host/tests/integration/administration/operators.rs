//! The API of the admin address for operators: who may use the API, and what operators can do with it. The tests use
//! the real server.

mod approvals;
mod behind_a_proxy;
mod commands;
mod forged_requests;
mod oauth;
mod reads;
mod sessions;
mod unfinished_requests;
mod without_credentials;

use std::time::Duration;

use serde_json::{Value, json};

use crate::administration::admin::AdminClient;
use crate::support::process::{WorkDir, http_client};

/// The digest of the token `secret`.
const TOKEN: &str =
    "token = \"sha256:2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b\"\n";
const ADMIN: &str = "[audit]\nfile = \"audit.log\"\n[admin]\nlisten = \"127.0.0.1:0\"\n";
const BEARER: (&str, &str) = ("authorization", "Bearer secret");

/// A server, and a client of its API.
struct Api {
    work_dir: WorkDir,
    server: AdminClient,
    /// The URL of the endpoint.
    endpoint: String,
    client: reqwest::Client,
}

/// A response.
struct Reply {
    status: u16,
    headers: reqwest::header::HeaderMap,
    body: String,
}

impl Api {
    /// Starts a server with this configuration.
    fn start(work_dir: WorkDir, config: &str) -> Self {
        let work_dir = work_dir.file("larder.toml", config);
        let (server, endpoint) = AdminClient::open(&work_dir);
        Self {
            work_dir,
            server,
            endpoint,
            client: http_client(),
        }
    }

    /// Starts a server whose operators have the token `secret`.
    fn with_token(work_dir: WorkDir) -> Self {
        Self::start(work_dir, &format!("{ADMIN}{TOKEN}"))
    }

    fn url(&self) -> String {
        format!("http://{}", self.server.address())
    }

    async fn get(&self, path: &str, headers: &[(&str, &str)]) -> Reply {
        self.send("GET", path, headers, None).await
    }

    async fn post(&self, path: &str, headers: &[(&str, &str)], body: &Value) -> Reply {
        let json = ("content-type", "application/json");
        let headers: Vec<_> = headers.iter().copied().chain([json]).collect();
        self.send("POST", path, &headers, Some(body.to_string()))
            .await
    }

    async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<String>,
    ) -> Reply {
        let url = format!("{}{path}", self.url());
        let mut request = self
            .client
            .request(method.parse().unwrap(), url)
            .timeout(Duration::from_secs(60));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = body
            .into_iter()
            .fold(request, reqwest::RequestBuilder::body);
        let response = request.send().await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        Reply {
            status,
            headers,
            body: response.text().await.unwrap(),
        }
    }

    /// Logs in with a token.
    async fn log_in(&self, token: &str, headers: &[(&str, &str)]) -> Reply {
        self.post("/api/login", headers, &json!({ "token": token }))
            .await
    }

    /// The lines of the audit log with this operation.
    fn audited(&self, operation: &str) -> Vec<Value> {
        let text = std::fs::read_to_string(self.work_dir.path("audit.log")).unwrap();
        let lines = text
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines
            .filter(|line| line["operation"] == operation)
            .collect()
    }
}

impl Reply {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {} {}", self.status, self.body))
    }

    /// The status and the code of the error, or only the status.
    fn verdict(&self) -> String {
        let code = serde_json::from_str::<Value>(&self.body).ok();
        let code = code.and_then(|body| body["error"]["code"].as_str().map(ToOwned::to_owned));
        code.map_or_else(
            || self.status.to_string(),
            |code| format!("{} {code}", self.status),
        )
    }

    fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map(|value| value.to_str().unwrap())
            .unwrap_or_default()
    }

    /// The cookie of a login in the form of browsers, and the secret of the session.
    fn session(&self) -> (String, String) {
        let cookie = self
            .header("set-cookie")
            .split(';')
            .next()
            .unwrap()
            .to_owned();
        (cookie, self.json()["csrf"].as_str().unwrap().to_owned())
    }
}
