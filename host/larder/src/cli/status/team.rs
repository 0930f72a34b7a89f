//! The lines about a team and its providers.

use std::collections::BTreeMap;

use super::{count, line};
use larder_admin::{
    DeniedRequest, IndexStatus, LastError, PendingApproval, Provider, RejectedComponent,
    SkillStatus, StoredValues, Team,
};
use larder_model::name::TeamName;
use larder_model::size;

pub(super) fn lines(team: &Team) -> Vec<String> {
    let mut lines = vec![heading(team)];
    let names = team.providers.iter().map(|provider| provider.name.len());
    let width = names.max().unwrap_or(0);
    lines.extend(team.providers.iter().flat_map(|one| provider(one, width)));
    lines.extend(team.rejected.iter().map(rejected));
    if team.more_rejected > 0 {
        let count = team.more_rejected;
        lines.push(format!("  and {count} more rejected components"));
    }
    let pending = team.pending_approval.iter();
    lines.extend(pending.map(|pending| pending_approval(pending, &team.team)));
    lines.extend(team.denied_requests.iter().map(denied_request));
    lines.extend(each("  collision", &team.collisions));
    lines.extend(team.stored.iter().map(stored));
    if lines.len() == 1 {
        lines.push("  no components yet".into());
    }
    lines
}

/// Returns a line for each of these texts.
fn each(what: &str, texts: &[String]) -> impl Iterator<Item = String> {
    texts
        .iter()
        .map(move |text| format!("{what}: {}", line(text)))
}

fn heading(team: &Team) -> String {
    let named = if team.state_key.starts_with("name:") {
        format!(", state {}", team.state_key)
    } else {
        String::new()
    };
    line(&format!("team {} in {}{named}", team.team, team.plugins))
}

fn provider(provider: &Provider, width: usize) -> Vec<String> {
    let mut lines = vec![summary(provider, width)];
    lines.extend(grants(provider));
    lines.extend(open_circuits(provider));
    lines.extend(provider.index.as_ref().map(index));
    lines.extend(provider.skills.iter().flat_map(skills));
    lines.extend(provider.last_error.as_ref().map(last_error));
    lines.extend(each("    omitted", &provider.omitted));
    lines.extend(each("    problem", &provider.setting_problems));
    lines
}

fn last_error(error: &LastError) -> String {
    let message = line(&error.message);
    format!(
        "    last error, {}: {} of a {}: {message}",
        error.at, error.outcome, error.operation
    )
}

fn summary(provider: &Provider, width: usize) -> String {
    let mut contents = vec![
        count(provider.resources, provider.has_more, "resource"),
        count(provider.templates, false, "template"),
    ];
    for (number, what) in [(provider.tools, "tool"), (provider.prompts, "prompt")] {
        if number > 0 {
            contents.push(count(number, false, what));
        }
    }
    line(&format!(
        "  {:width$}  {}  since {}  {}; calls: {}",
        provider.name,
        short(&provider.digest),
        provider.since,
        contents.join(", "),
        calls(&provider.calls)
    ))
}

fn short(digest: &str) -> &str {
    digest.get(..12).unwrap_or(digest)
}

fn open_circuits(provider: &Provider) -> impl Iterator<Item = String> {
    let circuits = [
        ("circuit open: calls", provider.circuit_open_ms),
        (
            "missing in lists: calls for its list",
            provider.list_circuit_open_ms,
        ),
        (
            "missing in searches: calls for its search",
            provider.search_circuit_open_ms,
        ),
    ];
    circuits.into_iter().filter_map(|(what, time)| {
        let time = time?;
        Some(format!("    {what} only faulted; retry in {time} ms"))
    })
}

/// Returns one line with the part of a provider in the full-text index.
fn index(index: &IndexStatus) -> String {
    let pending = if index.pending > 0 {
        format!("; {} to read", index.pending)
    } else {
        String::new()
    };
    let error = index.error.as_ref();
    let error = error.map(|error| format!("; not complete: {error}"));
    line(&format!(
        "    full-text index: {}, {} (limit of the team: {}){pending}{}",
        count(index.documents as usize, false, "resource"),
        size::show(index.bytes),
        size::show(index.max_bytes),
        error.unwrap_or_default()
    ))
}

/// Returns a line with the skills of a provider, and a line for each folder that is not a skill.
fn skills(skills: &SkillStatus) -> Vec<String> {
    let summary = format!(
        "    skills: {}, {}",
        count(skills.skills, false, "skill"),
        size::show(skills.bytes)
    );
    let problems = each("    problem", &skills.problems);
    std::iter::once(summary).chain(problems).collect()
}

/// Returns one line with the grants of a provider. None if the provider has no grants.
fn grants(provider: &Provider) -> Option<String> {
    let grants = &provider.grants;
    let kinds = [
        ("folders", &grants.dirs),
        ("http", &grants.hosts),
        ("tcp", &grants.tcp),
        ("key-value", &grants.key_value),
        ("apps", &grants.apps),
        ("variables", &grants.env),
        ("secrets", &grants.secrets),
    ];
    let granted = kinds.into_iter().filter(|(_, names)| !names.is_empty());
    let granted: Vec<_> = granted
        .map(|(kind, names)| format!("{kind} {}", line(&names.join(", "))))
        .collect();
    (!granted.is_empty()).then(|| format!("    grants: {}", granted.join("; ")))
}

fn calls(calls: &BTreeMap<String, u64>) -> String {
    let all = calls.iter().map(|(word, count)| format!("{count} {word}"));
    let all = all.collect::<Vec<_>>().join(", ");
    if all.is_empty() { "none".into() } else { all }
}

fn rejected(rejected: &RejectedComponent) -> String {
    format!(
        "  rejected: {}: {} (since {})",
        line(&rejected.file),
        line(&rejected.reason),
        rejected.since
    )
}

fn pending_approval(pending: &PendingApproval, team: &str) -> String {
    let provider = &pending.provider;
    // Several teams may have a provider of this name.
    let option = if team == TeamName::default_team().as_str() {
        String::new()
    } else {
        format!(" --team {team}")
    };
    format!(
        "  pending approval: {provider} {} requests `{}` (since {}); \
         run `larder approve {provider}{option}`",
        short(&pending.digest),
        line(&pending.requested.join("`, `")),
        pending.since
    )
}

fn denied_request(denied: &DeniedRequest) -> String {
    format!(
        "  refused: {} requests `{}`, beyond the ceiling of the team",
        line(&denied.provider),
        line(&denied.lines.join("`, `"))
    )
}

fn stored(values: &StoredValues) -> String {
    format!(
        "  stored by {}: {}, {}, {}",
        line(&values.provider),
        count(values.keys as usize, false, "value"),
        size::show(values.bytes),
        count(values.callers as usize, false, "caller")
    )
}
