//! Requests to the API of an admin address: JSON over plain HTTP, and a stream of events.

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use reqwest::{RequestBuilder, Response, StatusCode};

use super::error::request_error;
use super::events::SseParser;
use super::{HttpOptions, HttpTransport, is_stream};
use crate::error::ClientError;
use crate::limits::MAX_MESSAGE_BYTES;

/// The events of an admin address, as JSON.
pub struct AdminEvents {
    transport: HttpTransport,
    chunks: BoxStream<'static, reqwest::Result<Bytes>>,
    events: SseParser,
}

impl std::fmt::Debug for AdminEvents {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AdminEvents")
    }
}

impl HttpTransport {
    /// Requests are sent to this path of an admin address. The address of a Unix socket has no path of its own.
    pub(crate) fn for_admin(
        admin: &str,
        path: &str,
        options: &HttpOptions,
    ) -> Result<Self, ClientError> {
        if admin.starts_with("unix:") {
            return Self::new(admin, options)?.with_path(path);
        }
        Self::new(&format!("{}{path}", admin.trim_end_matches('/')), options)
    }

    fn with_path(self, path: &str) -> Result<Self, ClientError> {
        let target = self.target.join(path);
        let target = target.map_err(|_| ClientError::BadUrl(path.into()))?;
        Ok(Self { target, ..self })
    }

    /// The URL that the user entered.
    pub(crate) fn url(&self) -> String {
        self.url.to_string()
    }

    /// Sends a request with this JSON, or without a body, and returns the body of the response.
    pub(crate) async fn call_admin(&self, json: Option<String>) -> Result<Vec<u8>, ClientError> {
        let request = match json {
            Some(json) => self.client.post(self.target.clone()).body(json),
            None => self.client.get(self.target.clone()),
        };
        let response = self.send_to_admin(request).await?;
        self.body(response).await
    }

    /// Opens a stream of events.
    pub(crate) async fn open_admin_events(self) -> Result<AdminEvents, ClientError> {
        let response = self
            .send_to_admin(self.client.get(self.target.clone()))
            .await?;
        if !is_stream(&response) {
            return Err(ClientError::NotStatus(self.url.to_string()));
        }
        let chunks = response.bytes_stream().fuse().boxed();
        Ok(AdminEvents {
            transport: self,
            chunks,
            events: SseParser::default(),
        })
    }

    async fn send_to_admin(&self, request: RequestBuilder) -> Result<Response, ClientError> {
        let response = self.send_once(request).await?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let body = self.body(response).await?;
        let url = self.url.to_string();
        let why = error_message(&body);
        Err(match (status, why) {
            (StatusCode::UNAUTHORIZED, why) => ClientError::AdminUnauthorized { url, why },
            (_, Some(message)) => ClientError::Admin {
                url,
                status: status.as_u16(),
                message,
            },
            (_, None) => {
                let hint = match status {
                    StatusCode::SERVICE_UNAVAILABLE => {
                        "the server, or a proxy before it, cannot answer now; try again later"
                            .into()
                    }
                    _ => {
                        "this is not the answer of an admin address; give it with `--admin`".into()
                    }
                };
                self.status_error(status, hint)
            }
        })
    }
}

/// Returns the message of an error of the API.
fn error_message(body: &[u8]) -> Option<String> {
    let body: serde_json::Value = serde_json::from_slice(body).ok()?;
    body["error"]["message"].as_str().map(ToOwned::to_owned)
}

impl AdminEvents {
    /// Returns the data of the next event. `None` when the server ends the stream. Cancel safe.
    pub async fn next(&mut self) -> Result<Option<String>, ClientError> {
        loop {
            if let Some(event) = self.events.next() {
                return Ok(Some(event));
            }
            if self.events.buffered_bytes() > MAX_MESSAGE_BYTES {
                return Err(ClientError::TooLarge);
            }
            let failed = |error| request_error(&self.transport.url, &error);
            match self.chunks.next().await {
                Some(chunk) => self.events.push(&chunk.map_err(failed)?),
                None => return Ok(None),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn appends_the_path_to_an_admin_address() {
        for (admin, expected) in [
            ("http://127.0.0.1:7879/", "http://127.0.0.1:7879/api/x?a=b"),
            (
                "https://docs.example.com/admin",
                "https://docs.example.com/admin/api/x?a=b",
            ),
            ("unix:/run/admin.sock", "http://localhost/api/x?a=b"),
        ] {
            let transport =
                HttpTransport::for_admin(admin, "/api/x?a=b", &HttpOptions::default()).unwrap();
            assert_eq!(transport.target.as_str(), expected, "{admin}");
        }
    }
}
