//! Each read leaves a line in the audit log, whoever answered it and however it ended.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use serde_json::value::RawValue;

use super::{Error, Gateway};
use crate::audit::{Line, Place};
use crate::catalog::Offer;
use crate::metrics::Outcome;
use crate::name::TeamName;
use crate::provider::Provider;
use crate::resource::{Body, Call, Reading};

/// Bytes of a URI, and of a request's id, that stand in the log.
const LONGEST: usize = 4 << 10;

/// Who was asked on the way to an answer.
#[derive(Debug, Default)]
pub(super) struct Trail {
    /// The provider.
    asked: Option<Arc<Provider>>,
    /// How the last question ended, if without an answer.
    pub(super) error: Option<Outcome>,
    /// Whether the provider was not asked, since its answer was known.
    pub(super) cached: bool,
    wanted: bool,
}

impl Trail {
    /// This provider is asked now.
    pub(super) fn at(&mut self, offer: &Offer) {
        if self.wanted {
            self.asked = Some(offer.provider.clone());
        }
    }
}

impl Gateway {
    /// What a URI holds. `held` is the version that the caller has already: if it is still the current one,
    /// the answer is `NotModified`.
    pub async fn read(&self, call: &Arc<Call>, uri: &str, held: Option<&str>) -> Result<Reading, Error> {
        let teams = call.caller.as_ref().map(|caller| &caller.teams);
        let Some(place) = self.audit.place(teams).await? else {
            return self.find(call, uri, held, &mut Trail::default()).await;
        };
        let mut record = Record {
            place: Some(place),
            call,
            uri,
            began: Instant::now(),
            trail: Trail { wanted: true, ..Trail::default() },
            outcome: Outcome::Cancelled.word(),
            bytes: 0,
        };
        let answer = self.find(call, uri, held, &mut record.trail).await;
        record.end(&answer);
        answer
    }
}

/// A line in the making. It is written when it is dropped: also when nobody waits for the answer any more.
struct Record<'a> {
    place: Option<Place>,
    call: &'a Call,
    uri: &'a str,
    began: Instant,
    trail: Trail,
    outcome: &'static str,
    bytes: u64,
}

impl Record<'_> {
    fn end(mut self, answer: &Result<Reading, Error>) {
        self.outcome = match answer {
            Ok(_) => Outcome::Ok.word(),
            Err(Error::NotFound { .. }) => Outcome::NotFound.word(),
            Err(Error::NotModified { .. }) => Outcome::NotModified.word(),
            Err(Error::BadUri(_)) => "bad-uri",
            Err(Error::Refused { .. }) => "refused",
            Err(_) => self.trail.error.unwrap_or(Outcome::Failed).word(),
        };
        let contents = answer.iter().flat_map(|reading| reading.contents.iter());
        let sizes = contents.map(|content| match &content.body {
            Body::Text(text) => text.len() as u64,
            Body::Blob(blob) => blob.len() as u64,
        });
        self.bytes = sizes.sum();
    }
}

impl Drop for Record<'_> {
    fn drop(&mut self) {
        let Some(place) = self.place.take() else { return };
        let caller = self.call.caller.as_ref();
        let provider = self.trail.asked.as_deref();
        let team = match provider {
            Some(provider) => provider.team().as_str().into(),
            None => {
                let teams = caller.into_iter().flat_map(|caller| caller.teams.iter());
                teams.map(TeamName::as_str).collect::<Vec<_>>().join(",").into()
            }
        };
        let uri = &self.uri[..self.uri.floor_char_boundary(LONGEST)];
        let request = self.call.request.as_deref().map(id);
        place.write(&Line {
            time: SystemTime::now(),
            request: request.as_deref(),
            subject: caller.and_then(|caller| caller.subject.as_deref()),
            team,
            uri,
            uri_cut: uri.len() < self.uri.len(),
            provider: provider.map(|provider| provider.name().as_str()),
            digest: provider.map(Provider::digest),
            outcome: self.outcome,
            cached: self.trail.cached,
            bytes: self.bytes,
            ms: self.began.elapsed().as_micros() as f64 / 1e3,
        });
    }
}

/// The id as it was written; of a very long one, its beginning as a text.
fn id(json: &str) -> Cow<'_, RawValue> {
    let whole = (json.len() <= LONGEST).then(|| serde_json::from_str(json).ok()).flatten();
    whole.map_or_else(
        || {
            let begin = &json[..json.floor_char_boundary(LONGEST)];
            // A text is always valid JSON.
            Cow::Owned(serde_json::value::to_raw_value(begin).unwrap_or_default())
        },
        Cow::Borrowed,
    )
}
