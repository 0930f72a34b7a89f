use std::pin::pin;

use futures_util::poll;

use super::*;

const GUESTS: Resource = Resource::Guests;

fn teams<const N: usize>(guests: u32, names: [&str; N]) -> [TeamShares; N] {
    let several_teams = SeveralTeams::default();
    several_teams.set_team_count(N);
    let shares = Shares::new(
        ShareLimits {
            guests,
            code: 64,
            log: 64,
            streams: 64,
        },
        &several_teams,
    );
    names.map(|name| shares.team(&TeamName::parse(name).unwrap()))
}

fn used<const N: usize>(teams: &[TeamShares; N]) -> [u64; N] {
    teams.each_ref().map(|team| team.used(GUESTS))
}

#[test]
fn each_resource_has_room_for_several_teams() {
    for resource in Resource::ALL {
        let [first, second] = teams(256, ["a", "b"]);
        let _all: Vec<_> = std::iter::from_fn(|| first.try_take(*resource, 1)).collect();
        assert_eq!(
            first.used(*resource),
            first.limit(*resource) / 2,
            "{resource:?}"
        );
        assert!(
            second
                .try_take(*resource, first.limit(*resource) / 4)
                .is_some(),
            "{resource:?}"
        );
    }
}

#[tokio::test]
async fn a_team_beyond_its_share_waits_and_no_other_team_waits_behind_it() {
    let both = teams(8, ["a", "b"]);
    let [a, b] = &both;
    let mut of_a: Vec<_> = (0..4).map(|_| a.try_take(GUESTS, 1).unwrap()).collect();
    let [mut fifth, mut sixth] = [(); 2].map(|()| Box::pin(a.take(GUESTS, 1)));
    assert!(poll!(fifth.as_mut()).is_pending() && poll!(sixth.as_mut()).is_pending());
    let of_b = pin!(b.take(GUESTS, 2));
    let of_b = match poll!(of_b) {
        std::task::Poll::Ready(taken) => taken.unwrap(),
        std::task::Poll::Pending => panic!("it waits behind the other team"),
    };
    // Other teams use more now, so the share of the team is smaller: three of the remaining six.
    of_a.pop();
    assert!(poll!(fifth.as_mut()).is_pending());
    of_a.pop();
    let fifth = fifth.await.unwrap();
    assert!(poll!(sixth.as_mut()).is_pending(), "{:?}", used(&both));
    drop(of_b);
    let sixth = sixth.await.unwrap();
    assert_eq!(used(&both), [4, 0]);
    drop((of_a, fifth, sixth));
    assert_eq!((used(&both), a.shared(GUESTS).ledger.used()), ([0, 0], 0));
}

#[tokio::test]
async fn the_team_that_uses_least_comes_first() {
    let [a, b, c] = teams(8, ["a", "b", "c"]);
    let _of_a = a.try_take(GUESTS, 4).unwrap();
    let of_b = b.try_take(GUESTS, 2).unwrap();
    let _of_c = c.try_take(GUESTS, 1).unwrap();
    let mut more_of_b = Box::pin(b.take(GUESTS, 1));
    let mut more_of_c = Box::pin(c.take(GUESTS, 1));
    assert!(poll!(more_of_b.as_mut()).is_pending() && poll!(more_of_c.as_mut()).is_pending());
    drop(of_b);
    assert!(more_of_c.await.is_some());
    assert!(more_of_b.await.is_some());
}

#[tokio::test]
async fn who_gives_up_neither_keeps_a_part_nor_delays_others() {
    let [only] = teams(2, ["a"]);
    let both = only.try_take(GUESTS, 2).unwrap();
    let mut first = Box::pin(only.take(GUESTS, 2));
    let mut second = Box::pin(only.take(GUESTS, 1));
    assert!(poll!(first.as_mut()).is_pending() && poll!(second.as_mut()).is_pending());
    drop(first);
    drop(both);
    let second = second.await.unwrap();
    let mut third = Box::pin(only.take(GUESTS, 2));
    assert!(poll!(third.as_mut()).is_pending());
    // The request got its part, and did not receive it.
    drop(second);
    assert_eq!(only.used(GUESTS), 2);
    drop(third);
    assert_eq!(only.used(GUESTS), 0);
}

#[test]
fn the_only_team_gets_everything_and_nobody_more_than_there_is() {
    let [only] = teams(3, ["a"]);
    assert_eq!(only.try_take(GUESTS, 4).unwrap().amount, 3);
    let [one, other] = teams(1, ["a", "b"]);
    let taken = one.try_take(GUESTS, 4).unwrap();
    assert!(taken.amount == 1 && other.try_take(GUESTS, 1).is_none());
    let [none] = teams(0, ["a"]);
    assert!(none.try_take(GUESTS, 1).is_none());
}

#[test]
fn concurrent_takes_never_exceed_the_limit_and_nobody_waits_forever() {
    let both = teams(8, ["a", "b"]);
    let held = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for (at, team) in both.iter().cycle().take(8).enumerate() {
            let held = &held;
            scope.spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .build()
                    .unwrap();
                for round in 0..2_000 {
                    let amount = 1 + (at + round) as u64 % 4;
                    let taken = runtime.block_on(team.take(GUESTS, amount)).unwrap();
                    assert!(held.fetch_add(taken.amount, SeqCst) + taken.amount <= 8);
                    held.fetch_sub(taken.amount, SeqCst);
                }
            });
        }
    });
    assert_eq!(
        (used(&both), both[0].shared(GUESTS).ledger.used()),
        ([0, 0], 0)
    );
}
