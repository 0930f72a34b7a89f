//! `larder complete`: values for a template variable.

use clap::Args;
use clap_complete::ArgValueCompleter;

use super::connection::ConnectionArgs;
use super::error::CommandError;
use super::team::TeamArg;
use super::{Outcome, completions, name_value, out, sanitize};

/// Complete a template variable
#[derive(Debug, Args)]
pub(super) struct Complete {
    /// The template, as printed by `larder templates`
    #[arg(add = ArgValueCompleter::new(completions::templates))]
    template: String,
    /// The name of the variable
    variable: String,
    /// The beginning of the value
    #[arg(default_value = "")]
    prefix: String,
    /// The value of another variable of the template; can be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = name_value::parse)]
    with: Vec<(String, String)>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    team: TeamArg,
    #[command(flatten)]
    connection: ConnectionArgs,
}

impl Complete {
    pub(super) async fn run(self) -> Result<Outcome, CommandError> {
        let mut connection = self.connection.with_team(self.team).connect().await?;
        let completion = connection
            .client
            .complete(&self.template, &self.variable, &self.prefix, &self.with)
            .await;
        connection.end().await;
        let completion = completion?;
        if self.json {
            out::json(&completion)?;
            return Ok(Outcome::Success);
        }
        let terminal = out::is_terminal();
        let show = |value: &String| {
            if terminal {
                sanitize::line(value).into_owned()
            } else {
                value.clone()
            }
        };
        out::text(
            &completion
                .values
                .iter()
                .map(|value| show(value) + "\n")
                .collect::<String>(),
        )?;
        if completion.has_more {
            let total = completion
                .total
                .map(|total| format!(" of {total}"))
                .unwrap_or_default();
            out::note(&format!(
                "these are the first {}{total}; give a longer prefix to see others",
                completion.values.len()
            ));
        }
        Ok(Outcome::Success)
    }
}
