//! `larder token new`: makes a bearer token, and the lines by which a server knows it.

use std::time::{Duration, SystemTime};

use clap::{Args, Subcommand};
use serde_json::json;

use super::failure::Failure;
use super::{Answer, out};
use crate::endpoint::auth::mint;
use crate::name::{Digest, TeamName};

/// Makes bearer tokens for those who may ask
#[derive(Debug, Args)]
pub(super) struct Token {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    New(New),
}

/// Makes a token, shows it once, and shows the lines for larder.toml
#[derive(Debug, Args)]
#[command(
    after_help = "Nothing is written anywhere: paste the lines into larder.toml, which takes effect without a \
restart, and give the token to its holder, for LARDER_TOKEN or --token-file. The server keeps the digest only. \
To replace a token, add another one under the same name, and take the old lines out once nobody uses it."
)]
struct New {
    /// Who will have it; providers and logs see this name
    #[arg(long, default_value = "token")]
    name: String,
    /// A team whose resources it shows; may be repeated
    #[arg(long = "team", value_name = "TEAM", default_value = "default", value_parser = team)]
    teams: Vec<TeamName>,
    /// What providers are told that its holder may do; may be repeated
    #[arg(long = "scope", value_name = "SCOPE")]
    scopes: Vec<String>,
    /// In what time it ends, such as 90d
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    expires: Option<Duration>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

fn team(text: &str) -> Result<TeamName, String> {
    TeamName::parse(text).map_err(|bad| bad.to_string())
}

impl Token {
    pub(super) fn run(self) -> Result<Answer, Failure> {
        let Command::New(new) = self.command;
        let token = mint()?;
        let expires = new.expires.and_then(|time| SystemTime::now().checked_add(time));
        let expires = expires.map(|at| humantime::format_rfc3339_seconds(at).to_string());
        let shown = new.show(&token, expires.as_deref());
        match new.json {
            true => out::json(&shown)?,
            false => out::text(&format!("{token}\n\n{}", new.lines(&token, expires.as_deref())))?,
        }
        Ok(Answer::Yes)
    }
}

impl New {
    fn show(&self, token: &str, expires: Option<&str>) -> serde_json::Value {
        let teams: Vec<_> = self.teams.iter().map(TeamName::as_str).collect();
        let digest = format!("sha256:{}", Digest::of(token.as_bytes()));
        json!({
            "token": token, "name": self.name, "digest": digest, "teams": teams, "scopes": self.scopes,
            "expires": expires,
        })
    }

    /// JSON's texts and lists are TOML's as well, but for a dollar sign, which would begin a variable.
    fn lines(&self, token: &str, expires: Option<&str>) -> String {
        let shown = self.show(token, None);
        let line = |key: &str| format!("{key} = {}\n", shown[key].to_string().replace('$', "$$"));
        let keys = ["name", "digest", "teams", "scopes"].map(line).concat();
        let expires = expires.map(|at| format!("expires = {at}\n")).unwrap_or_default();
        format!("[[auth.tokens]]\n{keys}{expires}")
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn the_lines_are_what_the_file_wants() {
        let new = New {
            name: "Ann's \"$HOME\" laptop".into(),
            teams: vec![TeamName::sole()],
            scopes: vec!["docs:read".into()],
            expires: None,
            json: false,
        };
        expect![[r#"
            [[auth.tokens]]
            name = "Ann's \"$$HOME\" laptop"
            digest = "sha256:2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"
            teams = ["default"]
            scopes = ["docs:read"]
            expires = 2027-01-31T00:00:00Z
        "#]]
        .assert_eq(&new.lines("x", Some("2027-01-31T00:00:00Z")));
    }
}
