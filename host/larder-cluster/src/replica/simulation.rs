//! A simulation of many replicas with a simulated clock: how much they send, and which replica polls a URI. It runs the
//! code of the server; only the network, the clients and the clock are simulated.

mod bus;
mod measure;
mod world;

use std::time::Duration;

use self::measure::Phase;
use self::world::{Size, World};

/// A deployment of the size that the tests can afford in each run.
#[test]
fn every_watched_uri_has_one_poller() {
    run(Size {
        replicas: 16,
        watchers: 3_000,
        uris: 900,
        sampled: 300,
        updates_per_second: 5,
    });
}

/// The deployment whose figures are in docs/performance.md. Run it with
/// `cargo nextest run --workspace --run-ignored only --no-capture -E 'test(simulation)'`.
#[test]
#[ignore = "takes minutes"]
fn a_hundred_replicas_and_a_hundred_thousand_watchers() {
    run(Size {
        replicas: 100,
        watchers: 100_000,
        uris: 20_000,
        sampled: 500,
        updates_per_second: 50,
    });
}

fn run(size: Size) {
    let mut world = World::new(size);
    let seconds = Duration::from_secs;
    let tenth = size.replicas / 10 + 1;
    println!("{}", Phase::HEADER);
    let phase = |world: &mut World, name: &str, act: &mut dyn FnMut(&mut World)| {
        world.begin_phase();
        act(world);
        // The connections of clients have settled, and all ended leases were detected.
        world.run(seconds(16));
        let phase = world.end_phase(name);
        println!("{phase}");
        assert_eq!(
            world.with_other_than_one_poller(),
            0,
            "{name}: no URI has two pollers, or none"
        );
        assert!(
            phase.longest_without_poller <= world::LEASE + seconds(1),
            "{name}: {phase}"
        );
    };
    phase(&mut world, "start of all", &mut |world| {
        world.start(size.replicas);
        world.connect_watchers();
    });
    phase(&mut world, "quiet", &mut |world| world.run(seconds(10)));
    phase(&mut world, "10 % join", &mut |world| world.start(tenth));
    phase(&mut world, "10 % die", &mut |world| world.kill(tenth));
    phase(&mut world, "clients move", &mut |world| {
        world.move_watchers(size.watchers / 10)
    });
    phase(&mut world, "messages lost", &mut |world| {
        world.lose_messages(0.01);
        world.move_watchers(size.watchers / 10);
        world.run(seconds(30));
        world.lose_messages(0.0);
    });
    phase(&mut world, "NATS is away", &mut |world| {
        world.disconnect_all();
        world.run(seconds(20));
        world.connect_all();
    });
    phase(&mut world, "rolling restart", &mut |world| {
        world.restart_all(seconds(2))
    });
    assert!(
        world.spread() < 2.0,
        "the polls are spread evenly: {}",
        world.spread()
    );
}
