//! A connection to one server, and the requests that can be made on it.

use std::ops::ControlFlow;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::era::Era;
use super::error::ClientError;
use super::filter::Filter;
use super::message::{self, ClientMessage, OnMessage, ServerMessage, ignore_message};
use super::results::{
    CompleteResult, Completion, Page, Progress, Prompt, PromptResult, ReadResult, Resource,
    ResourceTemplate, SearchResult, Skill, Tool, ToolResult,
};
use super::search::Search;
use super::sign_in::Credential;
use super::transport::Transport;

/// A connection to one server.
#[derive(Debug)]
pub struct Client {
    pub(super) transport: Transport,
    pub(super) era: Era,
    /// The id of the last request.
    pub(super) last_id: u64,
}

impl Client {
    /// The revision of the protocol that the connection uses.
    pub fn revision(&self) -> &str {
        self.era.revision().as_str()
    }

    /// Returns one page of the resources that match a filter.
    pub async fn resources(
        &mut self,
        filter: &Filter,
        cursor: Option<&str>,
    ) -> Result<Page<Resource>, ClientError> {
        self.send_request("resources/list", page(filter, cursor), None)
            .await
    }

    /// Returns one page of the templates that match a filter.
    pub async fn templates(
        &mut self,
        filter: &Filter,
        cursor: Option<&str>,
    ) -> Result<Page<ResourceTemplate>, ClientError> {
        self.send_request("resources/templates/list", page(filter, cursor), None)
            .await
    }

    /// Reads a resource.
    pub async fn read(&mut self, uri: &str) -> Result<ReadResult, ClientError> {
        self.send_request("resources/read", json!({ "uri": uri }), Some(uri))
            .await
    }

    /// Reads a resource and calls `on_progress` with each progress report. If `on_progress` returns
    /// [`ControlFlow::Break`], the read is cancelled and the result is [`ClientError::Cancelled`]. Dropping the future
    /// cancels the read as well: at once in revision 2026-07-28, and otherwise when the next request is sent or the
    /// session or pipe ends.
    ///
    /// ```no_run
    /// # async fn read(client: &mut larder_client::Client) -> Result<(), larder_client::ClientError> {
    /// use std::ops::ControlFlow;
    ///
    /// let reading = client.read_with_progress("big://thing", |progress| {
    ///     println!("{} of {:?}", progress.progress, progress.total);
    ///     ControlFlow::Continue(())
    /// });
    /// println!("{} contents", reading.await?.contents.len());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn read_with_progress(
        &mut self,
        uri: &str,
        on_progress: impl FnMut(Progress) -> ControlFlow<()> + Send,
    ) -> Result<ReadResult, ClientError> {
        self.exchange_with_progress("resources/read", json!({ "uri": uri }), uri, on_progress)
            .await?
            .result("resources/read")
    }

    /// Reads a resource unless its current version is `version`. None if it is the current version.
    pub async fn read_if_changed(
        &mut self,
        uri: &str,
        version: &str,
    ) -> Result<Option<ReadResult>, ClientError> {
        let params = json!({ "uri": uri, "_meta": { message::VERSION_KEY: version } });
        match self.send_request("resources/read", params, Some(uri)).await {
            Err(ClientError::Rpc(error)) if error.code == message::NOT_MODIFIED => Ok(None),
            answer => answer.map(Some),
        }
    }

    /// Returns values for a template variable. `prefix` is what the user has typed, and `arguments` are the
    /// variables that already have a value.
    pub async fn complete(
        &mut self,
        template: &str,
        variable: &str,
        prefix: &str,
        arguments: &[(String, String)],
    ) -> Result<Completion, ClientError> {
        let mut params = json!({
            "ref": { "type": "ref/resource", "uri": template },
            "argument": { "name": variable, "value": prefix },
        });
        if !arguments.is_empty() {
            params["context"] = json!({ "arguments": argument_map(arguments) });
        }
        let result: CompleteResult = self
            .send_request("completion/complete", params, None)
            .await?;
        Ok(result.completion)
    }

    /// Returns one page of the resources that a search finds, best first. Only Larder servers support searches. With
    /// other servers, the error is [`ClientError::Rpc`] with the code -32601.
    pub async fn search(
        &mut self,
        search: &Search,
        cursor: Option<&str>,
    ) -> Result<Page<SearchResult>, ClientError> {
        self.send_request(
            "dev.larder/search",
            with_cursor(json!(search), cursor),
            None,
        )
        .await
    }

    /// Returns one page of the tools.
    pub async fn tools(&mut self, cursor: Option<&str>) -> Result<Page<Tool>, ClientError> {
        self.send_request("tools/list", page(&Filter::default(), cursor), None)
            .await
    }

    /// Calls a tool that requires no input. See [`Client::call_tool_with`] for the others.
    pub async fn call_tool(
        &mut self,
        name: &str,
        arguments: Map<String, Value>,
    ) -> Result<ToolResult, ClientError> {
        self.send_request(
            "tools/call",
            json!({ "name": name, "arguments": arguments }),
            Some(name),
        )
        .await
    }

    /// Returns one page of the prompts.
    pub async fn prompts(&mut self, cursor: Option<&str>) -> Result<Page<Prompt>, ClientError> {
        self.send_request("prompts/list", page(&Filter::default(), cursor), None)
            .await
    }

    /// Returns one page of the skills.
    pub async fn skills(&mut self, cursor: Option<&str>) -> Result<Page<Skill>, ClientError> {
        self.send_request("skills/list", page(&Filter::default(), cursor), None)
            .await
    }

    /// Returns one page of the children of a folder.
    pub async fn directory(
        &mut self,
        uri: &str,
        cursor: Option<&str>,
    ) -> Result<Page<Resource>, ClientError> {
        self.send_request(
            "resources/directory/read",
            with_cursor(json!({ "uri": uri }), cursor),
            None,
        )
        .await
    }

    /// Returns the messages of a prompt.
    pub async fn get_prompt(
        &mut self,
        name: &str,
        arguments: &[(String, String)],
    ) -> Result<PromptResult, ClientError> {
        let params = json!({ "name": name, "arguments": argument_map(arguments) });
        self.send_request("prompts/get", params, Some(name)).await
    }

    /// Calls any method by its name and deserializes the result.
    ///
    /// ```no_run
    /// # async fn get(client: &mut larder_client::Client) -> Result<(), Box<dyn std::error::Error>> {
    /// let params = serde_json::from_str(r#"{ "uri": "file:///docs/hello.md" }"#)?;
    /// let got: serde_json::Value = client.request("resources/get", params).await?;
    /// println!("{}", got["contents"]["content"]);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn request<T: DeserializeOwned>(
        &mut self,
        method: &str,
        params: Map<String, Value>,
    ) -> Result<T, ClientError> {
        let name = message::header_name(method, &params);
        self.send_request(method, params.into(), name.as_deref())
            .await
    }

    /// The tokens of a sign-in.
    pub(super) fn credential(&self) -> Option<&Credential> {
        match &self.transport {
            Transport::Http(http) => http.credential(),
            Transport::Lines(_) => None,
        }
    }

    /// Ends the session if there is one, and the server process if this client started it.
    pub async fn close(self) {
        match self.transport {
            Transport::Http(http) => http.end_session(self.era).await,
            Transport::Lines(lines) => lines.close().await,
        }
    }

    async fn send_request<T: DeserializeOwned>(
        &mut self,
        method: &str,
        params: Value,
        name: Option<&str>,
    ) -> Result<T, ClientError> {
        self.exchange(method, params, name, &mut ignore_message)
            .await?
            .result(method)
    }

    /// Sends a request about this name, and calls `on_progress` with each progress report before the answer.
    pub(super) async fn exchange_with_progress(
        &mut self,
        method: &str,
        mut params: Value,
        name: &str,
        mut on_progress: impl FnMut(Progress) -> ControlFlow<()> + Send,
    ) -> Result<ServerMessage, ClientError> {
        let token = self.last_id.saturating_add(1);
        params["_meta"]["progressToken"] = json!(token);
        let mut on_message = |message: &ServerMessage| match message.progress(token) {
            Some(progress) => on_progress(progress),
            None => ControlFlow::Continue(()),
        };
        self.exchange(method, params, Some(name), &mut on_message)
            .await
    }

    /// Sends a request and returns the message that answers it.
    async fn exchange(
        &mut self,
        method: &str,
        params: Value,
        name: Option<&str>,
        on_message: OnMessage<'_>,
    ) -> Result<ServerMessage, ClientError> {
        self.last_id = self.last_id.saturating_add(1);
        let request = ClientMessage::request(self.last_id, self.era, method, params, name);
        self.transport
            .exchange(&request, self.era, on_message)
            .await
    }
}

fn page(filter: &Filter, cursor: Option<&str>) -> Value {
    let mut params = json!({});
    if *filter != Filter::default() {
        params["_meta"] = json!(filter);
    }
    with_cursor(params, cursor)
}

fn with_cursor(mut params: Value, cursor: Option<&str>) -> Value {
    if let Some(cursor) = cursor {
        params["cursor"] = json!(cursor);
    }
    params
}

fn argument_map(arguments: &[(String, String)]) -> Map<String, Value> {
    let arguments = arguments.iter();
    arguments
        .map(|(name, value)| (name.clone(), json!(value)))
        .collect()
}
