//! Implements the interface `http-client` of the contract with [`OutgoingHttp`].

use std::time::Duration;

use futures_util::future::join_all;

use crate::bindings::larder::provider::http_client::{Failure, Host, Request, Response};
use crate::guest::state::GuestState;
use crate::guest_config::Lease;
use crate::network::outgoing_http::{
    BodyBudget, FetchRequest, MAX_CONCURRENT_REQUESTS, RequestError,
};
use larder_runtime::memory_budget::MemoryUse;

/// The message for a guest if a body does not fit into the memory budget.
const NO_MEMORY: &str = "the server has no memory for the body at the moment (`server.memory`)";

impl Host for GuestState {
    async fn send(&mut self, request: Request) -> wasmtime::Result<Result<Response, Failure>> {
        let lease = self.lease.clone();
        let budget = self.body_budget();
        Ok(Box::pin(fetch(&lease, request, &budget)).await)
    }

    async fn send_all(
        &mut self,
        requests: Vec<Request>,
    ) -> wasmtime::Result<Vec<Result<Response, Failure>>> {
        let count = requests.len();
        if count > MAX_CONCURRENT_REQUESTS {
            let why = format!("{count} requests at once; the limit is {MAX_CONCURRENT_REQUESTS}");
            return Ok(requests
                .iter()
                .map(|_| Err(Failure::Denied(why.clone())))
                .collect());
        }
        let lease = self.lease.clone();
        // The host holds all responses at the same time, so they share one limit.
        let budget = self.body_budget();
        let fetch = |request| Box::pin(fetch(&lease, request, &budget));
        Ok(join_all(requests.into_iter().map(fetch)).await)
    }
}

impl GuestState {
    /// The limits for the bodies of one call. The bodies are charged to the caller of the guest.
    fn body_budget(&self) -> BodyBudget {
        let caller = self.lease.permit.caller();
        let charge = self.lease.memory.begin_for(MemoryUse::OutgoingHttp, caller);
        BodyBudget::new(self.lease.outgoing_http.body_limit, charge)
    }
}

async fn fetch(lease: &Lease, request: Request, budget: &BodyBudget) -> Result<Response, Failure> {
    let request = FetchRequest {
        method: &request.method,
        url: &request.url,
        headers: request.headers,
        body: request.body,
        timeout: request.timeout_ms.map(Duration::from_millis),
    };
    let outgoing_http = &lease.outgoing_http;
    let response = outgoing_http.fetch(request, &lease.permit, budget).await;
    response
        .map(|(status, headers, body)| Response {
            status,
            headers,
            body,
        })
        .map_err(failure)
}

fn failure(error: RequestError) -> Failure {
    match error {
        RequestError::Denied(why) => Failure::Denied(why),
        RequestError::Unreachable(why) => Failure::Unreachable(why),
        RequestError::TimedOut => Failure::TimedOut,
        RequestError::TooLarge => Failure::TooLarge,
        RequestError::NoMemory => Failure::Unreachable(NO_MEMORY.into()),
    }
}
