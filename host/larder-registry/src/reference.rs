//! References to components: an image in a registry, or a package with a version requirement.

use std::fmt;
use std::str::FromStr;

use larder_model::name::Digest;
use wasm_pkg_common::package::{PackageRef, VersionReq};

/// A reference to a component, in the form of a configuration.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Reference {
    /// `registry.example.com/team/wiki:1.2`, or with `@sha256:…`.
    Image(Image),
    /// `team:wiki@^1.2`.
    Package(Package),
}

/// An image in a registry.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Image {
    /// The host name of the registry, with a port if it has one.
    pub registry: String,
    /// The path of the repository in the registry.
    pub repository: String,
    /// Which image of the repository.
    pub version: Version,
}

/// Identifies an image of a repository.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Version {
    /// A tag, which can be moved to another image.
    Tag(String),
    /// The digest of the manifest.
    Digest(Digest),
}

/// A package, whose registry depends on its namespace, and the permitted versions.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Package {
    /// Namespace and name.
    pub package: PackageRef,
    /// The versions that match. The newest matching version is used.
    pub requirement: VersionReq,
}

/// Why a text is not a reference.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a reference to a component: {reason}")]
pub struct BadReference {
    text: String,
    reason: String,
}

impl Reference {
    /// Returns the digest that this reference pins. `None` for a tag and a package, which may change.
    pub fn pinned(&self) -> Option<Digest> {
        match self {
            Self::Image(image) => image.pinned(),
            Self::Package(_) => None,
        }
    }
}

impl Image {
    pub(crate) fn pinned(&self) -> Option<Digest> {
        match self.version {
            Version::Digest(digest) => Some(digest),
            Version::Tag(_) => None,
        }
    }

    /// Returns the same repository with another version.
    pub fn at(&self, version: Version) -> Self {
        Self {
            version,
            ..self.clone()
        }
    }

    /// Returns the image with this digest in the same repository.
    pub fn with_digest(&self, digest: Digest) -> Self {
        self.at(Version::Digest(digest))
    }

    fn parse(text: &str) -> Result<Self, String> {
        let (registry, rest) = text
            .split_once('/')
            .ok_or("write it as `REGISTRY/REPOSITORY:TAG`")?;
        if !(registry.contains(['.', ':']) || registry == "localhost") {
            return Err(format!("`{registry}` is not the host name of a registry"));
        }
        let version = match rest.split_once('@') {
            Some((_, digest)) => Digest::parse(digest)
                .map(Version::Digest)
                .map_err(|bad| bad.to_string())?,
            None => Version::Tag(tag_of(rest)?.to_owned()),
        };
        let (path, _) = rest.split_once([':', '@']).unwrap_or((rest, ""));
        if path.contains(|c: char| c.is_ascii_uppercase()) {
            return Err(format!("the repository `{path}` must be in lowercase"));
        }
        let checked = oci_client::Reference::try_from(text).map_err(|error| error.to_string())?;
        Ok(Self {
            registry: registry.to_owned(),
            repository: checked.repository().to_owned(),
            version,
        })
    }
}

fn tag_of(text: &str) -> Result<&str, String> {
    let (_, tag) = text
        .split_once(':')
        .ok_or("add a tag, such as `:1.2`, or `@sha256:…`")?;
    Ok(tag)
}

impl Version {
    /// Returns the tag or the digest as it is written in the URL of a manifest.
    pub(crate) fn in_url(&self) -> String {
        match self {
            Self::Tag(tag) => tag.clone(),
            Self::Digest(digest) => format!("sha256:{digest}"),
        }
    }
}

impl Package {
    fn parse(text: &str) -> Result<Self, String> {
        let (package, requirement) = text.split_once('@').unwrap_or((text, "*"));
        let package = package.parse().map_err(|error| format!("{error}"))?;
        let requirement = requirement
            .parse()
            .map_err(|error| format!("`{requirement}` is not a version requirement: {error}"))?;
        Ok(Self {
            package,
            requirement,
        })
    }
}

impl FromStr for Reference {
    type Err = BadReference;

    fn from_str(text: &str) -> Result<Self, BadReference> {
        // Only the reference of an image contains a slash.
        let parsed = if text.contains('/') {
            Image::parse(text).map(Self::Image)
        } else if text.contains(':') {
            Package::parse(text).map(Self::Package)
        } else {
            Err("write `REGISTRY/REPOSITORY:TAG`, or `NAMESPACE:PACKAGE@VERSION`".to_owned())
        };
        parsed.map_err(|reason| BadReference {
            text: text.escape_debug().take(200).collect(),
            reason,
        })
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Image(image) => image.fmt(f),
            Self::Package(package) => package.fmt(f),
        }
    }
}

impl fmt::Display for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            registry,
            repository,
            version,
        } = self;
        match version {
            Version::Tag(tag) => write!(f, "{registry}/{repository}:{tag}"),
            Version::Digest(digest) => write!(f, "{registry}/{repository}@sha256:{digest}"),
        }
    }
}

impl fmt::Display for Package {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.package, self.requirement)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Reference, String> {
        text.parse().map_err(|bad: BadReference| bad.reason)
    }

    #[test]
    fn parses_what_it_displays() {
        let digest = format!("sha256:{}", Digest::of(b"x"));
        for text in [
            "registry.example.com/team/wiki:1.2",
            "localhost/wiki:latest",
            "localhost:5000/a/b/c:1.2_3-x",
            &format!("127.0.0.1:5000/wiki@{digest}"),
            "team:wiki@^1.2",
        ] {
            assert_eq!(
                parse(text).map(|parsed| parsed.to_string()).as_deref(),
                Ok(text)
            );
        }
    }

    #[test]
    fn a_digest_takes_precedence_over_a_tag() {
        let digest = Digest::of(b"x");
        let both = parse(&format!("r.example/wiki:1@sha256:{digest}")).unwrap();
        assert_eq!(both.pinned(), Some(digest));
        assert_eq!(both.to_string(), format!("r.example/wiki@sha256:{digest}"));
    }

    #[test]
    fn a_package_without_a_version_matches_all() {
        assert_eq!(parse("team:wiki").unwrap().to_string(), "team:wiki@*");
    }

    #[test]
    fn says_what_is_missing() {
        for (text, reason) in [
            ("wiki", "write `REGISTRY"),
            ("team/wiki:1", "is not the host name of a registry"),
            ("r.example/wiki", "add a tag"),
            ("r.example/wiki@sha256:00", "not a digest"),
            ("r.example/Wiki:1", "lowercase"),
            ("team:wiki@one", "is not a version requirement"),
            ("Team:wiki@1", ""),
            ("localhost:5000", ""),
            ("r.example/wiki:a b", ""),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}
