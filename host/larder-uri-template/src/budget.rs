//! Limits the steps of matching a URI against many templates. A malicious provider can list a thousand templates that
//! backtrack exponentially. These templates must not block a thread on each request.

/// Maximum steps of one lookup, over all providers that have templates for the URI.
const STEPS_PER_LOOKUP: usize = 1 << 18;
/// Minimum and maximum of the share of one provider, for any number of providers.
const MAX_STEPS_PER_PROVIDER: usize = 1 << 16;
const MIN_STEPS_PER_PROVIDER: usize = 1 << 12;

/// The remaining steps for the templates of one provider in one lookup. Each provider has its own budget.
#[derive(Debug)]
pub struct MatchBudget(usize);

impl MatchBudget {
    /// Returns the budget of one provider if this many providers share a lookup.
    pub fn shared_by(providers: usize) -> Self {
        Self(
            (STEPS_PER_LOOKUP / providers.max(1))
                .clamp(MIN_STEPS_PER_PROVIDER, MAX_STEPS_PER_PROVIDER),
        )
    }

    /// Returns the number of remaining steps.
    pub fn steps_left(&self) -> usize {
        self.0
    }

    /// Returns how many of the remaining steps one template may take, at most `most`.
    pub(super) fn steps(&self, most: usize) -> usize {
        self.0.min(most)
    }

    pub(super) fn spend(&mut self, steps: usize) {
        self.0 = self.0.saturating_sub(steps);
    }
}

impl Default for MatchBudget {
    fn default() -> Self {
        Self::shared_by(1)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::parse_template;
    use super::super::{MAX_URI_BYTES, MAX_VARIABLES, UriTemplate};
    use super::*;

    /// Templates that backtrack over very many paths and never match.
    fn backtracking_templates(count: usize) -> Vec<UriTemplate> {
        let variables: String = (0..MAX_VARIABLES).map(|n| format!("{{+v{n}}}")).collect();
        (0..count)
            .map(|n| parse_template(&format!("x:{variables}!{n}")))
            .collect()
    }

    #[test]
    fn a_thousand_templates_stay_within_the_budget_of_one_lookup() {
        let uri = format!("x:{}", "a".repeat(MAX_URI_BYTES - 10));
        for providers in [1, 3, 1_000] {
            let mut budget = MatchBudget::shared_by(providers);
            let most = budget.0;
            assert!(most * providers <= STEPS_PER_LOOKUP || most == MIN_STEPS_PER_PROVIDER);
            let mut tried = 0;
            for template in backtracking_templates(1_000) {
                let before = budget.0;
                assert!(template.matches_within(&uri, &mut budget).is_none());
                tried += usize::from(budget.0 < before);
            }
            assert_eq!(budget.0, 0);
            assert!(tried < 50, "{tried} templates were tried");
        }
    }

    #[test]
    fn normal_templates_are_found_among_very_many() {
        let templates: Vec<_> = (0..1_000)
            .map(|n| parse_template(&format!("x:{{a}}/{{+b}}/{n}{{?c}}")))
            .collect();
        let mut budget = MatchBudget::shared_by(4);
        let found = templates.iter().filter(|template| {
            template
                .matches_within("x:a/b/999?c=d", &mut budget)
                .is_some()
        });
        assert_eq!(found.count(), 1);
        assert!(budget.0 > 0);
    }
}
