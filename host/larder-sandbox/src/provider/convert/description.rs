//! Converts a provider's description of itself.

use super::texts::{cut, description as summary, title, version};
use crate::bindings::exports::larder::provider::resource_provider as wit;
use crate::provider::omissions::Omissions;

/// Maximum size of the instructions for models in bytes. Each client receives the instructions of all providers.
const MAX_INSTRUCTIONS: usize = 4 << 10;
/// Maximum number of claims.
const MAX_CLAIMS: usize = 1_000;
/// Maximum size of a claim in bytes.
const MAX_CLAIM: usize = 1 << 10;

/// Maximum number of characters of an invalid claim in a message.
const MAX_QUOTED: usize = 200;

/// Bounds the texts, and omits invalid claims.
pub(in crate::provider) fn description(
    item: wit::Description,
    omissions: &mut Omissions<'_>,
) -> wit::Description {
    let instructions = item
        .instructions
        .map(|text| cut(text, MAX_INSTRUCTIONS, "its instructions", omissions));
    wit::Description {
        title: title(item.title, omissions),
        version: version(item.version, omissions),
        summary: summary(item.summary, omissions),
        instructions,
        claims: claims(item.claims, omissions),
    }
}

fn claims(mut claims: Vec<String>, omissions: &mut Omissions<'_>) -> Vec<String> {
    if claims.len() > MAX_CLAIMS {
        omissions.add(format!("claims beyond the first {MAX_CLAIMS}"));
        claims.truncate(MAX_CLAIMS);
    }
    claims.retain(|claim| {
        let is_valid = is_claim(claim);
        if !is_valid {
            let text: String = omissions.clean(claim).chars().take(MAX_QUOTED).collect();
            omissions.add(format!(
                "a claim that is not a URI prefix with a scheme: {text:?}"
            ));
        }
        is_valid
    });
    claims
}

/// Whether a text is a valid claim. A claim is a URI prefix, so only its scheme is checked.
fn is_claim(claim: &str) -> bool {
    let scheme = claim.split_once(':').map(|(scheme, _)| scheme);
    claim.len() <= MAX_CLAIM && scheme.is_some_and(is_scheme)
}

fn is_scheme(text: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.chars().all(is_allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_claims() {
        let mut omissions = Omissions::default();
        let valid = (0..MAX_CLAIMS - 2).map(|n| format!("x:{n}"));
        let all = valid
            .chain(["no scheme".into(), ":".into()])
            .chain((0..300_000).map(|n| format!("y:{n}")));
        assert_eq!(claims(all.collect(), &mut omissions).len(), MAX_CLAIMS - 2);
        let expected = [
            "a claim that is not a URI prefix with a scheme: \":\"",
            "a claim that is not a URI prefix with a scheme: \"no scheme\"",
            "claims beyond the first 1000",
        ];
        assert_eq!(omissions.summary(), expected);
        assert!(!is_claim(&format!("x:{}", "y".repeat(MAX_CLAIM))));
    }

    #[test]
    fn bounds_texts() {
        let long = || Some("x".repeat(10 << 20));
        let item = wit::Description {
            title: long(),
            version: long(),
            summary: long(),
            instructions: long(),
            claims: vec![],
        };
        let mut omissions = Omissions::default();
        let item = description(item, &mut omissions);
        let sizes = [item.title, item.version, item.summary, item.instructions];
        assert_eq!(
            sizes.map(|text| text.map(|text| text.len())),
            [Some(1_024), None, Some(16_384), Some(4_096)]
        );
        assert_eq!(omissions.summary().len(), 4);
    }
}
