//! The kinds of components, which determine how a component is served.

use wasmparser::{Parser, Payload};

/// The interface that every provider of Larder's contract exports.
const CONTRACT: &str = "larder:provider/resource-provider";

/// How a component is served. The kind depends only on the names of the component's exports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ComponentKind {
    /// It exports Larder's contract.
    Provider,
    /// It exports other functions, which become tools.
    Functions,
    /// It exports nothing.
    Unknown,
}

impl ComponentKind {
    /// Returns the kind of a component with these exports. The contract takes precedence.
    pub fn of<'a>(exports: impl IntoIterator<Item = &'a str>) -> Self {
        let mut kind = Self::Unknown;
        for name in exports {
            if name.split('@').next() == Some(CONTRACT) {
                return Self::Provider;
            }
            kind = Self::Functions;
        }
        kind
    }

    /// A stable identifier for programs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Provider => "provider",
            Self::Functions => "functions",
            Self::Unknown => "unknown",
        }
    }

    /// Returns the kind of a component, read from its bytes. Sections that cannot be parsed are ignored: compiling the
    /// component reports the error.
    pub fn of_component(bytes: &[u8]) -> Self {
        let mut depth = 0;
        let mut exports = Vec::new();
        for payload in Parser::new(0).parse_all(bytes) {
            match payload {
                Ok(Payload::Version { .. }) => depth += 1,
                Ok(Payload::End(_)) => depth -= 1,
                Ok(Payload::ComponentExportSection(section)) if depth == 1 => {
                    exports.extend(section.into_iter().flatten().map(|it| it.name.name));
                }
                Ok(_) => {}
                Err(_) => break,
            }
        }
        Self::of(exports)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_contract_takes_precedence() {
        for (exports, kind) in [
            (&[][..], ComponentKind::Unknown),
            (&["now"], ComponentKind::Functions),
            (&["a:b/c@1.0.0"], ComponentKind::Functions),
            (
                &["now", "larder:provider/resource-provider@0.1.0"],
                ComponentKind::Provider,
            ),
            (
                &["larder:provider/tool-provider@0.1.0"],
                ComponentKind::Functions,
            ),
        ] {
            assert_eq!(
                ComponentKind::of(exports.iter().copied()),
                kind,
                "{exports:?}"
            );
        }
    }
}
