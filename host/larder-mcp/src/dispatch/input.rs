//! Input that a tool or prompt requires from its client. A modern client gets the requests as the result, and calls
//! again with the answers. A legacy client gets the requests on the stream of the call; meanwhile the call holds no
//! permit.

use std::sync::Arc;

use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use super::Context;
use crate::Endpoint;
use crate::client_side::input_state::Binding;
use crate::client_side::{AskError, missing_capabilities};
use crate::era::method::Answers;
use crate::era::peer::Peer;
use crate::era::request_slot::RequestSlot;
use crate::wire::json_writer::object;
use crate::wire::rpc_error::{
    DispatchError, INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, MISSING_CLIENT_CAPABILITY,
    RpcError,
};
use larder_core::gateway::ComponentRequest;
use larder_model::input::{InputRequest, InputRequired, InputResponse, ProvidedInput};
use larder_model::name::Digest;
use larder_model::resource::Call;

/// How many times one call of a legacy client may request input.
const MAX_ROUNDS: u32 = 16;

/// Where input comes from.
pub(super) struct InputSource<'a> {
    pub(super) endpoint: &'a Endpoint,
    pub(super) call: &'a Arc<Call>,
    pub(super) peer: &'a Peer,
    pub(super) slot: &'a mut RequestSlot,
}

/// The input of one call.
pub(super) struct Input<'a> {
    pub(super) source: InputSource<'a>,
    /// The values to which the state of the call is bound.
    pub(super) binding: Binding<'a>,
    rounds: u32,
    /// The answers of a modern client without a state, that is, answers to requests that it has not received yet.
    in_advance: Vec<InputResponse>,
}

/// The requests that a modern client has to answer.
pub(super) struct InputQuestion {
    requests: Box<RawValue>,
    state: String,
}

impl<'a> Input<'a> {
    pub(super) fn new(source: InputSource<'a>, binding: Binding<'a>) -> Self {
        Self {
            source,
            binding,
            rounds: 0,
            in_advance: Vec::new(),
        }
    }

    /// Requests input from the client, and puts the answers into the request. A modern client that has not answered yet
    /// gets the returned question, and calls again.
    pub(super) async fn provide<A>(
        &mut self,
        request: &mut ComponentRequest<A>,
        required: InputRequired,
        component: Digest,
    ) -> Result<Option<InputQuestion>, DispatchError> {
        let provided = if self.source.peer.is_modern() {
            self.check_capabilities(&required)?;
            match self.answers_in_advance(&required.requests) {
                Some(responses) => ProvidedInput {
                    responses,
                    state: required.state,
                },
                None => return Ok(Some(self.later(&required, component)?)),
            }
        } else {
            self.now(required).await?
        };
        request.input = Some(provided);
        request.asked_by = Some(component);
        Ok(None)
    }

    /// Returns the answers in advance to these requests, if the answers are complete. They are only for the first
    /// requests, and other answers are ignored. The provider has sent the requests in this call, so they need not be
    /// bound to an earlier call.
    fn answers_in_advance(&mut self, requests: &[InputRequest]) -> Option<Vec<InputResponse>> {
        let given = std::mem::take(&mut self.in_advance);
        let answer =
            |request: &InputRequest| given.iter().find(|one| one.key == request.key).cloned();
        requests.iter().map(answer).collect()
    }

    /// Puts the answers of a modern client into the request, with the component that requested the input.
    pub(super) fn take_answers<A>(
        &mut self,
        request: &mut ComponentRequest<A>,
        answers: Option<Answers>,
    ) -> Result<(), RpcError> {
        let Some(Answers { responses, state }) = answers.filter(|_| self.source.peer.is_modern())
        else {
            return Ok(());
        };
        let Some(state) = state else {
            self.in_advance = responses;
            return Ok(());
        };
        let invalid = || {
            let message =
                "`requestState` is not valid for this call, or has expired: start again without it";
            RpcError::new(INVALID_PARAMS, message)
        };
        let state = self
            .source
            .endpoint
            .0
            .input_states
            .open(&self.binding, &state)
            .ok_or_else(invalid)?;
        let asked_by =
            Digest::parse(&format!("sha256:{}", state.component)).map_err(|_| invalid())?;
        request.input = Some(ProvidedInput {
            responses,
            state: state.of_provider,
        });
        request.asked_by = Some(asked_by);
        Ok(())
    }

    /// Returns the requests for a modern client, with the encrypted state of the call.
    fn later(
        &self,
        required: &InputRequired,
        component: Digest,
    ) -> Result<InputQuestion, RpcError> {
        let request = |one: &InputRequest| {
            let request = json!({ "method": one.method.as_str(), "params": one.params });
            (one.key.clone(), request)
        };
        let requests: Value = Value::Object(required.requests.iter().map(request).collect());
        let failed = || RpcError::new(INTERNAL_ERROR, "the state of the call cannot be encrypted");
        let state = self.source.endpoint.0.input_states.seal(
            &self.binding,
            component,
            required.state.clone(),
        );
        let requests = to_raw_value(&requests).map_err(|_| failed())?;
        Ok(InputQuestion {
            requests,
            state: state.ok_or_else(failed)?,
        })
    }

    /// Sends the requests to a legacy client, and waits for its answers.
    async fn now(&mut self, required: InputRequired) -> Result<ProvidedInput, DispatchError> {
        self.check_capabilities(&required)?;
        self.rounds += 1;
        if self.rounds > MAX_ROUNDS {
            let message =
                format!("the provider asked for input more than {MAX_ROUNDS} times in one call");
            return Err(RpcError::new(INTERNAL_ERROR, message).into());
        }
        let InputSource {
            endpoint,
            call,
            peer,
            slot,
        } = &mut self.source;
        let Peer::Legacy(client) = peer else {
            return Err(unreachable_client(AskError::Gone).into());
        };
        let stream = client
            .stream
            .as_ref()
            .ok_or_else(|| unreachable_client(AskError::Gone))?;
        // The arguments are stored twice: for the next call, and in the binding of a modern state.
        let kept = 2 * self.binding.arguments.len() + required.size();
        let charge = endpoint.charge_question(call, kept)?;
        slot.release();
        let responses = tokio::select! {
            responses = client.side.requests.ask(&required.requests, stream) => responses,
            () = endpoint.0.drain.stopping() => Err(AskError::Stopping),
        };
        drop(charge);
        slot.acquire_again(endpoint, call).await?;
        let responses = responses.map_err(unreachable_client)?;
        Ok(ProvidedInput {
            responses,
            state: required.state,
        })
    }

    fn check_capabilities(&self, required: &InputRequired) -> Result<(), RpcError> {
        let missing =
            missing_capabilities(self.source.call.interaction.as_ref(), &required.requests);
        if missing.as_object().is_none_or(serde_json::Map::is_empty) {
            return Ok(());
        }
        let text = missing.to_string();
        Err(if self.source.peer.is_modern() {
            RpcError::bad_request(
                MISSING_CLIENT_CAPABILITY,
                format!("the call needs capabilities that the client does not have: {text}"),
            )
            .with_data(|data| data.json("requiredCapabilities", &text))
        } else {
            RpcError::new(
                INVALID_REQUEST,
                format!("the call needs capabilities that the client did not declare: {text}"),
            )
        })
    }
}

fn unreachable_client(error: AskError) -> RpcError {
    RpcError::new(INTERNAL_ERROR, format!("the call needs input, but {error}"))
}

impl Context<'_> {
    /// Returns the result that contains the requests for input to a modern client.
    pub(super) fn input_required(self, question: &InputQuestion) -> Vec<u8> {
        let settings = self.endpoint.0.settings.load();
        object(|o| {
            o.text("jsonrpc", "2.0");
            o.json("id", self.id.json());
            o.object("result", |o| {
                o.text("resultType", "input_required");
                o.raw("inputRequests", &question.requests);
                o.text("requestState", &question.state);
                o.object("_meta", |o| {
                    o.json("io.modelcontextprotocol/serverInfo", &settings.server_info)
                });
            });
        })
    }
}
