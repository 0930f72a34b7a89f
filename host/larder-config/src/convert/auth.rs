//! Converts `[auth]`: static tokens and the OAuth issuer.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Range;
use std::time::{Duration, SystemTime};

use toml::Spanned;

use super::Conversion;
use crate::file;
use crate::value::{HumanDuration, Timestamp, is_scope};
use larder_mcp::auth::{Algorithm, Audience, Config, Membership, Oauth, SecureUrl, Token};
use larder_model::name::{Digest, Teams};
use larder_model::resource::Caller;

/// The default leeway for clock differences.
const DEFAULT_LEEWAY: Duration = Duration::from_secs(60);
/// The maximum leeway for clock differences. A longer leeway would extend the lifetime of tokens.
const MAX_LEEWAY: Duration = Duration::from_secs(300);
/// The default refresh interval.
const DEFAULT_REFRESH: Duration = Duration::from_secs(300);
/// The maximum refresh interval. Keys expire after an hour if their issuer does not answer, so one failed
/// fetch must leave time for another.
const MAX_REFRESH: Duration = Duration::from_secs(1800);
/// The minimum time between two fetches. It is short enough to find a new key soon, and long enough not to
/// burden the issuer.
const KEY_FETCH_PAUSE: Duration = Duration::from_secs(10);
/// The maximum length of a token name.
const MAX_NAME_LENGTH: usize = 100;
/// The warning about a token that is not valid any more.
const EXPIRED: &str =
    "the token has expired: remove it, or replace it with a new one (`larder token new`)";

/// Checks the name of a token.
pub fn validate_token_name(name: &str) -> Result<(), String> {
    if name.is_empty() || name.len() > MAX_NAME_LENGTH || name.chars().any(char::is_control) {
        return Err(format!(
            "is not a name: write 1 to {MAX_NAME_LENGTH} characters that identify the token holder"
        ));
    }
    Ok(())
}

/// Checks an OAuth scope.
pub fn validate_scope(scope: &str) -> Result<(), String> {
    if is_scope(scope) {
        Ok(())
    } else {
        Err("is not a scope: write one word without quotes".into())
    }
}

/// Returns the teams of all callers who have several teams.
pub(super) fn shared_teams(config: &Config, others: [&Teams; 2]) -> Vec<Teams> {
    let of_tokens = config.tokens.iter().map(|token| token.caller.teams.clone());
    let of_issuer = config.oauth.iter().filter_map(teams_of_issuer);
    let all = of_tokens
        .chain(of_issuer)
        .chain(others.into_iter().cloned());
    let mut seen = HashSet::new();
    all.filter(|teams| teams.iter().nth(1).is_some() && seen.insert(teams.clone()))
        .collect()
}

fn teams_of_issuer(oauth: &Oauth) -> Option<Teams> {
    match &oauth.membership {
        Membership::All(teams) => Some(teams.clone()),
        // A caller may have any of these teams.
        Membership::Claim { teams, .. } => Teams::of(teams.iter().map(|(_, team)| team.clone())),
    }
}

impl Conversion<'_> {
    pub(super) fn auth(&mut self, raw: file::Auth) -> Config {
        Config {
            tokens: self.tokens(raw.tokens),
            oauth: raw.oauth.and_then(|oauth| self.oauth(oauth)),
        }
    }

    fn tokens(&mut self, raw: Vec<file::Token>) -> Vec<Token> {
        let mut seen = HashSet::new();
        raw.into_iter()
            .filter_map(|token| self.token(token, &mut seen))
            .collect()
    }

    fn token(&mut self, raw: file::Token, seen: &mut HashSet<Digest>) -> Option<Token> {
        let name = raw.name.get_ref();
        self.ok_or_report(&raw.name.span(), validate_token_name(name));
        let digest = self.parse_value(&raw.digest, Digest::parse)?;
        if !seen.insert(digest) {
            self.error(
                &raw.digest.span(),
                "duplicate token: give each holder a different one",
            );
        }
        let teams = self.token_teams(&raw);
        let scopes = self.scopes(&raw.scopes);
        let expires = raw.expires.map(|expires| self.token_expiry(&expires));
        let caller = Caller {
            subject: Some(name.clone()),
            issuer: None,
            teams: teams?,
            scopes,
        };
        Some(Token {
            digest,
            caller,
            expires,
        })
    }

    fn token_teams(&mut self, raw: &file::Token) -> Option<Teams> {
        match &raw.teams {
            None => self.implied_teams_at(&raw.name.span()),
            Some(teams) => self.known_teams(teams),
        }
    }

    fn token_expiry(&mut self, raw: &Spanned<Timestamp>) -> SystemTime {
        let expires = raw.get_ref().0;
        if expires <= SystemTime::now() {
            self.warn(&raw.span(), EXPIRED);
        }
        expires
    }

    fn oauth(&mut self, raw: file::Oauth) -> Option<Oauth> {
        let issuer = self.parse_value(&raw.issuer, SecureUrl::parse);
        let audience = self.parse_value(&raw.audience, Audience::parse);
        let jwks = raw
            .jwks
            .as_ref()
            .map(|jwks| self.parse_value(jwks, SecureUrl::parse));
        let algorithms = self.algorithms(raw.algorithms);
        let membership = self.membership(&raw.issuer.span(), raw.team_claim, raw.teams);
        let scopes = self.scopes(&raw.scopes);
        let too_long = "is too long for clock differences: the maximum is \"5m\"";
        let leeway = self.time_up_to(raw.leeway, MAX_LEEWAY, too_long);
        let too_long = "is too long, since keys expire after an hour: the maximum is \"30m\"";
        let refresh = self.time_up_to(raw.refresh, MAX_REFRESH, too_long);
        Some(Oauth {
            issuer: issuer?,
            audience: audience?,
            jwks: match jwks {
                Some(jwks) => Some(jwks?),
                None => None,
            },
            algorithms,
            membership: membership?,
            scopes,
            leeway: leeway.unwrap_or(DEFAULT_LEEWAY),
            refresh: refresh.unwrap_or(DEFAULT_REFRESH),
            min_fetch_interval: KEY_FETCH_PAUSE,
        })
    }

    fn time_up_to(
        &mut self,
        raw: Option<Spanned<HumanDuration>>,
        max: Duration,
        too_long: &str,
    ) -> Option<Duration> {
        let raw = raw?;
        let time = raw.get_ref().0;
        if time > max {
            self.error(&raw.span(), too_long);
        }
        Some(time)
    }

    fn algorithms(&mut self, raw: Option<Spanned<Vec<Spanned<String>>>>) -> Vec<Algorithm> {
        let Some(raw) = raw else {
            return Algorithm::DEFAULT.into();
        };
        if raw.get_ref().is_empty() {
            self.error(
                &raw.span(),
                "is empty, so no token would be valid: list some, or remove the key",
            );
        }
        raw.get_ref()
            .iter()
            .filter_map(|name| self.parse_value(name, Algorithm::parse))
            .collect()
    }

    fn membership(
        &mut self,
        at: &Range<usize>,
        claim: Option<Spanned<String>>,
        raw: BTreeMap<String, Spanned<String>>,
    ) -> Option<Membership> {
        let mut raw: Vec<_> = raw.into_iter().collect();
        // The order in the file decides, not the order of the values.
        raw.sort_by_key(|(_, name)| name.span().start);
        let mut teams = Vec::new();
        for (value, name) in raw {
            teams.push((value, self.known_team(&name)?));
        }
        if let Some(order) = &self.team_order {
            teams.sort_by_key(|(_, team)| order.position(team));
        }
        match claim {
            Some(claim) if teams.is_empty() => {
                let message = "no value of this claim is mapped to a team: add a mapping, such as `teams = { staff = \"default\" }`";
                self.error(&claim.span(), message);
                None
            }
            Some(claim) => Some(Membership::Claim {
                claim: claim.into_inner(),
                teams,
            }),
            // Without a claim, all tokens of the issuer belong to the same teams.
            None if teams.is_empty() => self.implied_teams_at(at).map(Membership::All),
            None => {
                self.error_for_key(
                    "auth.oauth.teams",
                    "maps the values of a claim: name the claim with `team_claim`".into(),
                );
                None
            }
        }
    }

    fn implied_teams_at(&mut self, at: &Range<usize>) -> Option<Teams> {
        let teams = self.implied_teams();
        if teams.is_none() {
            self.error(
                at,
                "there are several teams: specify with `teams` to which of them this belongs",
            );
        }
        teams
    }

    fn scopes(&mut self, raw: &[Spanned<String>]) -> Vec<String> {
        for scope in raw {
            self.ok_or_report(&scope.span(), validate_scope(scope.get_ref()));
        }
        let scopes: BTreeSet<_> = raw.iter().map(Spanned::get_ref).collect();
        scopes.into_iter().cloned().collect()
    }

    pub(super) fn parse_value<T, E: std::fmt::Display>(
        &mut self,
        raw: &Spanned<String>,
        parse: impl Fn(&str) -> Result<T, E>,
    ) -> Option<T> {
        self.ok_or_report(&raw.span(), parse(raw.get_ref()))
    }
}
