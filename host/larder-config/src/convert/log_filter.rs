//! Checks the log filter. The syntax of the filter accepts any word as the name of a module. So a misspelt level would
//! suppress all log lines without an error.

use tracing::level_filters::LevelFilter;
use tracing_subscriber::EnvFilter;

/// The prefix of the modules of this workspace.
const OWN_MODULES: &str = "larder";

/// Checks that the filter is valid and can show a line of Larder, or is `off`.
pub(super) fn validate(filter: &str) -> Result<(), String> {
    EnvFilter::try_new(filter).map_err(|error| format!("not a filter: {error}"))?;
    let is_level = |text: &str| text.parse::<LevelFilter>().is_ok();
    let directives = || {
        filter
            .split(',')
            .map(str::trim)
            .filter(|directive| !directive.is_empty())
    };
    let is_own = |directive: &str| directive.starts_with(OWN_MODULES) || directive.contains('[');
    let word = directives().find(|word| !word.contains('=') && !is_level(word) && !is_own(word));
    if let Some(word) = word.filter(|_| !filter.contains('[')) {
        return Err(format!(
            "`{word}` is not a level: write \"error\", \"warn\", \"info\", \"debug\", \"trace\" or \"off\", or a module and a level, such as \"info,larder::provider=debug\""
        ));
    }
    if directives().any(|directive| is_level(directive) || is_own(directive))
        || filter.contains('[')
    {
        return Ok(());
    }
    Err(format!(
        "shows no log line of Larder: add a level, such as \"info,{filter}\""
    ))
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
