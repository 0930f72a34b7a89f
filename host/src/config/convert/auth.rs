//! Who may ask: tokens by their digests, and an issuer of others.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;
use std::time::Duration;

use toml::Spanned;

use super::Conversion;
use crate::config::file;
use crate::endpoint::auth::{Algorithm, Audience, Config, Membership, Oauth, SecureUrl, Token};
use crate::name::{Digest, Teams};
use crate::resource::Caller;

/// More than clocks differ by; a longer one would make tokens last longer than their issuer says.
const LEEWAY: Duration = Duration::from_secs(300);
/// Keys are used for an hour where their issuer does not answer: one fetch that fails must not be the end.
const REFRESH: Duration = Duration::from_secs(1800);
/// Often enough for a key that was just made, and seldom enough for any issuer.
const PAUSE: Duration = Duration::from_secs(10);
/// The longest name of a token.
const NAME: usize = 100;

/// Whether this can be the name of a token, and what is wrong if not.
pub(crate) fn token_name(name: &str) -> Result<(), String> {
    if name.is_empty() || name.len() > NAME || name.chars().any(char::is_control) {
        return Err(format!("is not a name: write 1 to {NAME} characters that say who has the token"));
    }
    Ok(())
}

/// Whether this can be a scope, and what is wrong if not.
pub(crate) fn scope(scope: &str) -> Result<(), String> {
    // As RFC 6749 has them: they stand in a header, between spaces and quotes.
    let plain = scope.bytes().all(|byte| matches!(byte, 0x21 | 0x23..=0x5b | 0x5d..=0x7e));
    match plain && !scope.is_empty() {
        true => Ok(()),
        false => Err("is not a scope: write one word, without quotes".into()),
    }
}

impl Conversion<'_> {
    pub(super) fn auth(&mut self, written: file::Auth) -> Config {
        let mut seen = HashSet::new();
        let tokens = written.tokens.into_iter().filter_map(|token| self.token(token, &mut seen)).collect();
        Config { tokens, oauth: written.oauth.and_then(|oauth| self.oauth(oauth)) }
    }

    fn token(&mut self, written: file::Token, seen: &mut HashSet<Digest>) -> Option<Token> {
        let name = written.name.get_ref();
        if let Err(what) = token_name(name) {
            self.fault(&written.name.span(), what);
        }
        let digest = self.parsed(&written.digest, Digest::parse)?;
        if !seen.insert(digest) {
            self.fault(&written.digest.span(), "this token is there twice: give each holder one of his own");
        }
        let teams = match &written.teams {
            None => self.usual(&written.name.span()),
            Some(teams) => self.named_teams(&teams.span(), teams.get_ref()),
        };
        let scopes = self.scopes(&written.scopes);
        let caller = Caller { subject: Some(name.clone()), issuer: None, teams: teams?, scopes };
        Some(Token { digest, caller, expires: written.expires.map(|expires| expires.0) })
    }

    fn oauth(&mut self, written: file::Oauth) -> Option<Oauth> {
        let issuer = self.parsed(&written.issuer, SecureUrl::parse);
        let audience = self.parsed(&written.audience, Audience::parse);
        let jwks = written.jwks.as_ref().map(|jwks| self.parsed(jwks, SecureUrl::parse));
        let algorithms = self.algorithms(written.algorithms);
        let membership = self.membership(&written.issuer.span(), written.team_claim, written.teams);
        let scopes = self.scopes(&written.scopes);
        let leeway = written.leeway.as_ref().map_or(Duration::from_secs(60), |leeway| leeway.get_ref().0);
        if let Some(written) = written.leeway.filter(|_| leeway > LEEWAY) {
            self.fault(&written.span(), "is more than clocks differ by: at most \"5m\"");
        }
        let refresh = written.refresh.as_ref().map_or(Duration::from_secs(300), |time| time.get_ref().0);
        if let Some(written) = written.refresh.filter(|_| refresh > REFRESH) {
            self.fault(
                &written.span(),
                "is too seldom for keys, which are used for an hour: at most \"30m\"",
            );
        }
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
            leeway,
            refresh,
            pause: PAUSE,
        })
    }

    fn algorithms(&mut self, written: Option<Spanned<Vec<Spanned<String>>>>) -> Vec<Algorithm> {
        let Some(written) = written else { return Algorithm::USUAL.into() };
        if written.get_ref().is_empty() {
            self.fault(&written.span(), "is empty: no token could be signed; name some, or take it out");
        }
        written.get_ref().iter().filter_map(|name| self.parsed(name, Algorithm::parse)).collect()
    }

    fn membership(
        &mut self,
        at: &Range<usize>,
        claim: Option<Spanned<String>>,
        written: BTreeMap<String, Spanned<String>>,
    ) -> Option<Membership> {
        let mut teams = BTreeMap::new();
        for (value, name) in written {
            teams.insert(value, self.named_team(&name)?);
        }
        match claim {
            Some(claim) if teams.is_empty() => {
                let what = "no value of it stands for a team: say which does, as in `teams = { staff = \"default\" }`";
                self.fault(&claim.span(), what);
                None
            }
            Some(claim) => Some(Membership::Claim { claim: claim.into_inner(), teams }),
            // Without a claim there is nothing to map: these are everybody's.
            None if teams.is_empty() => self.usual(at).map(Membership::All),
            None => {
                self.fault_of(
                    "auth.oauth.teams",
                    "it maps the values of a claim: say which one with `team_claim`".into(),
                );
                None
            }
        }
    }

    fn usual(&mut self, at: &Range<usize>) -> Option<Teams> {
        let usual = self.usual_teams();
        if usual.is_none() {
            self.fault(at, "there are several teams: say with `teams` to which this belongs");
        }
        usual
    }

    fn scopes(&mut self, written: &[Spanned<String>]) -> Vec<String> {
        let mut scopes = Vec::new();
        for scope in written {
            if let Err(what) = self::scope(scope.get_ref()) {
                self.fault(&scope.span(), what);
            }
            scopes.push(scope.get_ref().clone());
        }
        scopes.sort_unstable();
        scopes.dedup();
        scopes
    }

    pub(super) fn parsed<T, E: std::fmt::Display>(
        &mut self,
        written: &Spanned<String>,
        parse: impl Fn(&str) -> Result<T, E>,
    ) -> Option<T> {
        match parse(written.get_ref()) {
            Ok(value) => Some(value),
            Err(bad) => {
                self.fault(&written.span(), bad.to_string());
                None
            }
        }
    }
}
