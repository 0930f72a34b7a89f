//! Requests to the client.

use schemars::JsonSchema;
use serde_json::{Value, json};

use super::schema;
pub use crate::bindings::interaction_types::{InputRequest, InputRequired};

/// A request that the client must answer before a call can continue. A tool or a prompt **returns** the request. Then
/// the host makes the call again, with the [`Input`](super::Input).
///
/// ```
/// use larder_provider::{Answer, Call, InputRequest, Provider, Result, ToolResult};
/// # use larder_provider::{Content, Reading, Request};
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Destination {
///     /// A city.
///     city: String,
/// }
///
/// # struct Travel;
/// impl Travel {
///     fn book(&self, call: &Call) -> Result<Answer> {
///         let Some(input) = &call.input else {
///             return Ok(InputRequest::elicit::<Destination>("destination", "Where to?").into());
///         };
///         Ok(match input.accepted::<Destination>("destination")? {
///             Some(Destination { city }) => ToolResult::text(format!("Booked a journey to {city}.")).into(),
///             None => ToolResult::text("Nothing was booked.").into(),
///         })
///     }
/// }
/// ```
impl InputRequest {
    /// Creates any request. `params` is a JSON object. The key identifies the response.
    pub fn new(key: impl Into<String>, method: impl Into<String>, params: Value) -> Self {
        Self {
            key: key.into(),
            method: method.into(),
            params: params.to_string(),
        }
    }

    /// Requests that the user fill in a form: one field for each field of `T`, which must be texts, numbers, booleans
    /// or enums of texts. Doc comments on the fields become descriptions.
    pub fn elicit<T: JsonSchema>(key: impl Into<String>, message: impl Into<String>) -> Self {
        let (message, schema): (String, Value) = (message.into(), schema::form::<T>());
        let params = json!({ "mode": "form", "message": message, "requestedSchema": schema });
        Self::new(key, "elicitation/create", params)
    }

    /// Requests a message from the client's model. `params` are the parameters of `sampling/createMessage`.
    pub fn sample(key: impl Into<String>, params: Value) -> Self {
        Self::new(key, "sampling/createMessage", params)
    }

    /// Requests the folders with which the client works.
    pub fn roots(key: impl Into<String>) -> Self {
        Self::new(key, "roots/list", json!({}))
    }

    /// Adds state that is returned with the response; see [`InputRequired::state`].
    pub fn state(self, state: impl Into<Vec<u8>>) -> InputRequired {
        InputRequired::from(self).state(state)
    }
}

impl InputRequired {
    /// Adds another request. The client answers all of them.
    pub fn request(mut self, request: InputRequest) -> Self {
        self.requests.push(request);
        self
    }

    /// Sets state that is returned with the responses. No other state is kept until the next call, which a different
    /// guest may handle. The host encrypts the state, so clients can neither read nor change it.
    pub fn state(mut self, state: impl Into<Vec<u8>>) -> Self {
        self.state = Some(state.into());
        self
    }
}

impl From<InputRequest> for InputRequired {
    fn from(request: InputRequest) -> Self {
        Self {
            requests: vec![request],
            state: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(JsonSchema)]
    #[allow(dead_code, reason = "only the schema is used")]
    struct Form {
        /// Such as 1.2.0
        version: String,
        note: Option<String>,
    }

    #[test]
    fn a_form_has_a_flat_schema() {
        let request = InputRequest::elicit::<Form>("version", "Which?");
        let params: Value = serde_json::from_str(&request.params).expect("JSON");
        let properties = json!({
            "version": { "type": "string", "description": "Such as 1.2.0" },
            "note": { "type": "string" },
        });
        let schema = json!({ "type": "object", "properties": properties, "required": ["version"] });
        assert_eq!(
            params,
            json!({ "mode": "form", "message": "Which?", "requestedSchema": schema })
        );
        assert_eq!(
            (request.key.as_str(), request.method.as_str()),
            ("version", "elicitation/create")
        );
    }
}
