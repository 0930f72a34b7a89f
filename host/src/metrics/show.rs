//! The families that have a team and a provider.

use std::sync::Arc;

use super::text::{Kind, Text};
use super::{Kept, Outcome, Tally};
use crate::name::{ProviderName, TeamName};

type Living = (TeamName, ProviderName, Arc<Tally>);

pub(super) fn providers(text: &mut Text, all: &[Living]) {
    let name = "larder_calls_total";
    text.family(name, Kind::Counter, "Calls into guests, by how they ended.");
    for (team, provider, tally) in all {
        for outcome in Outcome::ALL {
            let labels =
                [("team", team.as_str()), ("provider", provider.as_str()), ("outcome", outcome.word())];
            text.sample(name, &labels, tally.calls(*outcome));
        }
    }
    let name = "larder_cache_reads_total";
    text.family(
        name,
        Kind::Counter,
        "Reads, by whether an answer was known or the provider had to be asked.",
    );
    for (team, provider, tally) in all {
        for kept in Kept::ALL {
            let labels = [("team", team.as_str()), ("provider", provider.as_str()), ("result", kept.word())];
            text.sample(name, &labels, tally.reads(kept));
        }
    }
    times(text, all, "larder_call_seconds", "Time that a call takes, without its wait.", |t| &t.durations);
    times(text, all, "larder_queue_seconds", "Time that a call waits for its turn.", |t| &t.waits);
    numbers(text, all);
}

fn numbers(text: &mut Text, all: &[Living]) {
    type Number = (&'static str, Kind, &'static str, fn(&Tally) -> f64);
    let numbers: [Number; 4] = [
        (
            "larder_guest_cpu_seconds_total",
            Kind::Counter,
            "Time of guests on a processor.",
            Tally::cpu_seconds,
        ),
        ("larder_guests", Kind::Gauge, "Guests that are open.", |tally| tally.guests.get() as f64),
        ("larder_guest_memory_bytes", Kind::Gauge, "Memory of the guests that are open.", |tally| {
            tally.memory() as f64
        }),
        ("larder_guest_memory_largest_bytes", Kind::Gauge, "The most memory that one guest had.", |tally| {
            tally.largest_memory() as f64
        }),
    ];
    for (name, kind, help, number) in numbers {
        text.family(name, kind, help);
        for (team, provider, tally) in all {
            text.sample(name, &[("team", team.as_str()), ("provider", provider.as_str())], number(tally));
        }
    }
}

fn times(text: &mut Text, all: &[Living], name: &str, help: &str, of: fn(&Tally) -> &super::Times) {
    text.family(name, Kind::Histogram, help);
    for (team, provider, tally) in all {
        text.times(name, &[("team", team.as_str()), ("provider", provider.as_str())], of(tally));
    }
}
