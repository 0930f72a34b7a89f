//! What looking for templates may cost. Whoever lists a thousand of them, each with more ways through a URI than
//! anybody can go, must not hold up a thread with each URI that is asked for.

/// Steps of one lookup, over all providers that have templates for the URI.
const LOOKUP: usize = 1 << 18;
/// Steps for the templates of one provider: so many at most, and so many at least, however many providers there are.
const MOST: usize = 1 << 16;
const LEAST: usize = 1 << 12;

/// The steps that are left for the templates of one provider in one lookup. What one spends is not the others'.
#[derive(Debug)]
pub struct Effort(usize);

impl Effort {
    /// What each of so many providers may cost.
    pub fn shared_by(providers: usize) -> Self {
        Self((LOOKUP / providers.max(1)).clamp(LEAST, MOST))
    }

    /// The steps that one template may take, of what is left.
    pub(super) fn steps(&self, most: usize) -> usize {
        self.0.min(most)
    }

    pub(super) fn spend(&mut self, steps: usize) {
        self.0 = self.0.saturating_sub(steps);
    }
}

impl Default for Effort {
    fn default() -> Self {
        Self::shared_by(1)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::pattern;
    use super::super::{LONGEST_URI, MOST_VARIABLES, Pattern};
    use super::*;

    /// Templates with very many ways through each URI, none of which leads out.
    fn mazes(count: usize) -> Vec<Pattern> {
        let variables: String = (0..MOST_VARIABLES).map(|n| format!("{{+v{n}}}")).collect();
        (0..count).map(|n| pattern(&format!("x:{variables}!{n}"))).collect()
    }

    #[test]
    fn a_thousand_templates_cost_no_more_steps_than_one_lookup_may() {
        let uri = format!("x:{}", "a".repeat(LONGEST_URI - 10));
        for providers in [1, 3, 1_000] {
            let mut effort = Effort::shared_by(providers);
            let most = effort.0;
            assert!(most * providers <= LOOKUP || most == LEAST);
            let mut tried = 0;
            for maze in mazes(1_000) {
                let before = effort.0;
                assert!(maze.matches_within(&uri, &mut effort).is_none());
                tried += usize::from(effort.0 < before);
            }
            assert_eq!(effort.0, 0);
            assert!(tried < 50, "{tried} of them were walked through");
        }
    }

    #[test]
    fn honest_templates_are_found_among_very_many() {
        let honest: Vec<_> = (0..1_000).map(|n| pattern(&format!("x:{{a}}/{{+b}}/{n}{{?c}}"))).collect();
        let mut effort = Effort::shared_by(4);
        let found =
            honest.iter().filter(|pattern| pattern.matches_within("x:a/b/999?c=d", &mut effort).is_some());
        assert_eq!(found.count(), 1);
        assert!(effort.0 > 0);
    }
}
