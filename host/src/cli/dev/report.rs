//! What is said when a component was loaded.

use std::time::Duration;

use crate::app::Provider;
use crate::cli::failure::Failure;
use crate::cli::{clean, out};
use crate::name::ProviderName;

/// As many as one reads at a glance.
const SHOWN: usize = 10;

/// Says what is offered; whether all of it is.
pub(super) fn say(
    name: &ProviderName,
    built: Duration,
    loaded: Duration,
    provider: &Provider,
) -> Result<bool, Failure> {
    let seconds = |time: Duration| format!("{:.1} s", time.as_secs_f64());
    out::text(&format!("{name}: {}\n{}", provider.counts(), list(provider)))?;
    out::note(&format!("larder: built in {}, loaded after {}", seconds(built), seconds(loaded)));
    for why in &provider.left_out {
        out::note(&format!("larder: left out or changed: {why}"));
    }
    Ok(provider.left_out.is_empty())
}

fn list(provider: &Provider) -> String {
    let mut text = String::new();
    let claims: Vec<_> = provider.claims.iter().map(|claim| format!("all below {claim}")).collect();
    for uris in [&provider.resources, &provider.templates, &claims] {
        uris.iter().take(SHOWN).for_each(|uri| text += &format!("  {}\n", clean::line(uri)));
        if uris.len() > SHOWN {
            text += &format!("  … and {} more\n", uris.len() - SHOWN);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_offered_fits_on_a_screen() {
        let resources = (0..12).map(|number| format!("n:{number}\n\u{202e}")).collect();
        let provider = Provider { resources, templates: vec!["n:{x}".into()], ..Provider::default() };
        let list = list(&provider);
        assert_eq!(list.lines().count(), SHOWN + 2);
        assert!(list.starts_with("  n:0 \\u202e\n"), "{list}");
        assert!(list.ends_with("  … and 2 more\n  n:{x}\n"), "{list}");
    }
}
