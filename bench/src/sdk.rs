//! A server with the official Rust SDK (rmcp) in its fastest mode: no sessions, JSON responses.

use std::collections::HashMap;
use std::sync::Arc;

use axum::Router;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, ResourceContents,
    ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer};
use serde_json::json;

use crate::content::{DOCUMENTS, Kind};

#[derive(Clone)]
struct SdkServer(Arc<HashMap<String, String>>);

impl ServerHandler for SdkServer {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(
            ServerCapabilities::builder()
                .enable_resources()
                .enable_tools()
                .build(),
        )
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let missing = || ErrorData::resource_not_found("there is no such document", None);
        let body = self.0.get(&request.uri).ok_or_else(missing)?.clone();
        let contents =
            match crate::content::Document::from_uri(&request.uri).map(|document| document.kind) {
                Some(Kind::Blob) => ResourceContents::blob(body, request.uri)
                    .with_mime_type("application/octet-stream"),
                _ => ResourceContents::text(body, request.uri),
            };
        Ok(ReadResourceResult::new(vec![contents])
            .with_ttl_ms(0)
            .into())
    }

    /// `document` returns a text like the tool of the guest `sized_tool`. `read_resource` also returns the structured
    /// result of Larder's tool with this name.
    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let invalid = || ErrorData::invalid_params("there is no such tool or document", None);
        let arguments = request.arguments.ok_or_else(invalid)?;
        let is_read = match &*request.name {
            "document" => false,
            "read_resource" => true,
            _ => return Err(invalid()),
        };
        let uri = match (is_read, arguments.get("uri"), arguments.get("bytes")) {
            (true, Some(uri), _) => uri.as_str().map(ToOwned::to_owned),
            (false, _, Some(bytes)) => Some(format!("sized://sdk/text/{bytes}")),
            _ => None,
        };
        let uri = uri.ok_or_else(invalid)?;
        let text = self.0.get(&uri).ok_or_else(invalid)?;
        let mut result = CallToolResult::success(vec![ContentBlock::text(text.clone())]);
        if is_read {
            let contents = json!([{"uri": uri, "mimeType": "text/plain", "text": text}]);
            result.structured_content = Some(json!({"contents": contents}));
        }
        Ok(result.into())
    }
}

pub(crate) fn router() -> Router {
    // Blobs are stored in base64, as in a handler that is optimised for speed.
    let documents = DOCUMENTS.map(|document| {
        let text = if document.kind == Kind::Text {
            document.text()
        } else {
            document.json_escaped()
        };
        (document.uri("sdk"), text)
    });
    let server = SdkServer(Arc::new(HashMap::from(documents)));
    let mut config = StreamableHttpServerConfig::default();
    config.legacy_session_mode = false;
    config.json_response = true;
    config.sse_keep_alive = None;
    let service = StreamableHttpService::new(
        move || Ok(server.clone()),
        Arc::new(LocalSessionManager::default()),
        config,
    );
    Router::new().route_service("/mcp", service)
}
