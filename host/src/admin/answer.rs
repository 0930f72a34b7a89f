//! The four paths, and what is said on each.

use bytes::Bytes;
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue, WWW_AUTHENTICATE};
use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use serde::Serialize;

use super::Admin;
use super::status::Status;
use crate::health::{Concerns, Trouble};
use crate::metrics::{Kind, Text};

type Answer = Response<Full<Bytes>>;

const PATHS: &str = "/livez, /readyz, /metrics and /status";

impl Admin {
    pub(super) fn answer<B>(&self, request: &Request<B>) -> Answer {
        if let Err((status, why)) = self.0.door.admits(request) {
            return text(status, why.to_owned());
        }
        let known = self.0.door.knows(request);
        let mut answer = match request.uri().path() {
            "/livez" => text(StatusCode::OK, "ok".into()),
            // Those who only send requests here, or do not, have no token to show; they are told no reasons.
            "/readyz" => self.ready(known),
            "/metrics" | "/status" if !known => unauthorized(),
            "/metrics" => self.metrics(),
            "/status" => json(StatusCode::OK, &self.status()),
            _ => text(StatusCode::NOT_FOUND, format!("nothing is here: there are {PATHS}")),
        };
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            answer = text(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD are answered here".into());
            answer.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        }
        answer.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        answer
    }

    /// Why nobody should be sent here now, and what else is wrong.
    fn troubles(&self) -> (Vec<String>, Vec<String>) {
        let serves_nothing = || self.0.teams.iter().all(|team| team.catalog.snapshot().offers().is_empty());
        let (reasons, others): (Vec<_>, Vec<_>) =
            self.0.health.troubles().into_iter().partition(|trouble| match trouble.concerns {
                Concerns::Everybody => true,
                Concerns::OneTeam => serves_nothing(),
                Concerns::Operator => false,
            });
        let stopping = self.0.house.is_stopping().then(|| "it is stopping".to_owned());
        let what = |troubles: Vec<Trouble>| troubles.into_iter().map(|trouble| trouble.what);
        (stopping.into_iter().chain(what(reasons)).collect(), what(others).collect())
    }

    fn ready(&self, known: bool) -> Answer {
        let (reasons, _) = self.troubles();
        let status = if reasons.is_empty() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
        #[derive(Serialize)]
        struct Ready {
            ready: bool,
            #[serde(skip_serializing_if = "Option::is_none")]
            reasons: Option<Vec<String>>,
        }
        json(status, &Ready { ready: reasons.is_empty(), reasons: known.then_some(reasons) })
    }

    fn status(&self) -> Status {
        let inner = &self.0;
        Status::of(&inner.teams, &inner.metrics, self.troubles())
    }

    fn metrics(&self) -> Answer {
        let mut shown = Text::default();
        self.0.metrics.show(&mut shown);
        self.catalogs(&mut shown);
        let mut answer = text(StatusCode::OK, shown.into_string().trim_end().to_owned());
        answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(Text::TYPE));
        answer
    }

    /// What the catalogs hold, and who watches them.
    fn catalogs(&self, shown: &mut Text) {
        let teams: Vec<_> = self
            .0
            .teams
            .iter()
            .map(|team| &team.catalog)
            .map(|c| (c.team(), c.snapshot(), c.watchers()))
            .collect();
        let mut family = |name: &str, help: &str, numbers: Vec<usize>| {
            shown.family(name, Kind::Gauge, help);
            for ((team, ..), number) in teams.iter().zip(numbers) {
                shown.sample(name, &[("team", team.as_str())], number);
            }
        };
        let of = |number: fn(&crate::catalog::Catalog) -> usize| {
            teams.iter().map(|(_, catalog, _)| number(catalog)).collect::<Vec<_>>()
        };
        family("larder_providers", "Providers that are served.", of(|catalog| catalog.offers().len()));
        family("larder_rejected", "Components that are rejected.", of(|catalog| catalog.rejected().len()));
        family("larder_held_back", "Revisions that wait for their operator.", of(|c| c.held_back().len()));
        let watchers = teams.iter().map(|(_, _, (watchers, _))| *watchers).collect();
        family("larder_watchers", "Clients that watch something.", watchers);
        let uris = teams.iter().map(|(_, _, (_, uris))| *uris).collect();
        family("larder_watched_uris", "URIs that are watched.", uris);
        let name = "larder_set_aside";
        shown.family(
            name,
            Kind::Gauge,
            "Whether a provider is set aside, because it only faulted: 1 if it is.",
        );
        for (team, catalog, _) in &teams {
            for offer in catalog.offers().iter() {
                let labels = [("team", team.as_str()), ("provider", offer.name().as_str())];
                shown.sample(name, &labels, u8::from(offer.provider.set_aside().is_some()));
            }
        }
    }
}

fn text(status: StatusCode, text: String) -> Answer {
    let mut answer = Response::new(Full::from(text + "\n"));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    answer
}

fn json(status: StatusCode, value: &impl Serialize) -> Answer {
    match serde_json::to_string(value) {
        Ok(json) => {
            let mut answer = text(status, json);
            answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            answer
        }
        Err(error) => text(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()),
    }
}

fn unauthorized() -> Answer {
    let mut answer = text(StatusCode::UNAUTHORIZED, "show the token of `admin.token`".into());
    answer.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    answer
}
