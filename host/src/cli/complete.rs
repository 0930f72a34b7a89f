//! `larder complete`: the values that a variable of a template may take.

use clap::Args;

use super::failure::Failure;
use super::reach::Reach;
use super::team::OfTeam;
use super::{Answer, clean, out};

/// Asks for values of a template's variable
#[derive(Debug, Args)]
pub(super) struct Complete {
    /// The template, as `larder templates` shows it
    template: String,
    /// The variable
    variable: String,
    /// What has been typed so far
    #[arg(default_value = "")]
    prefix: String,
    /// A variable that is already filled in
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair)]
    with: Vec<(String, String)>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    team: OfTeam,
    #[command(flatten)]
    reach: Reach,
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.into(), value.into())),
        _ => Err("write a name, `=` and a value".into()),
    }
}

impl Complete {
    pub(super) async fn run(self) -> Result<Answer, Failure> {
        let mut reached = self.reach.of_team(self.team).connect().await?;
        let completion =
            reached.client.complete(&self.template, &self.variable, &self.prefix, &self.with).await;
        reached.end().await;
        let completion = completion?;
        if self.json {
            out::json(&completion)?;
            return Ok(Answer::Yes);
        }
        let terminal = out::is_terminal();
        let show = |value: &String| if terminal { clean::line(value).into_owned() } else { value.clone() };
        out::text(&completion.values.iter().map(|value| show(value) + "\n").collect::<String>())?;
        if completion.has_more {
            let total = completion.total.map(|total| format!(" of {total}")).unwrap_or_default();
            out::note(&format!(
                "the first {}{total}: type more of it to see others",
                completion.values.len()
            ));
        }
        Ok(Answer::Yes)
    }
}
