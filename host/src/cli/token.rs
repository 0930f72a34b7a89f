//! `larder token new`: makes a bearer token, and the lines by which a server knows it.

use std::time::SystemTime;

use clap::{Args, Subcommand};
use serde_json::json;

use super::failure::Failure;
use super::{Answer, out};
use crate::config;
use crate::endpoint::auth::mint;
use crate::name::{Digest, TeamName};

/// The last second that has a date.
const LAST: u64 = 253_402_300_799;

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
    #[arg(long, default_value = "token", value_parser = name)]
    name: String,
    /// A team whose resources it shows; may be repeated [default: the only team, or `default`]
    #[arg(long = "team", value_name = "TEAM", value_parser = team)]
    teams: Vec<TeamName>,
    /// What providers are told that its holder may do; may be repeated
    #[arg(long = "scope", value_name = "SCOPE", value_parser = scope)]
    scopes: Vec<String>,
    /// In what time it ends, such as 90d
    #[arg(long, value_name = "TIME", value_parser = expires)]
    expires: Option<SystemTime>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

// What the configuration would refuse is refused here.

fn name(text: &str) -> Result<String, String> {
    config::token_name(text).map(|()| text.to_owned())
}

fn scope(text: &str) -> Result<String, String> {
    config::scope(text).map(|()| text.to_owned())
}

fn team(text: &str) -> Result<TeamName, String> {
    TeamName::parse(text).map_err(|bad| bad.to_string())
}

fn expires(text: &str) -> Result<SystemTime, String> {
    let time = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    if time.is_zero() {
        return Err("it would have ended already: write a time such as 90d".into());
    }
    let at = SystemTime::now().checked_add(time);
    let at = at.filter(|at| at.duration_since(SystemTime::UNIX_EPOCH).is_ok_and(|at| at.as_secs() <= LAST));
    at.ok_or_else(|| "that is after the year 9999: leave it out for a token that does not end".into())
}

impl Token {
    pub(super) fn run(self) -> Result<Answer, Failure> {
        let Command::New(new) = self.command;
        let token = mint()?;
        let expires = new.expires.map(|at| humantime::format_rfc3339_seconds(at).to_string());
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
        // Whether there is a team `default` is not known here: unless it is said, the file decides.
        let teams: Option<Vec<_>> = Some(self.teams.iter().map(TeamName::as_str).collect())
            .filter(|teams: &Vec<_>| !teams.is_empty());
        let digest = format!("sha256:{}", Digest::of(token.as_bytes()));
        json!({
            "token": token, "name": self.name, "digest": digest, "teams": teams, "scopes": self.scopes,
            "expires": expires,
        })
    }

    /// JSON's texts and lists are TOML's as well, but for a dollar sign, which would begin a variable.
    fn lines(&self, token: &str, expires: Option<&str>) -> String {
        let shown = self.show(token, None);
        let line = |key: &&str| format!("{key} = {}\n", shown[key].to_string().replace('$', "$$"));
        let keys = ["name", "digest", "teams", "scopes"];
        let keys: String = keys.iter().filter(|key| !shown[**key].is_null()).map(line).collect();
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
            teams: vec![team("kitchen").unwrap()],
            scopes: vec!["docs:read".into()],
            expires: None,
            json: false,
        };
        expect![[r#"
            [[auth.tokens]]
            name = "Ann's \"$$HOME\" laptop"
            digest = "sha256:2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"
            teams = ["kitchen"]
            scopes = ["docs:read"]
            expires = 2027-01-31T00:00:00Z
        "#]]
        .assert_eq(&new.lines("x", Some("2027-01-31T00:00:00Z")));
        let of_the_usual = New { teams: vec![], ..new };
        assert!(!of_the_usual.lines("x", None).contains("teams"));
    }

    #[test]
    fn what_the_file_would_refuse_is_refused() {
        for bad in ["", "a\nb", &"x".repeat(101)] {
            assert!(name(bad).is_err(), "{bad:?}");
        }
        for bad in ["", "a b", "\"", "ä"] {
            assert!(scope(bad).is_err(), "{bad:?}");
        }
        for bad in ["", "90", "0s", "10000y", "99999999999999y", "584554049253y"] {
            assert!(expires(bad).is_err(), "{bad:?}");
        }
        assert!(name("Ann's \"$HOME\" laptop").is_ok() && scope("docs:read").is_ok());
        assert!(expires("90d").is_ok() && expires("5000y").is_ok());
    }
}
