//! The caller on whose behalf an operator reads. The audit log names both.

use std::sync::Arc;

use http::StatusCode;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::response::ApiError;
use crate::Admin;
use crate::operator::Operator;
use larder_model::name::{TeamName, Teams};
use larder_model::resource::{Call, Caller};

/// The caller that an operator chose. If no field is set, a caller without a name who belongs to all teams.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ChosenCaller {
    team: Option<String>,
    subject: Option<String>,
    claims: Map<String, Value>,
}

impl ChosenCaller {
    /// Creates the call of an operator on behalf of this caller.
    pub(super) fn call(self, admin: &Admin, operator: &Operator) -> Result<Arc<Call>, ApiError> {
        let caller = if operator.may_approve() {
            self.caller(admin)?
        } else {
            self.anonymous(admin)?
        };
        let mut call = Call::from_caller(caller);
        call.origin.peer = operator.peer;
        call.origin.operator = Some(operator.name().into());
        Ok(Arc::new(call))
    }

    /// Returns the caller of requests without a credential. An operator without a credential can only choose this
    /// caller.
    fn anonymous(&self, admin: &Admin) -> Result<Caller, ApiError> {
        let anonymous = admin.0.authentication.anonymous_caller();
        let chosen = anonymous.filter(|caller| self.is_anonymous(caller));
        chosen.ok_or_else(|| {
            let message = "without a login, you can read only as the caller of requests without a credential: \
                           configure `admin.token` or `admin.scope`, and log in";
            ApiError::new(StatusCode::FORBIDDEN, "forbidden", message)
        })
    }

    /// Whether the operator chose this caller of requests without a credential.
    fn is_anonymous(&self, caller: &Caller) -> bool {
        let has_team = self
            .team
            .as_ref()
            .is_none_or(|team| is_member(caller, team));
        has_team && self.subject.is_none() && self.claims.is_empty()
    }

    fn caller(self, admin: &Admin) -> Result<Caller, ApiError> {
        let teams = self.teams(admin)?;
        let mut issuer = None;
        let mut scopes = Vec::new();
        for (name, value) in self.claims {
            match (name.as_str(), value) {
                ("iss", Value::String(text)) => issuer = Some(text.into()),
                ("scope", Value::String(text)) => scopes = words(&text),
                ("scope", Value::Array(list)) => scopes = texts(&list),
                ("iss" | "scope", _) => {
                    return Err(ApiError::bad_request(format!(
                        "the claim `{name}` must be a text"
                    )));
                }
                _ => return Err(unknown_claim(&name)),
            }
        }
        // The scopes have the same order as in tokens, because cached responses are looked up by scopes.
        scopes.sort_unstable();
        scopes.dedup();
        Ok(Caller {
            subject: self.subject.filter(|subject| !subject.is_empty()),
            issuer,
            teams,
            scopes,
        })
    }

    fn teams(&self, admin: &Admin) -> Result<Teams, ApiError> {
        let teams = admin.0.sources.teams.borrow();
        let names: Vec<&TeamName> = teams.iter().map(|team| team.catalog.team()).collect();
        match &self.team {
            Some(chosen) => {
                let found = names.iter().find(|name| name.as_str() == chosen);
                let not_found = || ApiError::not_found(format!("there is no team {chosen:?}"));
                Ok(Teams::from((**found.ok_or_else(not_found)?).clone()))
            }
            // As with a token for all teams.
            None => Teams::of(names.into_iter().cloned())
                .ok_or_else(|| ApiError::not_found("there are no teams")),
        }
    }
}

fn is_member(caller: &Caller, team: &str) -> bool {
    caller.teams.iter().any(|own| own.as_str() == team)
}

fn texts(list: &[Value]) -> Vec<String> {
    let texts = list.iter().filter_map(Value::as_str);
    texts.map(ToOwned::to_owned).collect()
}

fn unknown_claim(name: &str) -> ApiError {
    ApiError::bad_request(format!(
        "the claim `{name}` has no effect: providers see the subject, `iss` and `scope` of a caller"
    ))
}

fn words(text: &str) -> Vec<String> {
    text.split_ascii_whitespace()
        .map(ToOwned::to_owned)
        .collect()
}
