//! Puts the documentation of WIT files into a component, as the custom section `package-docs` that tools of the component
//! model write into WIT packages. Compilers omit it, so a component has no descriptions of its functions otherwise.

use std::path::Path;

use wasm_encoder::{ComponentSection as _, CustomSection};
use wasmparser::{Encoding, Parser, Payload};
use wit_bindgen_core::wit_parser::{PackageMetadata, Resolve};

/// Why no documentation was added.
#[derive(Debug, thiserror::Error)]
pub enum PackageDocsError {
    /// The WIT files cannot be read.
    #[error("the WIT files cannot be read: {0}")]
    Wit(String),
    /// The file is not a component.
    #[error("documentation can be added only to a component")]
    NotAComponent,
    /// The component has documentation.
    #[error("the component has documentation already: build it anew before adding it")]
    Present,
}

impl PackageDocsError {
    fn wit(error: impl std::fmt::Display) -> Self {
        Self::Wit(format!("{error:#}"))
    }
}

/// Returns a component with the documentation of the WIT package in a folder or file.
pub fn add_package_docs(component: &[u8], wit: &Path) -> Result<Vec<u8>, PackageDocsError> {
    check_component(component)?;
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_path(wit).map_err(PackageDocsError::wit)?;
    let docs = PackageMetadata::extract(&resolve, package);
    let section = CustomSection {
        name: PackageMetadata::SECTION_NAME.into(),
        data: docs.encode().map_err(PackageDocsError::wit)?.into(),
    };
    let mut documented = component.to_vec();
    section.append_to_component(&mut documented);
    Ok(documented)
}

/// Checks that the bytes are a component without documentation.
fn check_component(bytes: &[u8]) -> Result<(), PackageDocsError> {
    let mut depth = 0;
    for payload in Parser::new(0).parse_all(bytes) {
        match payload.map_err(|_| PackageDocsError::NotAComponent)? {
            Payload::Version { encoding, .. } => {
                if depth == 0 && encoding != Encoding::Component {
                    return Err(PackageDocsError::NotAComponent);
                }
                depth += 1;
            }
            Payload::End(_) => depth -= 1,
            Payload::CustomSection(section)
                if depth == 1 && section.name() == PackageMetadata::SECTION_NAME =>
            {
                return Err(PackageDocsError::Present);
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMPTY: &[u8] = b"\0asm\x0d\0\x01\0";

    #[test]
    fn adds_the_documentation_once() {
        let wit = tempfile::tempdir().unwrap();
        let text = "package a:b;\nworld tools {\n/// Adds two numbers.\nexport add: func(a: u32, b: u32) -> u32;\n}";
        std::fs::write(wit.path().join("tools.wit"), text).unwrap();
        let documented = add_package_docs(EMPTY, wit.path()).unwrap();
        let text = String::from_utf8_lossy(&documented);
        assert!(
            text.starts_with("\0asm") && text.contains("package-docs"),
            "{text}"
        );
        assert!(text.contains("Adds two numbers."), "{text}");
        let again = add_package_docs(&documented, wit.path());
        assert!(matches!(again, Err(PackageDocsError::Present)));
    }

    #[test]
    fn errors_say_what_is_wrong() {
        let gone = Path::new("gone");
        let module = b"\0asm\x01\0\0\0";
        assert!(matches!(
            add_package_docs(module, gone),
            Err(PackageDocsError::NotAComponent)
        ));
        let error = add_package_docs(EMPTY, gone).unwrap_err().to_string();
        assert!(error.contains("gone"), "{error}");
    }
}
