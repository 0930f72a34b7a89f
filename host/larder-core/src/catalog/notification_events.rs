//! Notifications of clients as events for operators.

use std::sync::OnceLock;

use super::Lists;
use larder_model::name::{ProviderName, TeamName};
use larder_model::uri::Uri;
use larder_runtime::history::{Event, EventKind, EventLog};

/// Records notifications after [`Self::set_log`] was called.
#[derive(Debug, Default)]
pub(super) struct NotificationEvents(OnceLock<EventLog>);

impl NotificationEvents {
    /// Records notifications in this log from now on.
    pub(super) fn set_log(&self, log: EventLog) {
        // The log is set once, when the catalog is created.
        _ = self.0.set(log);
    }

    /// Records that this number of clients was notified of changed lists.
    pub(super) fn lists_changed(&self, team: &TeamName, lists: Lists, clients: usize) {
        let Some(log) = self.0.get().filter(|_| clients > 0) else {
            return;
        };
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
        log.record(
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
        let Some(log) = self.0.get().filter(|_| clients > 0) else {
            return;
        };
        let event = Event::new(EventKind::Notification, format!("{uri} changed")).of_team(team);
        let event = match provider() {
            Some(provider) => event.of_provider(provider),
            None => event,
        };
        log.record(event.with("clients", clients.to_string()));
    }
}
