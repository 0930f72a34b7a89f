//! The providers that are inside the program. The build script compresses the components of a folder. A configuration
//! names one as `component = "builtin:files"`. Nothing is written to a disk: the bytes come from the program, and only
//! those of providers that are used are decompressed.

mod source;

use std::fmt;
use std::io::{self, Read as _};

use bytes::Bytes;

use larder_core::source::{
    Artifact, Blob, BlobRevision, Content, FetchOutcome, Signatures, SignedSubject,
};
use larder_model::name::{Digest, ProviderName};

pub use self::source::{BuiltinComponents, BuiltinHandle, BuiltinSource};

include!(concat!(env!("OUT_DIR"), "/table.rs"));

/// What precedes the name of a built-in provider where a component is named.
pub const PREFIX: &str = "builtin:";

/// A component that is inside the program.
#[derive(PartialEq, Eq)]
pub struct BuiltinProvider {
    name: &'static str,
    size: usize,
    digest: [u8; 32],
    compressed: &'static [u8],
}

/// Why a name is not a built-in provider of this program.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BuiltinError {
    /// The program was built without components.
    #[error(
        "this larder was built without providers: run `cargo xtask plugins` and build it again, use a release, or put \
         {0}.wasm into the plugins folder"
    )]
    NoneEmbedded(String),
    /// The component is too large to be a part of the program.
    #[error(
        "the provider {0} is too large to be a part of the program: put {0}.wasm, which comes with each release, into \
         the plugins folder"
    )]
    TooLarge(String),
    /// No such component was built.
    #[error("there is no built-in provider `{name}`: use one of {}", known.join(", "))]
    Unknown {
        /// The name.
        name: String,
        /// The names of all built-in providers.
        known: Vec<&'static str>,
    },
}

/// Returns all built-in providers, sorted by name.
pub fn all() -> &'static [BuiltinProvider] {
    EMBEDDED
}

/// Finds a built-in provider by its name, such as `files`.
pub fn find(name: &str) -> Result<&'static BuiltinProvider, BuiltinError> {
    find_in(EMBEDDED, TOO_LARGE, name)
}

fn find_in(
    embedded: &'static [BuiltinProvider],
    too_large: &[&str],
    name: &str,
) -> Result<&'static BuiltinProvider, BuiltinError> {
    if let Some(found) = embedded.iter().find(|provider| provider.name == name) {
        return Ok(found);
    }
    let shown = name.escape_debug().take(80).collect();
    Err(if too_large.contains(&name) {
        BuiltinError::TooLarge(shown)
    } else if embedded.is_empty() {
        BuiltinError::NoneEmbedded(shown)
    } else {
        BuiltinError::Unknown {
            name: shown,
            known: embedded.iter().map(|provider| provider.name).collect(),
        }
    })
}

impl BuiltinProvider {
    /// Returns the name, such as `files`.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the bytes of the component.
    pub fn component(&self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(self.size);
        let decoder = ruzstd::decoding::StreamingDecoder::new(self.compressed);
        decoder
            .map_err(io::Error::other)?
            .take(self.size as u64)
            .read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Returns the component as the provider `name`. It needs no signature, because it is a part of the program.
    fn artifact(&'static self, name: &ProviderName) -> Artifact {
        Artifact {
            name: name.to_string(),
            origin: format!("{PREFIX}{}", self.name),
            component: Blob::new(
                BlobRevision::Digest(Digest::from_bytes(self.digest)),
                EmbeddedContent(self),
            ),
            grant_request: None,
            signatures: Signatures {
                subject: SignedSubject::Program,
                ..Signatures::default()
            },
        }
    }
}

impl fmt::Debug for BuiltinProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("BuiltinProvider").field(&self.name).finish()
    }
}

/// The bytes of a built-in provider.
struct EmbeddedContent(&'static BuiltinProvider);

impl Content for EmbeddedContent {
    fn fetch(&self, limit: u64) -> io::Result<FetchOutcome> {
        let size = self.0.size as u64;
        if size > limit {
            return Ok(FetchOutcome::TooLarge(size));
        }
        Ok(FetchOutcome::Bytes(Bytes::from(self.0.component()?)))
    }

    fn digest(&self) -> io::Result<Digest> {
        Ok(Digest::from_bytes(self.0.digest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_embedded_component_has_its_digest() {
        for provider in all() {
            let bytes = provider.component().unwrap();
            assert_eq!(bytes.len(), provider.size, "{provider:?}");
            assert_eq!(*Digest::of(&bytes).bytes(), provider.digest, "{provider:?}");
        }
    }

    #[test]
    fn a_name_that_is_not_built_in_gets_an_error_that_says_what_to_do() {
        static FILES: &[BuiltinProvider] = &[BuiltinProvider {
            name: "files",
            size: 0,
            digest: [0; 32],
            compressed: &[],
        }];
        let error = |embedded, name| find_in(embedded, &["feeds"], name).unwrap_err().to_string();
        assert!(error(&[], "files").contains("`cargo xtask plugins`"));
        assert!(error(FILES, "feeds").contains("put feeds.wasm"));
        assert_eq!(
            error(FILES, "fils"),
            "there is no built-in provider `fils`: use one of files"
        );
        assert_eq!(find_in(FILES, &[], "files").unwrap().name(), "files");
    }

    #[test]
    fn damaged_bytes_are_not_served() {
        static DAMAGED: BuiltinProvider = BuiltinProvider {
            name: "files",
            size: 1,
            digest: [0; 32],
            // A frame with the raw block `x`.
            compressed: &[0x28, 0xb5, 0x2f, 0xfd, 0x20, 1, 9, 0, 0, b'x'],
        };
        assert_eq!(DAMAGED.component().unwrap(), b"x");
        let artifact = DAMAGED.artifact(&ProviderName::parse("files").unwrap());
        let error = artifact.component.fetch(1).unwrap_err().to_string();
        assert!(error.contains("does not have the digest"), "{error}");
    }
}
