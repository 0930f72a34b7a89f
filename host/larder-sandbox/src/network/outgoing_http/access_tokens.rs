//! The access tokens that authorization servers issue for the credentials of clients. A token is kept until shortly before
//! it ends. There is one request at a time for each credential.

mod client_assertion;
mod issued_token;
mod token_request;

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use self::issued_token::IssuedToken;
pub(super) use self::token_request::TokenRequest;
use super::RequestError;
use larder_model::policy::{HostAuth, Secret};

/// A request that failed is not repeated before this time, so that guests cannot make the server flood another one.
const RETRY_AFTER: Duration = Duration::from_secs(5);
/// A token that a host has refused is replaced, unless it is newer than this: the next one would be refused too.
const MIN_AGE: Duration = Duration::from_secs(10);

/// The tokens of one revision of a provider, at most one for each of its rules.
#[derive(Default)]
pub(super) struct AccessTokens(Mutex<Vec<(HostAuth, Arc<TokenSlot>)>>);

/// The current token of one credential.
#[derive(Default)]
pub(super) struct TokenSlot {
    state: Mutex<SlotState>,
    /// Held while a token is requested.
    request: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct SlotState {
    token: Option<(Secret, IssuedToken)>,
    failure: Option<Failure>,
}

struct Failure {
    /// The secret with which the request failed.
    secret: Secret,
    until: Instant,
    error: RequestError,
}

impl AccessTokens {
    /// The slot of a credential.
    pub(super) fn slot(&self, auth: &HostAuth) -> Arc<TokenSlot> {
        let mut slots = self.0.lock();
        if let Some((_, slot)) = slots.iter().find(|(other, _)| other == auth) {
            return slot.clone();
        }
        let slot = Arc::<TokenSlot>::default();
        slots.push((auth.clone(), slot.clone()));
        slot
    }

    /// Forgets the token of a credential, because a host has refused it.
    pub(super) fn discard(&self, auth: &HostAuth) {
        let slots = self.0.lock();
        if let Some((_, slot)) = slots.iter().find(|(other, _)| other == auth) {
            slot.discard();
        }
    }
}

impl TokenSlot {
    /// Returns a valid token for this secret. If there is none, or if it ends soon, sends `request`.
    pub(super) async fn token(
        &self,
        secret: &Secret,
        request: impl Future<Output = Result<IssuedToken, RequestError>>,
    ) -> Result<Secret, RequestError> {
        let current = self.valid(secret);
        if let Some(token) = current.as_ref().filter(|token| !token.is_due()) {
            return Ok(token.text.clone());
        }
        let Some(token) = current else {
            let _turn = self.request.lock().await;
            return self.requested(secret, request).await;
        };
        // The token is still valid, so nobody waits while somebody else renews it, and a failure is no problem yet.
        let Ok(_turn) = self.request.try_lock() else {
            return Ok(token.text);
        };
        let renewed = self.requested(secret, request).await;
        renewed.or_else(|error| self.valid(secret).map(|token| token.text).ok_or(error))
    }

    /// Sends a request, unless another one has just ended.
    async fn requested(
        &self,
        secret: &Secret,
        request: impl Future<Output = Result<IssuedToken, RequestError>>,
    ) -> Result<Secret, RequestError> {
        if let Some(token) = self.valid(secret).filter(|token| !token.is_due()) {
            return Ok(token.text);
        }
        if let Some(error) = self.recent_failure(secret) {
            return Err(error);
        }
        let result = request.await;
        self.store(secret, &result);
        result.map(|token| token.text)
    }

    fn valid(&self, secret: &Secret) -> Option<IssuedToken> {
        let state = self.state.lock();
        let (issued_for, token) = state.token.as_ref()?;
        (issued_for == secret && token.is_valid()).then(|| token.clone())
    }

    fn recent_failure(&self, secret: &Secret) -> Option<RequestError> {
        let state = self.state.lock();
        let failure = state.failure.as_ref()?;
        let is_recent = failure.secret == *secret && Instant::now() < failure.until;
        is_recent.then(|| failure.error.clone())
    }

    fn store(&self, secret: &Secret, result: &Result<IssuedToken, RequestError>) {
        let mut state = self.state.lock();
        match result {
            Ok(token) => {
                state.token = Some((secret.clone(), token.clone()));
                state.failure = None;
            }
            Err(error) => {
                state.failure = Some(Failure {
                    secret: secret.clone(),
                    until: Instant::now() + RETRY_AFTER,
                    error: error.clone(),
                });
            }
        }
    }

    fn discard(&self) {
        let mut state = self.state.lock();
        state
            .token
            .take_if(|(_, token)| token.issued_at.elapsed() >= MIN_AGE);
    }
}

#[cfg(test)]
mod tests;
