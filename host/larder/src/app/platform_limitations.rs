//! Reports which promises the server cannot keep on this operating system: in the log at its start, in the status and on
//! the page. On Linux there are none.

use larder_platform::LIMITATIONS;
use larder_runtime::health::{Health, Impact};

/// Logs and reports the limitations of this operating system.
pub(super) fn report(health: &Health) {
    report_all(LIMITATIONS, health);
}

fn report_all(limitations: &[&str], health: &Health) {
    for limitation in limitations {
        tracing::warn!("{limitation}");
        let part = format!("operating system: {limitation}");
        health.report(&part, *limitation, Impact::Notice);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_limitation_is_a_notice() {
        let health = Health::default();
        report(&health);
        assert_eq!(health.problems().len(), LIMITATIONS.len());
        report_all(&["no limits", "no links"], &health);
        let problems = health.problems();
        let found = |message: &str| problems.iter().find(|found| found.message == message);
        for message in ["no limits", "no links"] {
            assert_eq!(found(message).unwrap().impact, Impact::Notice);
        }
    }
}
