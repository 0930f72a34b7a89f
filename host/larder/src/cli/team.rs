//! The `--team` option.

use std::path::PathBuf;

use clap::Args;

use larder_config::Overrides;
use larder_model::name::TeamName;

#[derive(Debug, Args)]
pub(super) struct TeamArg {
    /// The team, if the configuration has several
    #[arg(long, value_name = "NAME", value_parser = TeamName::parse)]
    pub(super) team: Option<TeamName>,
}

impl TeamArg {
    /// Returns what this option and two others, which many commands have, change in the configuration.
    pub(super) fn overrides(&self, config: Option<PathBuf>, plugins: Option<PathBuf>) -> Overrides {
        Overrides {
            config,
            plugins,
            team: self.team.clone(),
            ..Overrides::default()
        }
    }
}
