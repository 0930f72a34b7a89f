//! The protocol era of the server, and the session of a server with a handshake. Both are kept in the key-value store
//! if the operator grants it, so that most calls need only one request.

use std::cell::RefCell;

use larder_provider::{APP_PAGE, Error, Result, key_value};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::exchange::{Answer, ID};
use crate::settings::Settings;

const MODERN: &str = "2026-07-28";
/// The newest version with a handshake.
const LEGACY: &str = "2025-11-25";
/// The versions with a handshake that a server can choose instead.
const OLDER: [&str; 3] = [LEGACY, "2025-06-18", "2025-03-26"];
/// The key in the key-value store.
const KEY: &str = "connection";
/// JSON-RPC's code for a method that is not supported.
const METHOD_NOT_FOUND: i64 = -32_601;
/// The longest id of a session.
const MAX_SESSION: usize = 1_000;

/// How the server is addressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    /// Each request is complete by itself.
    Modern,
    /// A handshake comes first.
    Legacy,
}

/// The known properties of the server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum Connection {
    Modern,
    Legacy {
        version: String,
        session: Option<String>,
    },
}

/// A connection that is opened when it is first needed.
pub(crate) struct Session {
    pub(crate) settings: Settings,
    connection: RefCell<Option<Connection>>,
}

impl Session {
    pub(crate) fn new(settings: Settings) -> Self {
        let connection = RefCell::new(load(&settings.url));
        Self {
            settings,
            connection,
        }
    }

    /// Makes a request, and returns its result. `name` is the URI or the name that the request is about.
    pub(crate) fn request(
        &self,
        method: &str,
        params: &Value,
        name: Option<&str>,
    ) -> Result<Value> {
        result_of(self.answer(method, params, name)?, method)
    }

    /// Makes a request. Returns `None` if the server does not support the method.
    pub(crate) fn request_if_supported(
        &self,
        method: &str,
        params: &Value,
    ) -> Result<Option<Value>> {
        match self.answer(method, params, None)? {
            Answer::Error {
                code: METHOD_NOT_FOUND,
                ..
            } => Ok(None),
            answer => result_of(answer, method).map(Some),
        }
    }

    /// Makes a request of a method that is not part of MCP. Returns `None` if the server does not support it. Servers
    /// respond to such methods with different errors.
    pub(crate) fn request_if_known(&self, method: &str, params: &Value) -> Result<Option<Value>> {
        match self.answer(method, params, None)? {
            Answer::Error {
                code: METHOD_NOT_FOUND | -32_602 | -32_600,
                ..
            }
            | Answer::Other(400..=499) => Ok(None),
            answer => result_of(answer, method).map(Some),
        }
    }

    fn answer(&self, method: &str, params: &Value, name: Option<&str>) -> Result<Answer> {
        let is_new = self.connection.borrow().is_none();
        let connection = self.connect()?;
        let answer = self.send(&connection, method, params, name);
        let answer = match answer {
            // The server has ended the session, or a server of the other era has replaced it.
            Ok(answer) if !is_new && is_outdated(&answer) => {
                self.connection.replace(None);
                self.send(&self.connect()?, method, params, name)
            }
            answer => answer,
        };
        self.finish();
        answer
    }

    fn connect(&self) -> Result<Connection> {
        if let Some(connection) = self.connection.borrow().clone() {
            return Ok(connection);
        }
        let is_modern = match self.settings.era {
            Some(era) => era == Era::Modern,
            None => self.discover()?,
        };
        let connection = if is_modern {
            Connection::Modern
        } else {
            self.initialize()?
        };
        self.connection.replace(Some(connection.clone()));
        Ok(connection)
    }

    /// Whether the server supports the modern era.
    fn discover(&self) -> Result<bool> {
        match self.send(&Connection::Modern, "server/discover", &json!({}), None)? {
            Answer::Result(result) => {
                let versions = result["supportedVersions"].as_array();
                Ok(versions
                    .is_some_and(|versions| versions.iter().any(|version| version == MODERN)))
            }
            Answer::Error { .. } | Answer::Other(_) => Ok(false),
        }
    }

    /// Makes the handshake.
    fn initialize(&self) -> Result<Connection> {
        let params = json!({
            "protocolVersion": LEGACY,
            "capabilities": capabilities(),
            "clientInfo": client_info(),
        });
        let message =
            json!({ "jsonrpc": "2.0", "id": ID, "method": "initialize", "params": params });
        let (answer, response) = self.settings.exchange(&message, &[])?;
        let result = result_of(answer, "initialize")?;
        let offered = result["protocolVersion"].as_str().unwrap_or_default();
        let Some(version) = OLDER.into_iter().find(|version| *version == offered) else {
            return Err(Error::failed(
                "the server does not support a version of MCP that this provider knows",
            ));
        };
        let session = response
            .header("mcp-session-id")
            .filter(|id| is_session(id))
            .map(str::to_owned);
        let connection = Connection::Legacy {
            version: version.to_owned(),
            session,
        };
        let message = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        self.settings.exchange(&message, &connection.headers())?;
        Ok(connection)
    }

    fn send(
        &self,
        connection: &Connection,
        method: &str,
        params: &Value,
        name: Option<&str>,
    ) -> Result<Answer> {
        let mut params = params.clone();
        let mut headers = connection.headers();
        if *connection == Connection::Modern {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": MODERN,
                "io.modelcontextprotocol/clientInfo": client_info(),
                "io.modelcontextprotocol/clientCapabilities": capabilities(),
            });
            headers.push(("mcp-method", method));
            headers.extend(name.map(|name| ("mcp-name", name)));
        }
        let message = json!({ "jsonrpc": "2.0", "id": ID, "method": method, "params": params });
        self.settings
            .exchange(&message, &headers)
            .map(|(answer, _)| answer)
    }

    /// Keeps the connection for other calls. If it cannot be kept, ends the session, which would not be used again.
    fn finish(&self) {
        let connection = self.connection.borrow().clone();
        let Some(connection) = connection else { return };
        let kept = json!({ "url": self.settings.url, "connection": connection }).to_string();
        let is_kept =
            key_value::shared().get(KEY).ok().flatten().as_deref() == Some(kept.as_bytes());
        if is_kept || key_value::shared().set(KEY, kept).is_ok() {
            return;
        }
        if let Connection::Legacy {
            session: Some(_), ..
        } = &connection
        {
            // A server that does not support this request ends the session after some idle time.
            let _ = self
                .settings
                .client
                .send(&self.settings.request("DELETE", &connection.headers()));
            self.connection.replace(None);
        }
    }
}

impl Connection {
    fn headers(&self) -> Vec<(&str, &str)> {
        match self {
            Self::Modern => vec![("mcp-protocol-version", MODERN)],
            Self::Legacy { version, session } => {
                let session = session.as_deref().map(|id| ("mcp-session-id", id));
                std::iter::once(("mcp-protocol-version", version.as_str()))
                    .chain(session)
                    .collect()
            }
        }
    }
}

/// The connection that another call has kept.
fn load(url: &str) -> Option<Connection> {
    let kept: Value = serde_json::from_slice(&key_value::shared().get(KEY).ok()??).ok()?;
    (kept["url"] == url).then(|| serde_json::from_value(kept["connection"].clone()).ok())?
}

/// The capabilities that this provider declares. The tools of apps are passed on, and the host hides them from clients
/// that show no apps.
fn capabilities() -> Value {
    json!({ "extensions": { "io.modelcontextprotocol/ui": { "mimeTypes": [APP_PAGE] } } })
}

fn client_info() -> Value {
    json!({ "name": "larder-remote", "version": env!("CARGO_PKG_VERSION") })
}

fn is_session(id: &str) -> bool {
    id.len() <= MAX_SESSION && id.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Whether an answer says that the connection is not valid any more.
fn is_outdated(answer: &Answer) -> bool {
    match answer {
        Answer::Other(status) => matches!(status, 400 | 404 | 405),
        // The session is unknown, or the version is not supported.
        Answer::Error { code, .. } => matches!(code, -32_000 | -32_001 | -32_022 | -32_600),
        Answer::Result(_) => false,
    }
}

fn result_of(answer: Answer, method: &str) -> Result<Value> {
    match answer {
        Answer::Result(result) if result["resultType"] == "input_required" => Err(Error::failed(
            "the server asks its client for input, which this provider cannot pass on",
        )),
        Answer::Result(result) => Ok(result),
        Answer::Error {
            code,
            message,
            data,
        } => Err(error(code, message, &data, method)),
        Answer::Other(status) => Err(Error::Failed(format!(
            "the address is not that of an MCP server: status {status}"
        ))),
    }
}

/// Converts an error of the protocol to an error of the contract.
fn error(code: i64, message: String, data: &Value, method: &str) -> Error {
    match code {
        _ if is_missing(code, &message, data, method) => Error::NotFound,
        -32_602 => Error::Invalid(message),
        METHOD_NOT_FOUND => {
            Error::Failed(format!("the server does not support {method}: {message}"))
        }
        _ => Error::Failed(format!("the MCP server fails: {message}")),
    }
}

/// Whether an error says that the resource does not exist. The modern era uses the code of invalid parameters, with the
/// URI in the data. Many servers only say this in the text of the error.
fn is_missing(code: i64, message: &str, data: &Value, method: &str) -> bool {
    let text = message.to_lowercase();
    let is_said = ["not found", "unknown resource"]
        .iter()
        .any(|said| text.contains(said));
    code == -32_002
        || (method == "resources/read" && (is_said || code == -32_602 && data["uri"].is_string()))
}
