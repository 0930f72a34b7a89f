//! `larder token new`: creates a bearer token and its configuration.

use std::time::SystemTime;

use clap::{Args, Subcommand};
use serde_json::json;

use super::error::CommandError;
use super::{Outcome, out};
use larder_config as config;
use larder_mcp::auth::mint;
use larder_model::name::{Digest, TeamName};

/// The last second of the year 9999, which is the last second that RFC 3339 can represent.
const MAX_EXPIRY: u64 = 253_402_300_799;

/// Create bearer tokens for clients
#[derive(Debug, Args)]
pub(super) struct Token {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    New(New),
}

/// Create a token and print it once, with the lines for larder.toml
#[derive(Debug, Args)]
#[command(
    after_help = "Nothing is stored. Paste the lines into larder.toml, which takes effect without a restart, \
and give the token to its holder, who passes it in LARDER_TOKEN or --token-file. The server knows only the \
digest. To replace a token, add a new one with the same name, and remove the old lines when it is unused."
)]
struct New {
    /// The name of the holder, visible to providers and in logs
    #[arg(long, default_value = "token", value_parser = parse_name)]
    name: String,
    /// A team whose resources the token gives access to; can be repeated [default: the only team, or
    /// `default`]
    #[arg(long = "team", value_name = "TEAM", value_parser = parse_team)]
    teams: Vec<TeamName>,
    /// A scope that providers see; can be repeated
    #[arg(long = "scope", value_name = "SCOPE", value_parser = parse_scope)]
    scopes: Vec<String>,
    /// The time until the token expires, such as 90d
    #[arg(long, value_name = "TIME", value_parser = parse_expiry)]
    expires: Option<SystemTime>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

// This is the same validation as in the configuration.

fn parse_name(text: &str) -> Result<String, String> {
    config::validate_token_name(text).map(|()| text.to_owned())
}

fn parse_scope(text: &str) -> Result<String, String> {
    config::validate_scope(text).map(|()| text.to_owned())
}

fn parse_team(text: &str) -> Result<TeamName, String> {
    TeamName::parse(text).map_err(|bad| bad.to_string())
}

fn parse_expiry(text: &str) -> Result<SystemTime, String> {
    let time = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    if time.is_zero() {
        return Err("the time must not be zero: write a time such as 90d".into());
    }
    let at = SystemTime::now().checked_add(time);
    let at = at.filter(|at| {
        at.duration_since(SystemTime::UNIX_EPOCH)
            .is_ok_and(|at| at.as_secs() <= MAX_EXPIRY)
    });
    at.ok_or_else(|| {
        "that is after the year 9999: omit the option for a token that does not expire".into()
    })
}

impl Token {
    pub(super) fn run(self) -> Result<Outcome, CommandError> {
        let Command::New(new) = self.command;
        let token = mint()?;
        let expires = new
            .expires
            .map(|at| humantime::format_rfc3339_seconds(at).to_string());
        let json = new.json(&token, expires.as_deref());
        if new.json {
            out::json(&json)?
        } else {
            out::text(&format!(
                "{token}\n\n{}",
                new.toml(&token, expires.as_deref())
            ))?
        }
        Ok(Outcome::Success)
    }
}

impl New {
    fn json(&self, token: &str, expires: Option<&str>) -> serde_json::Value {
        // Without `--team` the key is omitted, because this command does not know the teams of the server.
        let teams: Option<Vec<_>> = Some(self.teams.iter().map(TeamName::as_str).collect())
            .filter(|teams: &Vec<_>| !teams.is_empty());
        let digest = format!("sha256:{}", Digest::of(token.as_bytes()));
        json!({
            "token": token, "name": self.name, "digest": digest, "teams": teams, "scopes": self.scopes,
            "expires": expires,
        })
    }

    /// Returns the lines for larder.toml. Strings and lists have the same syntax in JSON and TOML, but a
    /// dollar sign must be escaped, because it begins a variable.
    fn toml(&self, token: &str, expires: Option<&str>) -> String {
        let json = self.json(token, None);
        let line = |key: &&str| format!("{key} = {}\n", json[key].to_string().replace('$', "$$"));
        let keys = ["name", "digest", "teams", "scopes"];
        let keys: String = keys
            .iter()
            .filter(|key| !json[**key].is_null())
            .map(line)
            .collect();
        let expires = expires
            .map(|at| format!("expires = {at}\n"))
            .unwrap_or_default();
        format!("[[auth.tokens]]\n{keys}{expires}")
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn prints_valid_configuration() {
        let new = New {
            name: "Ann's \"$HOME\" laptop".into(),
            teams: vec![parse_team("kitchen").unwrap()],
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
        .assert_eq(&new.toml("x", Some("2027-01-31T00:00:00Z")));
        let without_teams = New {
            teams: vec![],
            ..new
        };
        assert!(!without_teams.toml("x", None).contains("teams"));
    }

    #[test]
    fn rejects_what_the_configuration_rejects() {
        for bad in ["", "a\nb", &"x".repeat(101)] {
            assert!(parse_name(bad).is_err(), "{bad:?}");
        }
        for bad in ["", "a b", "\"", "ä"] {
            assert!(parse_scope(bad).is_err(), "{bad:?}");
        }
        for bad in ["", "90", "0s", "10000y", "99999999999999y", "584554049253y"] {
            assert!(parse_expiry(bad).is_err(), "{bad:?}");
        }
        assert!(parse_name("Ann's \"$HOME\" laptop").is_ok() && parse_scope("docs:read").is_ok());
        assert!(parse_expiry("90d").is_ok() && parse_expiry("5000y").is_ok());
    }
}
