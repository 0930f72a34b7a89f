//! The example with which a new project begins.

use super::project_files::{ProjectLanguage, TextFiles};

/// The example that a new project contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Example {
    /// Only resources.
    Resources,
    /// Also a tool, a prompt, a search and a setting.
    Interactive,
    /// Functions that are tools, without the contract and its SDK.
    Functions,
}

/// Includes a source file of the interactive example.
macro_rules! interactive {
    ($path:literal <- $name:literal) => {
        &[(
            $path,
            include_str!(concat!("../templates/interactive/", $name)),
        )]
    };
}

impl Example {
    /// Returns the source file that replaces the source file in the template.
    pub(super) fn source(self, language: ProjectLanguage) -> TextFiles {
        match (self, language) {
            (Self::Resources | Self::Functions, _) => &[],
            (Self::Interactive, ProjectLanguage::Rust) => interactive!("src/lib.rs" <- "lib.rs"),
            (Self::Interactive, ProjectLanguage::Python) => interactive!("app.py" <- "app.py"),
            (Self::Interactive, ProjectLanguage::JavaScript) => {
                interactive!("provider.js" <- "provider.js")
            }
            (Self::Interactive, ProjectLanguage::TypeScript) => {
                interactive!("provider.ts" <- "provider.ts")
            }
            (Self::Interactive, ProjectLanguage::Go) => interactive!("main.go" <- "main.go"),
            (Self::Interactive, ProjectLanguage::C) => interactive!("app.c" <- "app.c"),
            (Self::Interactive, ProjectLanguage::Cpp) => interactive!("app.cpp" <- "app.cpp"),
        }
    }

    /// Returns what the provider requests, as `NAME.toml`.
    pub(super) fn request(self) -> Option<&'static str> {
        match self {
            Self::Resources | Self::Functions => None,
            Self::Interactive => Some(include_str!("../templates/interactive/request.toml")),
        }
    }

    /// Returns the placeholders in the files of a template that depend on the example, and their values.
    pub(super) fn placeholders(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Functions => &[],
            Self::Resources => &[
                ("@WORLD@", "provider"),
                (
                    "@DEPENDENCIES@",
                    "larder-provider = { path = \"larder-provider\" }",
                ),
            ],
            Self::Interactive => &[
                ("@WORLD@", "interactive-provider"),
                (
                    "@DEPENDENCIES@",
                    "larder-provider = { path = \"larder-provider\", features = [\"interactive\"] }\n\
                     schemars = \"1.2\"\n\
                     serde = { version = \"1\", features = [\"derive\"] }",
                ),
            ],
        }
    }
}
