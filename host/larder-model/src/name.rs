//! Names of providers, teams and replicas, and SHA-256 digests. A value of these types is always valid.

use std::fmt;
use std::io::{self, Read};
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

/// Error of parsing a name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a name: use 1 to 64 letters, digits, `.`, `_` or `-`, beginning with a letter or a digit"
)]
pub struct BadName(String);

fn parse(text: &str) -> Result<Arc<str>, BadName> {
    let fits = (1..=64).contains(&text.len())
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'));
    if fits {
        Ok(text.into())
    } else {
        Err(BadName(text.escape_debug().take(80).collect()))
    }
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Parses a name.
            pub fn parse(text: &str) -> Result<Self, BadName> {
                parse(text).map(Self)
            }

            /// Returns the name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

name! {
    /// The name of a provider: its file name without `.wasm`.
    ProviderName
}

name! {
    /// The name of a team.
    TeamName
}

name! {
    /// The configured name of the state in the state folder.
    StateName
}

impl TeamName {
    /// The team that exists if no teams are configured.
    pub fn default_team() -> Self {
        Self("default".into())
    }

    /// Returns the name, or `None` for the default team. Used as a log field that appears only if teams are
    /// configured.
    pub fn non_default(&self) -> Option<&str> {
        Some(self.as_str()).filter(|name| *name != "default")
    }
}

/// The teams of a caller: at least one team, and each team once. If two teams have the same resource, the earlier team
/// takes precedence.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Teams(Arc<[TeamName]>);

impl Teams {
    /// Creates the list of these teams, in this order and without duplicates. `None` if there are none: a caller
    /// without a team may request nothing.
    pub fn of(teams: impl IntoIterator<Item = TeamName>) -> Option<Self> {
        let mut once: Vec<TeamName> = Vec::new();
        for team in teams {
            if !once.contains(&team) {
                once.push(team);
            }
        }
        (!once.is_empty()).then(|| Self(once.into()))
    }

    /// Returns the same teams, with the teams in `order` first. The other teams keep their order.
    pub fn ordered_by(&self, order: &Self) -> Self {
        let mut teams = self.0.to_vec();
        // The sort is stable.
        teams.sort_by_key(|team| order.position(team));
        Self(teams.into())
    }

    /// Returns the position of a team. For a team that is not listed, returns the position after the last team.
    pub fn position(&self, team: &TeamName) -> usize {
        self.0
            .iter()
            .position(|other| other == team)
            .unwrap_or(self.0.len())
    }

    /// The list of only the default team.
    pub fn default_team() -> Self {
        TeamName::default_team().into()
    }

    /// Whether this team is in the list.
    pub fn has(&self, team: &TeamName) -> bool {
        self.0.contains(team)
    }

    /// Returns the first team, which pays for the requests of the caller.
    pub fn first(&self) -> Option<&TeamName> {
        self.0.first()
    }

    /// Iterates over the teams in order. The first team takes precedence.
    pub fn iter(&self) -> impl Iterator<Item = &TeamName> {
        self.0.iter()
    }
}

impl From<TeamName> for Teams {
    fn from(team: TeamName) -> Self {
        Self(Arc::new([team]))
    }
}

/// The name of a replica. The ids of its sessions begin with it, so that load balancers can match it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplicaName(Arc<str>);

/// Error of parsing the name of a replica.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("use 1 to 64 letters, digits or `-`, beginning with a letter or a digit")]
pub struct BadReplicaName;

impl ReplicaName {
    /// Parses a name.
    pub fn parse(text: &str) -> Result<Self, BadReplicaName> {
        let fits = (1..=64).contains(&text.len())
            && text.starts_with(|c: char| c.is_ascii_alphanumeric())
            && text
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        fits.then(|| Self(text.into())).ok_or(BadReplicaName)
    }

    /// The name for a random number.
    pub fn of_number(number: u64) -> Self {
        Self(format!("{number:016x}").into())
    }

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ReplicaName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Error of parsing a digest. The error does not contain the text, which may be a token that was pasted by mistake.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a digest: write \"sha256:\" and 64 hexadecimal digits")]
pub struct BadDigest;

/// Buffer size for hashing a file.
const BUFFER_SIZE: usize = 256 << 10;

/// A SHA-256 digest, of a component or of a token.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Computes the digest of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Computes the digest of everything that the reader returns.
    pub fn of_reader(mut reader: impl Read) -> io::Result<Self> {
        let mut digest = Sha256::new();
        let mut buffer = vec![0; BUFFER_SIZE];
        loop {
            match reader.read(&mut buffer)? {
                0 => return Ok(Self(digest.finalize().into())),
                read => digest.update(&buffer[..read]),
            }
        }
    }

    /// Creates a digest from its bytes.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes of the digest.
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Parses `sha256:` followed by 64 hexadecimal digits.
    pub fn parse(text: &str) -> Result<Self, BadDigest> {
        let bad = || BadDigest;
        let hex = text
            .strip_prefix("sha256:")
            .filter(|hex| hex.len() == 64 && hex.is_ascii())
            .ok_or_else(bad)?;
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(hex.as_bytes().chunks(2)) {
            let digit = |at: usize| char::from(pair[at]).to_digit(16).ok_or_else(bad);
            // Two hexadecimal digits are at most 255.
            *byte = (digit(0)? * 16 + digit(1)?) as u8;
        }
        Ok(Self(bytes))
    }

    /// Returns the first 12 hexadecimal digits, enough to distinguish revisions in a log line.
    pub fn short(&self) -> String {
        self.to_string()[..12].to_owned()
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut hex = [0; 64];
        for (pair, byte) in hex.chunks_exact_mut(2).zip(self.0) {
            pair.copy_from_slice(&[
                DIGITS[usize::from(byte >> 4)],
                DIGITS[usize::from(byte & 15)],
            ]);
        }
        f.write_str(str::from_utf8(&hex).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({})", self.short())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_replica_has_no_dot() {
        for good in ["a", "replica-2", "7", &"x".repeat(64)] {
            assert_eq!(ReplicaName::parse(good).unwrap().as_str(), good);
        }
        for bad in ["", "a.b", "-a", "a b", "a_b", "ä", &"x".repeat(65)] {
            assert_eq!(ReplicaName::parse(bad), Err(BadReplicaName), "{bad}");
        }
        let random = ReplicaName::of_number(0xab);
        assert_eq!(random.as_str(), "00000000000000ab");
        assert_eq!(ReplicaName::parse(random.as_str()), Ok(random));
    }

    #[test]
    fn parses_only_valid_names() {
        for good in ["a", "files", "My.Provider-2_x", "0"] {
            assert_eq!(
                ProviderName::parse(good).map(|n| n.to_string()).as_deref(),
                Ok(good)
            );
        }
        for bad in [
            "",
            ".hidden",
            "-x",
            "a b",
            "a/b",
            "ä",
            "a\n",
            &"x".repeat(65),
        ] {
            assert!(ProviderName::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn teams_keep_their_order() {
        let name = |text: &str| TeamName::parse(text).unwrap();
        let of = |texts: &[&str]| Teams::of(texts.iter().map(|text| name(text)));
        assert_eq!(of(&[]), None);
        let both = of(&["b", "a", "b"]).unwrap();
        assert_eq!(Some(both.clone()), of(&["b", "a"]));
        assert_ne!(Some(both.clone()), of(&["a", "b"]));
        assert_eq!(both.first(), Some(&name("b")));
        assert!(both.has(&name("a")) && both.has(&name("b")) && !both.has(&name("c")));
        let order = of(&["c", "a"]).unwrap();
        assert_eq!(Some(both.ordered_by(&order)), of(&["a", "b"]));
        assert_eq!(
            Some(of(&["d", "b", "a", "c"]).unwrap().ordered_by(&order)),
            of(&["c", "a", "d", "b"])
        );
        assert_eq!(Some(Teams::from(name("a"))), of(&["a"]));
    }

    #[test]
    fn parses_a_digest_as_it_is_displayed() {
        let digest = Digest::of(b"x");
        assert_eq!(Digest::parse(&format!("sha256:{digest}")), Ok(digest));
        for bad in [
            "",
            "sha256:",
            &digest.to_string(),
            &format!("sha256:{digest}0"),
            &format!("sha256:{}", "g".repeat(64)),
        ] {
            assert!(Digest::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn hashing_a_reader_gives_the_same_digest() {
        let long = vec![7; 2 * BUFFER_SIZE + 1];
        assert_eq!(
            Digest::of_reader(long.as_slice()).unwrap(),
            Digest::of(&long)
        );
    }

    #[test]
    fn displays_a_digest_in_hexadecimal() {
        assert_eq!(
            Digest::of(b"").to_string(),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
        let parse = |text: &str| Digest::parse(text).ok();
        assert_eq!(
            parse(&format!("sha256:{}", Digest::of(b"x"))),
            Some(Digest::of(b"x"))
        );
        for bad in [
            String::new(),
            "sha256:00".into(),
            Digest::of(b"x").to_string(),
            format!("sha256:{}", "g".repeat(64)),
        ] {
            assert_eq!(parse(&bad), None, "{bad}");
        }
    }
}
