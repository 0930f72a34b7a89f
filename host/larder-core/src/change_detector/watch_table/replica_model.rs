//! Several replicas with the real tables, in a model. The bus delays, repeats, reorders and loses messages; replicas
//! crash between a check and its report; providers return a change late or fail. The tests require that every listener
//! ends with the latest content, and that nothing is reported twice or without end.

mod world;

use proptest::prelude::*;

use self::world::World;

/// The number of replicas.
const REPLICAS: usize = 3;
/// The number of URIs.
const URIS: usize = 2;

/// The next event of the model. The first number is a replica, unless it is a URI.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// The content of a URI changes.
    Change(usize),
    /// The content of a URI changes in a call of a provider, and the provider signals the change.
    Signal(usize, usize),
    /// A provider gets the latest content of a URI. With a hint, such as an event in a folder, the URI is checked.
    See(usize, usize, bool),
    /// A client watches a URI.
    Watch(usize, usize),
    /// The client ends its watch of the URI.
    Unwatch(usize, usize),
    /// The time of periodic checks.
    Poll(usize),
    /// The due checks begin: the providers read the content.
    Begin(usize),
    /// The checks are answered.
    End(usize),
    /// The published messages leave the replica.
    Send(usize),
    /// One of the messages arrives.
    Deliver(usize, usize),
    /// One of the messages arrives, and will arrive again.
    Repeat(usize, usize),
    /// One of the messages is lost.
    Lose(usize, usize),
    /// The loss of messages, or of a replica, is noticed.
    Notice(usize),
    /// All replicas learn which replica can poll which URI.
    Learn(usize),
    /// The clients that were notified read the content.
    Read(usize),
    /// The provider fails from now on, or works again.
    Break(usize, bool),
    /// The replica ends, loses all that it did not send, and starts again.
    Crash(usize),
}

/// How content changes in the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Content never repeats, and each provider has it at once.
    Exact,
    /// Each provider gets changes at another time.
    Late,
    /// Content may become the same as earlier content.
    Repeating,
    /// Changes are signalled by providers, and content never repeats.
    Signalled,
}

fn step() -> impl Strategy<Value = Step> {
    let replica = 0..REPLICAS;
    let uri = 0..URIS;
    let number = 0..8_usize;
    let both = (replica.clone(), uri.clone());
    let message = (replica.clone(), number);
    prop_oneof![
        3 => uri.prop_map(Step::Change),
        1 => both.clone().prop_map(|(at, uri)| Step::Signal(at, uri)),
        2 => (replica.clone(), 0..URIS, any::<bool>()).prop_map(|(at, uri, hint)| Step::See(at, uri, hint)),
        3 => both.clone().prop_map(|(at, uri)| Step::Watch(at, uri)),
        1 => both.prop_map(|(at, uri)| Step::Unwatch(at, uri)),
        4 => replica.clone().prop_map(Step::Poll),
        6 => replica.clone().prop_map(Step::Begin),
        6 => replica.clone().prop_map(Step::End),
        4 => replica.clone().prop_map(Step::Send),
        6 => message.clone().prop_map(|(at, n)| Step::Deliver(at, n)),
        1 => message.clone().prop_map(|(at, n)| Step::Repeat(at, n)),
        1 => message.prop_map(|(at, n)| Step::Lose(at, n)),
        1 => replica.clone().prop_map(Step::Notice),
        3 => replica.clone().prop_map(Step::Learn),
        3 => replica.clone().prop_map(Step::Read),
        1 => (replica.clone(), any::<bool>()).prop_map(|(at, fails)| Step::Break(at, fails)),
        1 => replica.prop_map(Step::Crash),
    ]
}

fn modes() -> impl Strategy<Value = Mode> {
    prop_oneof![
        Just(Mode::Exact),
        Just(Mode::Late),
        Just(Mode::Repeating),
        Just(Mode::Signalled)
    ]
}

proptest! {
    // 256 cases by default. `cargo xtask test simulations` tries 10,000.
    #![proptest_config(ProptestConfig {
        max_shrink_iters: 2_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_listener_ends_with_the_latest_content(
        mode in modes(),
        steps in prop::collection::vec(step(), 0..150),
    ) {
        let mut world = World::new(mode);
        for step in steps { world.step(step); }
        world.settle();
        world.check_listeners();
        world.check_that_nothing_happens_any_more();
    }
}

/// The poller crashes after its check and before its report.
#[test]
fn a_change_is_not_lost_with_the_poller() {
    let mut world = World::new(Mode::Exact);
    for at in 0..REPLICAS {
        world.step(Step::Watch(at, 0));
    }
    world.settle();
    world.step(Step::Change(0));
    let poller = world.poller(0);
    for step in [
        Step::Poll(poller),
        Step::Begin(poller),
        Step::End(poller),
        Step::Crash(poller),
    ] {
        world.step(step);
    }
    world.settle();
    world.check_listeners();
    let others = (0..REPLICAS).filter(|at| *at != poller);
    assert!(others.clone().all(|at| world.notifications(at, 0) == 1));
}

/// A client subscribes after a change and before the poller finds it, and its replica becomes the poller.
#[test]
fn a_change_is_not_lost_if_the_new_poller_knows_it_already() {
    for newcomer in 0..REPLICAS {
        let mut world = World::new(Mode::Exact);
        let before = (0..REPLICAS).filter(|at| *at != newcomer);
        before.clone().for_each(|at| world.step(Step::Watch(at, 0)));
        world.settle();
        world.step(Step::Change(0));
        for step in [
            Step::Watch(newcomer, 0),
            Step::Begin(newcomer),
            Step::End(newcomer),
        ] {
            world.step(step);
        }
        world.settle();
        world.check_listeners();
        assert!(before.clone().all(|at| world.notifications(at, 0) == 1));
        assert_eq!(world.notifications(newcomer, 0), 0);
    }
}

/// The report of a second change is lost with its replica. The check that follows the first report finds the second
/// change.
#[test]
fn a_lost_signal_is_not_hidden_by_an_earlier_one() {
    let mut world = World::new(Mode::Signalled);
    world.step(Step::Watch(1, 0));
    world.settle();
    let first = [
        Step::Signal(2, 0),
        Step::Send(2),
        Step::Deliver(1, 0),
        Step::Read(1),
    ];
    let second = [
        Step::Signal(0, 0),
        Step::Begin(1),
        Step::End(1),
        Step::Crash(0),
    ];
    first
        .into_iter()
        .chain(second)
        .for_each(|step| world.step(step));
    world.settle();
    world.check_listeners();
}
