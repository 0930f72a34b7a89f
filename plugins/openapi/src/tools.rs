//! Each operation as a tool.

use std::rc::Rc;

use larder_provider::{Call, Error, Result, Tool, ToolResult};
use larder_web::{BaseUrl, Client, Credentials};
use serde_json::Value;

use crate::call;
use crate::document::Document;
use crate::markdown::line;
use crate::operation::Operation;
use crate::schema;
use crate::settings::Settings;
use crate::{Api, OpenApi};

/// A tool for each operation that a tool can call.
pub(crate) fn all(api: &Rc<Api>, settings: &Settings) -> Vec<Tool<OpenApi>> {
    let callable = |operation: &&Operation| operation.inputs(&api.document).is_ok();
    api.operations
        .iter()
        .filter(callable)
        .map(|operation| tool(api, operation, settings))
        .collect()
}

fn tool(api: &Rc<Api>, operation: &Operation, settings: &Settings) -> Tool<OpenApi> {
    let method = operation.method.as_str();
    let is_read_only = matches!(method, "GET" | "HEAD" | "OPTIONS");
    let is_structured = settings.output_schemas;
    let (arguments_of, called) = (
        (api.clone(), operation.clone()),
        (api.clone(), operation.clone()),
    );
    let function = move |provider: &OpenApi, call: &Call<Value>| {
        let (api, operation) = &called;
        provider.call(api, operation, &call.arguments)
    };
    let mut tool = Tool::new(&operation.name, function)
        .title(format!("{method} {}", line(&operation.path)))
        .description(description(operation))
        .read_only(is_read_only)
        .idempotent(is_read_only || matches!(method, "PUT" | "DELETE"))
        .open_world(true)
        .input_schema(move || {
            let (api, operation) = &arguments_of;
            let inputs = operation.inputs(&api.document);
            inputs
                .map(|inputs| schema::arguments(&api.document, &inputs))
                .unwrap_or_default()
        });
    if !is_read_only {
        // POST usually creates something.
        tool = tool.destructive(method != "POST");
    }
    if !is_structured {
        return tool;
    }
    let of_result = (api.clone(), operation.clone());
    tool.output_schema(move || {
        let (api, operation) = &of_result;
        schema::result(&api.document, response_schema(&api.document, operation))
    })
}

fn description(operation: &Operation) -> String {
    let parts = [operation.summary.as_str(), operation.description.as_str()];
    let text = parts
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join("\n\n");
    let deprecated = if operation.is_deprecated {
        "Deprecated. "
    } else {
        ""
    };
    schema::shorten(&format!("{deprecated}{text}"))
}

/// The schema of the JSON body of the first successful response.
fn response_schema<'a>(document: &'a Document, operation: &Operation) -> Option<&'a Value> {
    let (_, value) = operation.values(document).ok()?;
    let mut responses = value["responses"].as_object()?.iter();
    let (_, response) = responses.find(|(status, _)| status.starts_with('2'))?;
    let response = document.resolve(response).ok()?;
    response["content"].get("application/json")?.get("schema")
}

impl OpenApi {
    /// Calls an operation with the arguments of its tool.
    pub(crate) fn call(
        &self,
        api: &Api,
        operation: &Operation,
        arguments: &Value,
    ) -> Result<ToolResult<Value>> {
        let client = self.client(&api.document)?;
        let inputs = operation.inputs(&api.document)?;
        let arguments = arguments
            .as_object()
            .ok_or_else(|| Error::invalid("the arguments are not an object"))?;
        match call::call(
            &client,
            operation,
            &inputs,
            arguments,
            self.settings.output_schemas,
        ) {
            // The model can correct an invalid argument.
            Err(Error::Invalid(why)) => Ok(ToolResult::error(format!("Invalid arguments: {why}"))),
            other => other,
        }
    }

    /// A client for the server of the settings, or of the document, which gets no secrets.
    fn client(&self, document: &Document) -> Result<Client> {
        let credentials = Credentials::read(key_header(document))?;
        let base = match &self.settings.server {
            Some(server) => server.clone(),
            None if !credentials.is_empty() || !self.settings.headers.is_empty() => {
                let why = "the author of the document would decide who receives the secrets and headers of this provider";
                return Err(Error::Denied(format!(
                    "the setting `server` is missing: without it, {why}"
                )));
            }
            None => document_server(document, &self.settings.document)?,
        };
        let Settings {
            headers,
            timeout,
            max_bytes,
            ..
        } = &self.settings;
        Ok(Client {
            base,
            credentials,
            headers: headers.clone(),
            timeout: *timeout,
            max_bytes: *max_bytes,
        })
    }
}

/// The name of the header for `api_key` in the document.
fn key_header(document: &Document) -> &str {
    let schemes = document
        .map("/components/securitySchemes")
        .map(|(_, scheme)| scheme);
    let mut keys = schemes.filter(|scheme| scheme["type"] == "apiKey" && scheme["in"] == "header");
    keys.find_map(|scheme| scheme["name"].as_str())
        .unwrap_or("X-API-Key")
}

/// The first server of the document. A relative one belongs to the URL of the document.
fn document_server(document: &Document, source: &str) -> Result<BaseUrl> {
    let server = &document.root()["servers"][0];
    let mut url = server["url"].as_str().unwrap_or("/").to_owned();
    for (name, variable) in server["variables"].as_object().into_iter().flatten() {
        url = url.replace(
            &format!("{{{name}}}"),
            variable["default"].as_str().unwrap_or_default(),
        );
    }
    let absolute = match url.contains("://") {
        true => Some(url),
        false => larder_web::resolve(source, &url),
    };
    let base = absolute.and_then(|url| BaseUrl::parse(&url).ok());
    base.ok_or_else(|| Error::from("the document names no valid server: add the setting `server`"))
}
