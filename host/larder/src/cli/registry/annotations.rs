//! The annotations of a published component: the texts of its author, and its requests.

use std::collections::BTreeMap;
use std::path::Path;

use clap::Args;

use crate::cli::check::grants::folder_of;
use crate::cli::error::{CommandError, RegistryCommandError};
use crate::cli::inspect::Metadata;
use larder_config as config;
use larder_registry::GRANT_REQUEST_ANNOTATION;

/// Texts for those who look for a component. Without an option, the text in the component itself applies.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Annotations")]
pub(super) struct AnnotationArgs {
    /// What the component is for [default: the description in the component]
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// Its licences, as an SPDX expression
    #[arg(long, value_name = "SPDX")]
    licenses: Option<String>,
    /// The URL of its source code
    #[arg(long, value_name = "URL")]
    source: Option<String>,
    /// Its version [default: the version in the component, or the tag if that is a version]
    #[arg(long, value_name = "VERSION")]
    version: Option<String>,
    /// Another annotation; can be repeated
    #[arg(long = "annotation", value_name = "KEY=VALUE", value_parser = crate::cli::name_value::parse)]
    others: Vec<(String, String)>,
}

impl AnnotationArgs {
    /// Returns all annotations of a component that is published under this tag.
    pub(super) fn annotations(
        self,
        metadata: &Metadata,
        tag: Option<&str>,
        grant_request: Option<String>,
    ) -> BTreeMap<String, String> {
        let Metadata {
            version,
            description,
            licenses,
            source,
            homepage,
            authors,
        } = metadata.clone();
        let tag_version = tag.filter(|tag| larder_registry::semver::Version::parse(tag).is_ok());
        let texts = [
            ("description", self.description.or(description)),
            ("licenses", self.licenses.or(licenses)),
            ("source", self.source.or(source)),
            (
                "version",
                self.version
                    .or(version)
                    .or(tag_version.map(ToOwned::to_owned)),
            ),
            ("url", homepage),
            ("authors", authors),
        ];
        let texts = texts
            .into_iter()
            .filter_map(|(key, text)| Some((image_key(key), text?)));
        let request = grant_request.map(|request| (GRANT_REQUEST_ANNOTATION.to_owned(), request));
        texts.chain(request).chain(self.others).collect()
    }
}

/// Returns the key of a standard annotation.
pub(super) fn image_key(name: &str) -> String {
    format!("org.opencontainers.image.{name}")
}

/// Reads `NAME.toml` next to a component. An invalid file is not published.
pub(super) fn grant_request(component: &Path) -> Result<Option<String>, CommandError> {
    let path = component.with_extension("toml");
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(CommandError::Input { path, error }),
    };
    match config::parse_grant_request(&text, &folder_of(component)) {
        Ok(_) => Ok(Some(text)),
        Err(problems) => Err(RegistryCommandError::GrantRequest { path, problems }.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(args: AnnotationArgs, metadata: &Metadata, tag: &str, expected: &[(&str, &str)]) {
        let annotations = args.annotations(metadata, Some(tag), None);
        let short = annotations.iter().map(|(key, value)| {
            (
                key.strip_prefix("org.opencontainers.image.").unwrap_or(key),
                value.as_str(),
            )
        });
        assert_eq!(short.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn options_precede_what_the_component_says() {
        let metadata = Metadata {
            version: Some("1.2.0".into()),
            description: Some("Serves".into()),
            licenses: Some("MIT".into()),
            ..Metadata::default()
        };
        let said = [
            ("description", "Serves"),
            ("licenses", "MIT"),
            ("version", "1.2.0"),
        ];
        check(AnnotationArgs::default(), &metadata, "latest", &said);
        check(
            AnnotationArgs::default(),
            &Metadata::default(),
            "1.0.0",
            &[("version", "1.0.0")],
        );
        check(
            AnnotationArgs::default(),
            &Metadata::default(),
            "latest",
            &[],
        );
        let args = AnnotationArgs {
            description: Some("Better".into()),
            source: Some("https://x.example".into()),
            others: vec![("com.example.a".into(), "b".into())],
            ..AnnotationArgs::default()
        };
        check(
            args,
            &metadata,
            "latest",
            &[
                ("com.example.a", "b"),
                ("description", "Better"),
                ("licenses", "MIT"),
                ("source", "https://x.example"),
                ("version", "1.2.0"),
            ],
        );
    }

    #[test]
    fn keeps_the_text_of_the_grant_request() {
        let folder = tempfile::tempdir().unwrap();
        let component = folder.path().join("wiki.wasm");
        assert!(matches!(grant_request(&component), Ok(None)));
        let request = "# Why.\nhosts = ['https://x.example']\n";
        std::fs::write(folder.path().join("wiki.toml"), request).unwrap();
        assert_eq!(grant_request(&component).unwrap().as_deref(), Some(request));
        let annotations =
            AnnotationArgs::default().annotations(&Metadata::default(), None, Some(request.into()));
        assert_eq!(annotations[GRANT_REQUEST_ANNOTATION], request);
        std::fs::write(folder.path().join("wiki.toml"), "hosts = 1").unwrap();
        let error = grant_request(&component).unwrap_err().to_string();
        assert!(
            error.contains("wiki.toml was not published") && error.contains("line 1: hosts"),
            "{error}"
        );
    }
}
