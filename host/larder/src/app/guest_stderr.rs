//! What guests that misbehaved wrote to stderr, for commands that run providers in their own process.

use super::App;
use larder_core::catalog::Reader;

impl App {
    /// Returns the providers of which a guest misbehaved since the last time, with the end of what the last such
    /// guest wrote to stderr.
    pub fn take_guest_stderr(&self) -> Vec<(String, String)> {
        let snapshots = self.catalogs.iter().map(Reader::snapshot);
        let each = snapshots.flat_map(|catalog| {
            let offers = catalog.offers().iter();
            offers
                .map(|offer| (offer.name().to_string(), offer.provider.take_last_stderr()))
                .collect::<Vec<_>>()
        });
        each.filter(|(_, stderr)| !stderr.is_empty()).collect()
    }

    /// Takes the end of what a guest wrote to stderr that misbehaved, in a server with a single component.
    pub(crate) fn take_last_stderr(&self) -> String {
        self.take_guest_stderr().into_iter().map(|(_, stderr)| stderr).next().unwrap_or_default()
    }
}
