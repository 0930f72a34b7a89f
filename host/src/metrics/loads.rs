//! What is counted of one team's folder: looks at it, and loads of what is in it.

use std::sync::Arc;

use super::number::{Count, Times};
use super::text::{Kind, Text};
use crate::name::TeamName;

/// How a component's load ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Load {
    /// A new revision is served.
    Served,
    /// It turned out to be known.
    Same,
    /// It was rejected.
    Rejected,
    /// It waits for its operator.
    HeldBack,
}

impl Load {
    const ALL: [Self; 4] = [Self::Served, Self::Same, Self::Rejected, Self::HeldBack];

    fn word(self) -> &'static str {
        match self {
            Self::Served => "served",
            Self::Same => "same",
            Self::Rejected => "rejected",
            Self::HeldBack => "held-back",
        }
    }
}

/// What is counted of one team's folder.
#[derive(Debug, Default)]
pub struct Loads {
    ended: [Count; Load::ALL.len()],
    /// How long loads take.
    pub times: Times,
    /// Looks at the folder.
    pub rounds: Count,
}

impl Loads {
    /// A load ended.
    pub fn ended(&self, load: Load) {
        self.ended[load as usize].one();
    }
}

pub(super) fn show(text: &mut Text, teams: &[(TeamName, Arc<Loads>)]) {
    let name = "larder_loads_total";
    text.family(name, Kind::Counter, "Components that were loaded or tried, by what came of it.");
    for (team, loads) in teams {
        for load in Load::ALL {
            let labels = [("team", team.as_str()), ("outcome", load.word())];
            text.sample(name, &labels, loads.ended[load as usize].get());
        }
    }
    let name = "larder_load_seconds";
    text.family(name, Kind::Histogram, "Time that a load takes: reading, compiling, probing.");
    for (team, loads) in teams {
        text.times(name, &[("team", team.as_str())], &loads.times);
    }
    let name = "larder_rounds_total";
    text.family(name, Kind::Counter, "Looks at a plugins folder.");
    for (team, loads) in teams {
        text.sample(name, &[("team", team.as_str())], loads.rounds.get());
    }
}
