//! Collisions between teams with common callers: resources, tools and prompts that the later team has, and that these
//! callers get from the earlier team.

use std::collections::BTreeSet;
use std::fmt;

use super::Gateway;
use crate::catalog::CoveredEntries;
use larder_model::name::{TeamName, Teams};

/// Maximum number of pairs of teams that are compared.
const MAX_PAIRS: usize = 1_000;

/// What callers of two teams get only from the earlier team.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TeamCollision {
    /// The team that takes precedence, and the later team.
    pub teams: (TeamName, TeamName),
    /// What the later team has and these callers do not get from it.
    pub covered: CoveredEntries,
}

/// The state on which collisions depend. If the state is the same, the collisions are the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CatalogVersions {
    callers: Vec<Teams>,
    published: Vec<(TeamName, u64)>,
}

impl Gateway {
    /// Returns the state on which the collisions between teams now depend.
    pub fn catalog_versions(&self) -> CatalogVersions {
        let state = self.state.load();
        let teams = state
            .teams
            .iter()
            .map(|(name, team)| (name.clone(), *team.reader.published().borrow()));
        CatalogVersions {
            callers: state.config.shared_teams.clone(),
            published: teams.collect(),
        }
    }

    /// Compares the catalogs of teams with common callers. This can take long.
    pub fn team_collisions(&self) -> Vec<TeamCollision> {
        let state = self.state.load_full();
        let compare = |(earlier, later): (TeamName, TeamName)| {
            let [first, second] = [&earlier, &later].map(|name| state.teams.get(name));
            let covered = second?
                .reader
                .snapshot()
                .covered_by(&first?.reader.snapshot())?;
            Some(TeamCollision {
                teams: (earlier, later),
                covered,
            })
        };
        pairs(&state.config.shared_teams)
            .into_iter()
            .take(MAX_PAIRS)
            .filter_map(compare)
            .collect()
    }
}

/// Returns each pair of teams that a caller has in this order.
fn pairs(callers: &[Teams]) -> BTreeSet<(TeamName, TeamName)> {
    let mut pairs = BTreeSet::new();
    for teams in callers {
        for (at, later) in teams.iter().enumerate() {
            pairs.extend(
                teams
                    .iter()
                    .take(at)
                    .map(|earlier| (earlier.clone(), later.clone())),
            );
        }
    }
    pairs
}

impl fmt::Display for TeamCollision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            teams: (earlier, later),
            covered:
                CoveredEntries {
                    provider,
                    example,
                    count,
                },
        } = self;
        write!(f, "`{example}` of `{later}/{provider}`")?;
        if *count > 1 {
            write!(f, " and at least {} more of the team", count - 1)?;
        }
        write!(
            f,
            ": callers of `{earlier}` and `{later}` do not see it, because `{earlier}` covers it and is their first team"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_have_the_order_of_each_caller() {
        let teams = |names: &str| {
            Teams::of(names.split(' ').map(|name| TeamName::parse(name).unwrap())).unwrap()
        };
        let pairs = pairs(&[teams("a"), teams("b a"), teams("a b c"), teams("b a")]);
        let shown: Vec<_> = pairs
            .iter()
            .map(|(earlier, later)| format!("{earlier}{later}"))
            .collect();
        assert_eq!(shown, ["ab", "ac", "ba", "bc"]);
    }
}
