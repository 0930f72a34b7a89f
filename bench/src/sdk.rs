//! The official SDK for Rust with a handler of its own, in the mode in which it is fastest: no sessions, JSON answers.

use std::collections::HashMap;
use std::sync::Arc;

use axum::Router;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, ResourceContents,
    ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer};

use crate::content::{DOCUMENTS, Kind};

#[derive(Clone)]
struct Native(Arc<HashMap<String, String>>);

impl ServerHandler for Native {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_resources().build())
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let missing = || ErrorData::resource_not_found("there is no such document", None);
        let held = self.0.get(&request.uri).ok_or_else(missing)?.clone();
        let contents = match crate::content::Document::named(&request.uri).map(|document| document.kind) {
            Some(Kind::Blob) => {
                ResourceContents::blob(held, request.uri).with_mime_type("application/octet-stream")
            }
            _ => ResourceContents::text(held, request.uri),
        };
        Ok(ReadResourceResult::new(vec![contents]).with_ttl_ms(0).into())
    }
}

pub(crate) fn router() -> Router {
    // Blobs are kept as they go out: a handler that is written for speed would do so.
    let held = DOCUMENTS.map(|document| {
        let text = if document.kind == Kind::Text { document.text() } else { document.on_the_wire() };
        (document.uri("sdk"), text)
    });
    let native = Native(Arc::new(HashMap::from(held)));
    let mut config = StreamableHttpServerConfig::default();
    config.legacy_session_mode = false;
    config.json_response = true;
    config.sse_keep_alive = None;
    let service = StreamableHttpService::new(
        move || Ok(native.clone()),
        Arc::new(LocalSessionManager::default()),
        config,
    );
    Router::new().route_service("/mcp", service)
}
