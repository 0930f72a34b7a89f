//! Matching takes a bounded time, also with malicious templates.

use std::time::{Duration, Instant};

use super::{MAX_URI_BYTES, MAX_VARIABLES, MatchBudget, parse_template};

/// The shortest duration of several runs, because other processes on the machine have delayed this run least.
fn shortest_duration(mut run: impl FnMut()) -> Duration {
    let durations = (0..5).map(|_| {
        let start = Instant::now();
        run();
        start.elapsed()
    });
    durations.min().unwrap()
}

/// Checks that no match takes much longer than a match that takes all steps of its budget. The result does not depend
/// on the speed of the machine.
pub(super) fn check_durations<'a>(matches: impl IntoIterator<Item = (&'a str, &'a str)>) {
    let variables: String = (0..MAX_VARIABLES).map(|n| format!("{{+v{n}}}")).collect();
    let slowest = parse_template(&format!("x:{variables}!"));
    let long = format!("x:{}", "a".repeat(MAX_URI_BYTES - 10));
    let all_steps = shortest_duration(|| {
        let mut budget = MatchBudget::default();
        assert!(slowest.matches_within(&long, &mut budget).is_none());
        assert_eq!(budget.steps_left(), 0);
    });
    for (template, uri) in matches {
        let parsed = parse_template(template);
        let duration =
            shortest_duration(|| _ = parsed.matches(uri).map(|captures| captures.check_safety()));
        println!("{duration:?} of {all_steps:?}: {template}");
        assert!(
            duration < 10 * all_steps,
            "{template}: {duration:?}, and all steps take {all_steps:?}"
        );
    }
}

#[test]
fn matching_is_fast_for_every_template() {
    let uri = format!("x:{}/b", "a".repeat(MAX_URI_BYTES - 10));
    let many = |one: &str| {
        (0..MAX_VARIABLES)
            .map(|i| one.replace('N', &i.to_string()))
            .collect::<String>()
    };
    let templates = [
        (format!("x:{}/!", many("{+vN}")), false),
        (format!("x:{}", many("{+vN}")), true),
        (format!("x:{}/!", many("{v}")), false),
        (format!("x:{}/!", many("{.vN}")), false),
        ("x:{+a}{.b}{+c}{/d}{+e}{;f*}{+g}{?h*,i}!".to_owned(), false),
        (format!("x:{}/!", many("{vN:9999}")), false),
        (
            format!(
                "x:{}/!",
                many("{+v:9}{+v}").replacen("{+v:9}{+v}", "", MAX_VARIABLES / 2)
            ),
            false,
        ),
        ("x:{+a}{+b}{+a}{+b}{+a}!".to_owned(), false),
        ("x:{+p}/{a}".to_owned(), true),
    ];
    for (template, found) in &templates {
        assert_eq!(
            parse_template(template).matches(&uri).is_some(),
            *found,
            "{template}"
        );
    }
    check_durations(
        templates
            .iter()
            .map(|(template, _)| (template.as_str(), uri.as_str())),
    );
}
