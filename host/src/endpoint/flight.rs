//! Requests under way that their clients can cancel by id.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

use super::message::{Id, Params};

/// The requests of one session that are under way.
#[derive(Debug, Default)]
pub(super) struct Flights(Mutex<HashMap<Id, CancellationToken>>);

/// One request under way. While it is held, its id is taken.
#[derive(Debug)]
pub(super) struct Flight {
    flights: Arc<Flights>,
    id: Id,
    token: CancellationToken,
}

impl Flights {
    /// Notes a request; none when its id is taken.
    pub(super) fn depart(self: &Arc<Self>, id: &Id) -> Option<Flight> {
        let mut flights = self.lock();
        if flights.contains_key(id) {
            return None;
        }
        let token = CancellationToken::new();
        flights.insert(id.clone(), token.clone());
        Some(Flight { flights: self.clone(), id: id.clone(), token })
    }

    /// Ends the request that a `notifications/cancelled` names. One that is not under way is no error.
    pub(super) fn cancel(&self, params: &Params<'_>) {
        let id = params.fields.get("requestId").and_then(Id::read);
        if let Some(token) = id.and_then(|id| self.lock().get(&id).cloned()) {
            token.cancel();
        }
    }

    pub(super) fn cancel_all(&self) {
        self.lock().values().for_each(CancellationToken::cancel);
    }

    pub(super) fn len(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Id, CancellationToken>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Flight {
    pub(super) async fn cancelled(&self) {
        self.token.cancelled().await;
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.token.is_cancelled()
    }

    /// Goes on until it is done or cancelled. By its pin: given by value, the work would be in this future thrice.
    pub(super) async fn until_cancelled<F: Future>(&self, work: Pin<&mut F>) -> Option<F::Output> {
        self.token.run_until_cancelled(work).await
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        self.flights.lock().remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::super::fields::Fields;
    use super::super::scan::Json;
    use super::*;

    fn id(text: &str) -> Id {
        Id::read(Json::read(text).unwrap()).unwrap()
    }

    #[tokio::test]
    async fn the_id_that_is_named_ends_and_no_other() {
        let flights = Arc::new(Flights::default());
        let (one, other) = (flights.depart(&id("1")).unwrap(), flights.depart(&id("\"1\"")).unwrap());
        assert!(flights.depart(&id("1")).is_none(), "the id is taken");
        for text in [r#"{"requestId":1}"#, r#"{"requestId":2}"#, r#"{"requestId":{}}"#, "{}"] {
            let params = Params { fields: Fields::parse(text).unwrap(), ..Params::default() };
            flights.cancel(&params);
        }
        assert_eq!(one.until_cancelled(std::pin::pin!(std::future::pending::<()>())).await, None);
        assert!(!other.is_cancelled());
        drop((one, other));
        assert_eq!(flights.len(), 0);
        assert!(flights.depart(&id("1")).is_some());
    }
}
