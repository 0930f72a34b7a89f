//! Reports collisions between teams with common callers to operators: in the status, on the page and in the log. A
//! collision is a notice and not a problem: the operator configured the order of the teams, and this order decides
//! which team's resource is served.

use std::time::Duration;

use larder_core::gateway::{Gateway, TeamCollision};
use larder_runtime::drain::Drain;
use larder_runtime::health::{Health, Impact};
use larder_runtime::log_limit::shorten;

/// How often it is checked whether a catalog changed.
const INTERVAL: Duration = Duration::from_secs(5);
/// Maximum number of collisions that are shown.
const MAX_SHOWN: usize = 20;
/// The part of the server that the notice is about.
const PART: &str = "teams of callers";

/// Reports collisions until the drain stops.
pub(super) async fn report(gateway: Gateway, health: Health, drain: Drain) {
    let mut compared = None;
    let mut known = Vec::<TeamCollision>::new();
    while drain
        .run_until_stopping(tokio::time::sleep(INTERVAL))
        .await
        .is_some()
    {
        let versions = gateway.catalog_versions();
        if compared.as_ref() == Some(&versions) {
            continue;
        }
        let catalogs = gateway.clone();
        let Ok(collisions) = drain
            .spawn_blocking(move || catalogs.team_collisions())
            .await
        else {
            return;
        };
        let is_new = |found: &&TeamCollision| !known.iter().any(|other| other.teams == found.teams);
        for collision in collisions.iter().filter(is_new).take(MAX_SHOWN) {
            tracing::warn!("{collision}");
        }
        if collisions.is_empty() {
            health.resolve(PART)
        } else {
            let shown = shorten(collisions.iter(), MAX_SHOWN, "pairs of teams");
            health.report(PART, shown.join("; "), Impact::Notice);
        }
        compared = Some(versions);
        known = collisions;
    }
}
