use futures_util::FutureExt as _;
use tokio::task::unconstrained;

use super::*;
use larder_runtime::ledger::SeveralTeams;
use larder_runtime::shares::{ShareLimits, Shares};

async fn check(on_full: OnFull) {
    let names = ["a", "b", "c"].map(|name| TeamName::parse(name).unwrap());
    let [a, b, c] = names.clone().map(Teams::from);
    let both = Teams::of(names[..2].iter().cloned()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let to = Some(Target::File(folder.path().join("log")));
    let drain = Drain::new();
    let metrics = Metrics::default();
    let health = Health::default();
    let config = Config {
        to,
        on_full,
        sync: false,
    };
    let several_teams = SeveralTeams::default();
    several_teams.set_team_count(names.len());
    let shares = Shares::new(ShareLimits::default(), &several_teams).teams(&names);
    let audit = AuditLog::open(&config, shares, metrics, health, &drain).unwrap();
    // Reserves a slot and keeps it. Returns whether one was free.
    let mut slots = Vec::new();
    let mut reserves = |teams: &Teams| {
        let slot = unconstrained(audit.reserve(Some(teams))).now_or_never();
        let slot = slot.and_then(Result::ok).flatten();
        let has_permit = slot.as_ref().is_some_and(|slot| slot.permit.is_some());
        slots.extend(slot);
        has_permit
    };
    let own_share = (0..AUDIT_LINES).take_while(|_| reserves(&a)).count();
    assert_eq!(own_share, AUDIT_LINES / 2);
    assert!(
        reserves(&b) && reserves(&c),
        "a team cannot use what the others leave"
    );
    // A member of both teams uses the share of its first team only.
    assert!(!reserves(&both) && reserves(&b) && reserves(&c));
    slots.clear();
    let slot = unconstrained(audit.reserve(Some(&a))).now_or_never();
    let slot = slot.and_then(Result::ok).flatten();
    assert!(slot.is_some_and(|slot| slot.permit.is_some()));
}

#[tokio::test]
async fn each_team_has_a_share_of_the_queue() {
    check(OnFull::Wait).await;
    check(OnFull::Drop).await;
}

#[tokio::test]
async fn callers_cannot_use_up_the_queue_for_events() {
    let team = TeamName::default_team();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let config = Config {
        to: Some(Target::File(path.clone())),
        on_full: OnFull::Wait,
        sync: true,
    };
    let drain = Drain::new();
    let metrics = Metrics::default();
    let shares = Shares::new(ShareLimits::default(), &SeveralTeams::default()).teams([&team]);
    let audit = AuditLog::open(&config, shares, metrics, Health::default(), &drain).unwrap();
    let teams = Teams::from(team);
    let reserve = || unconstrained(audit.reserve(Some(&teams))).now_or_never();
    let slots: Vec<_> = std::iter::from_fn(reserve).collect();
    assert_eq!(slots.len(), AUDIT_LINES);
    audit.record(&AuditEvent::new("reload", "ok"));
    drop(slots);
    assert!(drain.finish(std::time::Duration::from_secs(60)).await);
    let text = std::fs::read_to_string(path).unwrap();
    assert!(
        text.ends_with("\"operation\":\"reload\",\"outcome\":\"ok\"}\n"),
        "{text}"
    );
}
