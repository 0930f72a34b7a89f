//! Notifications of clients as events for operators.

use super::Lists;
use larder_model::name::{ProviderName, TeamName};
use larder_model::uri::Uri;
use larder_runtime::history::{Event, EventKind, EventLog};

/// Records notifications in this log.
#[derive(Debug)]
pub(super) struct NotificationEvents(pub(super) EventLog);

impl NotificationEvents {
    /// Records that this number of clients was notified of changed lists.
    pub(super) fn lists_changed(&self, team: &TeamName, lists: Lists, clients: usize) {
        if clients == 0 {
            return;
        }
        let names = [
            (lists.resources, "resources"),
            (lists.tools, "tools"),
            (lists.prompts, "prompts"),
        ];
        let changed: Vec<_> = names
            .into_iter()
            .filter_map(|(changed, name)| changed.then_some(name))
            .collect();
        let text = format!("lists changed: {}", changed.join(", "));
        self.0.record(
            Event::new(EventKind::Notification, text)
                .of_team(team)
                .with("clients", clients.to_string()),
        );
    }

    /// Records that this number of clients was notified of a changed resource.
    pub(super) fn updated(
        &self,
        team: &TeamName,
        uri: &Uri,
        provider: impl FnOnce() -> Option<ProviderName>,
        clients: usize,
    ) {
        if clients == 0 {
            return;
        }
        let event = Event::new(EventKind::Notification, format!("{uri} changed")).of_team(team);
        let event = match provider() {
            Some(provider) => event.of_provider(provider),
            None => event,
        };
        self.0.record(event.with("clients", clients.to_string()));
    }
}
