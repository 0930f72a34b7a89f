//! Checks the log filter. The syntax of the filter accepts any word as the name of a module. So a misspelt level would
//! suppress all log lines without an error.

use tracing::level_filters::LevelFilter;
use tracing_subscriber::EnvFilter;

/// The prefix of the modules of this workspace.
const OWN_MODULES: &str = "larder";

/// Checks that the filter is valid and can show a line of Larder, or is `off`.
pub(super) fn validate(filter: &str) -> Result<(), String> {
    EnvFilter::try_new(filter).map_err(|error| format!("not a filter: {error}"))?;
    // The fields of a span may contain commas, so the directives are not known.
    if filter.contains('[') {
        return Ok(());
    }
    if let Some(word) = directives(filter).find(|directive| is_misspelt_level(directive)) {
        return Err(not_a_level(word));
    }
    if directives(filter).any(|directive| is_level(directive) || is_own(directive)) {
        return Ok(());
    }
    Err(format!(
        "shows no log line of Larder: add a level, such as \"info,{filter}\""
    ))
}

fn directives(filter: &str) -> impl Iterator<Item = &str> {
    filter
        .split(',')
        .map(str::trim)
        .filter(|directive| !directive.is_empty())
}

fn is_misspelt_level(directive: &str) -> bool {
    !directive.contains('=') && !is_level(directive) && !is_own(directive)
}

fn is_level(directive: &str) -> bool {
    directive.parse::<LevelFilter>().is_ok()
}

fn is_own(directive: &str) -> bool {
    directive.starts_with(OWN_MODULES)
}

fn not_a_level(word: &str) -> String {
    format!(
        "`{word}` is not a level: write \"error\", \"warn\", \"info\", \"debug\", \"trace\" or \"off\", or a module and a level, such as \"info,larder::provider=debug\""
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_names_a_level_or_a_module_of_larder() {
        for good in [
            "info",
            "off",
            "5",
            "warn,larder::provider=debug",
            "larder_mcp",
            "larder=trace",
            "info,hyper=debug",
        ] {
            assert_eq!(validate(good), Ok(()), "{good}");
        }
        for (bad, why) in [
            ("verbose", "`verbose` is not a level"),
            ("info,loud", "`loud` is not a level"),
            (
                "hyper=debug",
                "shows no log line of Larder: add a level, such as \"info,hyper=debug\"",
            ),
            ("larder=loud", "not a filter"),
        ] {
            assert!(validate(bad).unwrap_err().starts_with(why), "{bad}");
        }
    }
}
