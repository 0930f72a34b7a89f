//! Which team is meant, where the configuration has several.

use clap::Args;

use crate::name::TeamName;

/// One team of the configuration.
#[derive(Debug, Args)]
pub(super) struct OfTeam {
    /// The team, where the configuration has several
    #[arg(long, value_name = "NAME", value_parser = TeamName::parse)]
    pub(super) team: Option<TeamName>,
}
