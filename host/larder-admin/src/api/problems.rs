//! Current problems, each with the action that the operator can take.

use serde::Serialize;

use super::component_view::ComponentView;
use super::response::cut;
use crate::{Admin, TeamView};
use larder_core::catalog::{Collision, Offer};

/// Maximum number of problems in one response, and of problems of one provider.
const MAX_PROBLEMS: usize = 200;
const MAX_OF_PROVIDER: usize = 20;

/// A current problem.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Problem {
    severity: Severity,
    #[serde(skip_serializing_if = "Option::is_none")]
    team: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    provider: Option<String>,
    text: String,
    advice: String,
}

/// How bad a problem is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Severity {
    /// A component or a team is not served.
    Error,
    /// The operator should examine the problem.
    Warning,
}

impl Problem {
    fn error(text: &str, advice: impl Into<String>) -> Self {
        Self::new(Severity::Error, text, advice)
    }

    fn warning(text: &str, advice: impl Into<String>) -> Self {
        Self::new(Severity::Warning, text, advice)
    }

    fn new(severity: Severity, text: &str, advice: impl Into<String>) -> Self {
        Self {
            severity,
            team: None,
            provider: None,
            text: cut(text),
            advice: advice.into(),
        }
    }

    fn of_team(mut self, team: &TeamView) -> Self {
        self.team = team.catalog.team().non_default().map(ToOwned::to_owned);
        self
    }

    fn of(mut self, view: &ComponentView) -> Self {
        self.team = view.team.non_default().map(ToOwned::to_owned);
        self.provider = Some(view.full_name());
        self
    }
}

/// Returns the problems of the server, the errors first.
pub(super) fn all(admin: &Admin, views: &[ComponentView]) -> Vec<Problem> {
    let mut all = of_server(admin);
    for team in admin.0.sources.teams.borrow().iter() {
        let collisions = Collision::summarize(team.catalog.snapshot().collisions());
        let advice = "set a `prefix` for one of the providers, or remove one of them";
        let problem = |text: &String| Problem::warning(text, advice).of_team(team);
        all.extend(collisions.iter().map(problem));
    }
    all.extend(views.iter().flat_map(of_component));
    all.sort_by_key(|problem| problem.severity);
    let others = all.len().saturating_sub(MAX_PROBLEMS);
    all.truncate(MAX_PROBLEMS);
    if others > 0 {
        let text = format!("and {others} more problems");
        all.push(Problem::warning(
            &text,
            "the list of providers shows all of them",
        ));
    }
    all
}

fn of_server(admin: &Admin) -> Vec<Problem> {
    let (reasons, others) = admin.problems();
    let advice = "the log of the server says more; `/readyz` shows when it is solved";
    let mut all: Vec<_> = reasons
        .iter()
        .map(|text| Problem::error(text, advice))
        .collect();
    all.extend(
        others
            .iter()
            .map(|text| Problem::warning(text, "the log of the server says more")),
    );
    let advice = "a caller gets what its first team has; `[server] team_order` changes the order of the teams";
    all.extend(
        admin
            .notices()
            .iter()
            .map(|text| Problem::warning(text, advice)),
    );
    for key in admin.0.sources.needs_restart.borrow().iter() {
        let text = format!("`{key}` was changed in the configuration file and is not in effect");
        all.push(Problem::warning(&text, "restart the server"));
    }
    all
}

/// Returns the problems of a component.
pub(super) fn of_component(view: &ComponentView) -> Vec<Problem> {
    let mut all = Vec::new();
    all.extend(rejection(view));
    all.extend(pending_approval(view));
    all.extend(denied_request(view));
    all.extend(view.offer.iter().flat_map(|offer| of_offer(offer)));
    all.extend(index_error(view));
    all.truncate(MAX_OF_PROVIDER);
    all.into_iter().map(|problem| problem.of(view)).collect()
}

fn rejection(view: &ComponentView) -> Option<Problem> {
    let rejected = view.rejected.as_ref()?;
    let (severity, consequence) = match view.offer {
        Some(_) => (Severity::Warning, "the previous revision is still served"),
        None => (Severity::Error, "it is not served"),
    };
    let text = format!(
        "{} was rejected, and {consequence}: {}",
        rejected.origin, rejected.reason
    );
    let advice = "replace the component, or change its configuration; `larder inspect` says more about a component";
    Some(Problem::new(severity, &text, advice))
}

fn pending_approval(view: &ComponentView) -> Option<Problem> {
    let count = view.pending.as_ref()?.lines.len();
    let text = format!("a revision waits for approval: it requests {count} more");
    let advice = format!(
        "compare and decide under Approvals, or with `larder approve {}{}`",
        view.name,
        team_option(view)
    );
    Some(Problem::warning(&text, advice))
}

/// The option of a command for the team of a component.
fn team_option(view: &ComponentView) -> String {
    let team = view.team.non_default();
    team.map(|team| format!(" --team {team}"))
        .unwrap_or_default()
}

fn denied_request(view: &ComponentView) -> Option<Problem> {
    let denied = &view.report.as_ref()?.denied;
    let first = denied.first()?;
    let more = and_more(denied.len());
    let text = format!("it requests what the ceiling of its team refuses: `{first}`{more}");
    let advice = "ask its team why it requests this; only `ceiling` of the team in the configuration file permits it";
    Some(Problem::warning(&text, advice))
}

/// The text after the first of several problems.
fn and_more(count: usize) -> String {
    match count {
        1 => String::new(),
        all => format!(" (and {} more)", all - 1),
    }
}

fn index_error(view: &ComponentView) -> Option<Problem> {
    let error = view.index.as_ref()?.error.as_ref()?;
    let text = format!("its part of the full-text index is not complete: {error}");
    let advice = "it is tried again; see the log of the provider";
    Some(Problem::warning(&text, advice))
}

fn of_offer(offer: &Offer) -> Vec<Problem> {
    let provider = &offer.provider;
    let circuits = provider.circuits();
    let mut all = Vec::new();
    for (calls, time) in [
        ("it", circuits.calls_open_for),
        ("its list", circuits.list_open_for),
        ("its search", circuits.search_open_for),
    ] {
        let Some(time) = time else { continue };
        let text = format!(
            "{calls} is not called for {} s after repeated faults",
            time.as_secs() + 1
        );
        all.push(Problem::error(
            &text,
            "see its faults and its log; it is tried again by itself",
        ));
    }
    let settings = offer.setting_problems.iter().map(ToString::to_string);
    let advice = "correct its settings in the configuration file";
    all.extend(settings.map(|text| Problem::warning(&text, advice)));
    if let Some(first) = offer.omitted.first() {
        let first = provider.grant().secrets.redact(first);
        let more = and_more(offer.omitted.len());
        let text = format!("omitted or changed in its lists: {first}{more}");
        all.push(Problem::warning(&text, "tell the author of the provider"));
    }
    all
}
