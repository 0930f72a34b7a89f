use super::*;
use larder_model::name::Teams;

fn named(subject: &str) -> Caller {
    Caller {
        subject: Some(subject.into()),
        issuer: None,
        teams: Teams::default_team(),
        scopes: vec![],
    }
}

fn teams<const N: usize>(budget: &MemoryBudget, names: [&str; N]) -> [TeamMemory; N] {
    budget.set_team_count(N);
    names.map(|name| budget.team(&TeamName::parse(name).unwrap()))
}

fn charge(
    team: &TeamMemory,
    caller: Option<&Caller>,
    bytes: u64,
) -> Result<MemoryCharge, ChargeError> {
    team.charge(MemoryUse::Guests, caller, bytes)
}

#[test]
fn a_team_gets_half_of_what_the_others_leave() {
    let budget = MemoryBudget::new(100);
    let [a, b, c] = teams(&budget, ["a", "b", "c"]);
    let first = charge(&a, None, 50).unwrap();
    assert_eq!(charge(&a, None, 1).unwrap_err(), ChargeError::Full);
    let second = charge(&b, None, 25).unwrap();
    assert_eq!(charge(&b, None, 1).unwrap_err(), ChargeError::Full);
    assert_eq!(
        charge(&c, None, 51).unwrap_err(),
        ChargeError::AboveLimit(50)
    );
    let third = charge(&c, None, 12).unwrap();
    assert_eq!(budget.used(), 87);
    drop((first, second, third));
    assert_eq!((budget.used(), a.0.used.load(SeqCst)), (0, 0));
}

#[test]
fn the_only_team_gets_everything_and_a_named_caller_half() {
    let budget = MemoryBudget::new(100);
    let [team] = teams(&budget, ["a"]);
    let ann = named("ann");
    let bob = named("bob");
    let all = charge(&team, None, 100).unwrap();
    assert_eq!(charge(&team, None, 1).unwrap_err(), ChargeError::Full);
    drop(all);
    assert_eq!(
        charge(&team, None, 101).unwrap_err(),
        ChargeError::AboveLimit(100)
    );
    let of_ann = charge(&team, Some(&ann), 50).unwrap();
    assert_eq!(charge(&team, Some(&ann), 1).unwrap_err(), ChargeError::Full);
    assert_eq!(
        charge(&team, Some(&bob), 51).unwrap_err(),
        ChargeError::AboveLimit(50)
    );
    let of_bob = charge(&team, Some(&bob), 25).unwrap();
    drop((of_ann, of_bob));
    assert!(team.callers().is_empty() && budget.used() == 0);
}

#[test]
fn a_part_has_a_limit_of_its_own() {
    let whole = MemoryBudget::new(100);
    let part = whole.sub_budget(40);
    let ([of_whole], [of_part]) = (teams(&whole, ["a"]), teams(&part, ["a"]));
    let ann = named("ann");
    let one = charge(&of_part, Some(&ann), 20).unwrap();
    assert_eq!((part.used(), whole.used()), (20, 20));
    assert_eq!(
        charge(&of_part, Some(&ann), 10).unwrap_err(),
        ChargeError::Full
    );
    // The caller's bytes in the part count in the whole.
    assert_eq!(
        charge(&of_whole, Some(&ann), 31).unwrap_err(),
        ChargeError::Full
    );
    let other = charge(&of_whole, None, 75).unwrap();
    assert_eq!(charge(&of_part, None, 10).unwrap_err(), ChargeError::Full);
    assert_eq!(
        (part.used(), whole.used()),
        (20, 95),
        "a refusal changes nothing"
    );
    drop((one, other));
    assert_eq!((part.used(), whole.used()), (0, 0));
    assert!(of_whole.callers().is_empty() && of_part.callers().is_empty());
    assert_eq!(whole.report().uses[0], ("guests", 0, 3));
}

#[test]
fn a_charge_grows_shrinks_merges_and_splits() {
    let budget = MemoryBudget::new(100);
    let [team] = teams(&budget, ["a"]);
    let ann = named("ann");
    let mut one = charge(&team, None, 10).unwrap();
    one.grow(Some(&ann), 30).unwrap();
    assert_eq!(one.grow(Some(&ann), 61), Err(ChargeError::AboveLimit(50)));
    one.shrink(20);
    assert_eq!(
        (
            one.bytes(),
            budget.used(),
            team.callers().values().sum::<u64>()
        ),
        (20, 20, 10)
    );
    one.merge(charge(&team, Some(&ann), 5).unwrap()).unwrap();
    let other = one
        .merge(charge(&team, Some(&named("bob")), 5).unwrap())
        .unwrap_err();
    assert_eq!((one.bytes(), other.bytes(), budget.used()), (25, 5, 30));
    let part = one.split(20);
    assert_eq!((one.bytes(), part.bytes(), budget.used()), (5, 20, 30));
    drop(part);
    assert_eq!(
        (budget.used(), team.callers().values().sum::<u64>()),
        (10, 5)
    );
    drop((one, other));
    assert!(team.callers().is_empty() && budget.used() == 0);
}

#[test]
fn concurrent_charges_never_exceed_the_limit() {
    let budget = MemoryBudget::new(1_000);
    let [a, b] = teams(&budget, ["a", "b"]);
    let held = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for (what, team) in MemoryUse::ALL.into_iter().zip([&a, &b, &a, &b]) {
            let held = &held;
            scope.spawn(move || {
                for n in 1..2_000 {
                    if let Ok(charge) = team.charge(what, None, n % 400) {
                        assert!(held.fetch_add(charge.bytes(), SeqCst) + charge.bytes() <= 1_000);
                        held.fetch_sub(charge.bytes(), SeqCst);
                    }
                }
            });
        }
    });
    assert_eq!(budget.used(), 0);
}
