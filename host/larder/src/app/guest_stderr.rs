//! For commands that run providers in their own process: the stderr of guests that misbehaved in their last calls, and
//! what the host omitted from the responses of guests.

use super::App;

impl App {
    /// Returns the providers whose guests have misbehaved since the last call of this method, each with the end of the
    /// stderr of the last such guest.
    pub fn take_guest_stderr(&self) -> Vec<(String, String)> {
        let offers = self.offers().into_iter();
        let each =
            offers.map(|offer| (offer.name().to_string(), offer.provider.take_last_stderr()));
        each.filter(|(_, stderr)| !stderr.is_empty()).collect()
    }

    /// Takes the end of the stderr of a guest that misbehaved, in a server with a single component.
    pub(crate) fn take_last_stderr(&self) -> String {
        self.take_guest_stderr()
            .into_iter()
            .map(|(_, stderr)| stderr)
            .next()
            .unwrap_or_default()
    }

    /// Takes what was last omitted or changed in a response, in a server with a single component.
    pub(crate) fn take_last_notes(&self) -> Vec<String> {
        let offers = self.offers().into_iter();
        offers
            .flat_map(|offer| offer.provider.take_last_notes())
            .collect()
    }
}
