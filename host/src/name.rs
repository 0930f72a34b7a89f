//! Small parsed names: providers, teams, and the digest of a component.
//! A name that exists is a valid name.

use std::collections::BTreeSet;
use std::fmt;
use std::io::{self, Read};
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

/// Why a text is not a name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a name: use 1 to 64 letters, digits, `.`, `_` or `-`, beginning with a letter or a digit"
)]
pub struct BadName(String);

fn parse(text: &str) -> Result<Arc<str>, BadName> {
    let fits = (1..=64).contains(&text.len())
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'));
    if fits { Ok(text.into()) } else { Err(BadName(text.escape_debug().take(80).collect())) }
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Reads a name.
            pub fn parse(text: &str) -> Result<Self, BadName> {
                parse(text).map(Self)
            }

            /// The name as text.
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
    /// The name of a provider: its file's name without `.wasm`.
    ProviderName
}

name! {
    /// The name of a team.
    TeamName
}

impl TeamName {
    /// The only team there is where no teams are configured.
    pub fn sole() -> Self {
        Self("default".into())
    }

    /// The name, where there are teams to tell apart.
    pub fn named(&self) -> Option<&str> {
        Some(self.as_str()).filter(|name| *name != "default")
    }
}

/// The teams that somebody belongs to: at least one, each once, in the order of their names.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Teams(Arc<[TeamName]>);

impl Teams {
    /// These teams. None where there are none: who belongs to no team can ask for nothing.
    pub fn of(teams: impl IntoIterator<Item = TeamName>) -> Option<Self> {
        let teams: BTreeSet<_> = teams.into_iter().collect();
        (!teams.is_empty()).then(|| Self(teams.into_iter().collect()))
    }

    /// The only team there is where no teams are configured.
    pub fn sole() -> Self {
        TeamName::sole().into()
    }

    /// Whether this team is among them.
    pub fn has(&self, team: &TeamName) -> bool {
        self.0.binary_search(team).is_ok()
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = &TeamName> {
        self.0.iter()
    }
}

impl From<TeamName> for Teams {
    fn from(team: TeamName) -> Self {
        Self(Arc::new([team]))
    }
}

/// Why a text is not a digest. It is not repeated, since it may be the token itself.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a digest: write \"sha256:\" and 64 hexadecimal digits")]
pub struct BadDigest;

/// Bytes that are hashed at a time, where they come from a file.
const PIECE: usize = 256 << 10;

/// A SHA-256: of a component's bytes, or of a token's.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The digest of all that is read from there, piece by piece.
    pub fn of_all(mut reader: impl Read) -> io::Result<Self> {
        let (mut digest, mut piece) = (Sha256::new(), vec![0; PIECE]);
        loop {
            match reader.read(&mut piece)? {
                0 => return Ok(Self(digest.finalize().into())),
                read => digest.update(&piece[..read]),
            }
        }
    }

    /// These are its bytes.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Reads `sha256:` and 64 hexadecimal digits.
    pub fn parse(text: &str) -> Result<Self, BadDigest> {
        let bad = || BadDigest;
        let hex =
            text.strip_prefix("sha256:").filter(|hex| hex.len() == 64 && hex.is_ascii()).ok_or_else(bad)?;
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(hex.as_bytes().chunks(2)) {
            let digit = |at: usize| char::from(pair[at]).to_digit(16).ok_or_else(bad);
            // Two digits are at most 255.
            *byte = (digit(0)? * 16 + digit(1)?) as u8;
        }
        Ok(Self(bytes))
    }

    /// Enough of it to tell two revisions apart in a log line.
    pub fn short(&self) -> String {
        self.to_string()[..12].to_owned()
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut hex = [0; 64];
        for (pair, byte) in hex.chunks_exact_mut(2).zip(self.0) {
            pair.copy_from_slice(&[DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
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
    fn names_are_plain_words() {
        for good in ["a", "files", "My.Provider-2_x", "0"] {
            assert_eq!(ProviderName::parse(good).map(|n| n.to_string()).as_deref(), Ok(good));
        }
        for bad in ["", ".hidden", "-x", "a b", "a/b", "ä", "a\n", &"x".repeat(65)] {
            assert!(ProviderName::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn teams_are_a_set_in_order() {
        let name = |text: &str| TeamName::parse(text).unwrap();
        let of = |texts: &[&str]| Teams::of(texts.iter().map(|text| name(text)));
        assert_eq!(of(&[]), None);
        let both = of(&["b", "a", "b"]).unwrap();
        assert_eq!(both.iter().map(TeamName::as_str).collect::<Vec<_>>(), ["a", "b"]);
        assert!(both.has(&name("a")) && both.has(&name("b")) && !both.has(&name("c")));
        assert_eq!(Some(Teams::from(name("a"))), of(&["a"]));
    }

    #[test]
    fn a_digest_is_read_as_it_is_written() {
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
    fn a_digest_piece_by_piece_is_the_same() {
        let long = vec![7; 2 * PIECE + 1];
        assert_eq!(Digest::of_all(long.as_slice()).unwrap(), Digest::of(&long));
    }

    #[test]
    fn a_digest_is_hex() {
        assert_eq!(
            Digest::of(b"").to_string(),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
        let parse = |text: &str| Digest::parse(text).ok();
        assert_eq!(parse(&format!("sha256:{}", Digest::of(b"x"))), Some(Digest::of(b"x")));
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
