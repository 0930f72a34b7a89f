//! The `--team` option.

use clap::Args;

use larder_model::name::TeamName;

#[derive(Debug, Args)]
pub(super) struct TeamArg {
    /// The team, if the configuration has several
    #[arg(long, value_name = "NAME", value_parser = TeamName::parse)]
    pub(super) team: Option<TeamName>,
}
