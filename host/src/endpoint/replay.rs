//! What was said on the streams of a session, for a client whose connection broke: it names the last event that it got
//! (`Last-Event-ID`), and hears what came after that. Everything here is bounded; where more was said than is
//! kept, what is left out is said again as a whole, or said to be gone.

mod remains;
mod strand;
mod told;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use super::message::Id;
use super::refusal::{REQUEST, Refusal};
use crate::resource::Caller;
pub(super) use remains::Remains;
pub(super) use strand::{Heard, Strand};
pub(super) use told::{Place, Told};

/// The stream that nobody's request opened. The others are numbered from one on.
const NOTIFICATIONS: u64 = 0;
/// Streams of requests that have ended, for those who did not hear the end.
const ENDED: usize = 8;

/// The streams of one session.
pub(super) struct Replay {
    /// Tells this session's events from another's.
    tag: String,
    told: Told,
    strands: Mutex<Strands>,
    remains: Arc<Remains>,
}

#[derive(Default)]
struct Strands {
    opened: u64,
    kept: VecDeque<Arc<Strand>>,
}

/// Where a client goes on.
pub(super) enum From {
    Notifications(Place),
    Strand(Heard),
}

impl Replay {
    /// What remains of its streams shares its room with that of all others.
    pub(super) fn new(tag: String, remains: Arc<Remains>) -> Self {
        Self { tag, told: Told::default(), strands: Mutex::default(), remains }
    }

    /// What was told that nobody asked for.
    pub(super) fn told(&self) -> &Told {
        &self.told
    }

    /// The name of an event of the notifications.
    pub(super) fn told_id(&self, number: u64) -> String {
        self.id(NOTIFICATIONS, number)
    }

    /// The name of an event of a request's stream.
    pub(super) fn strand_id(&self, strand: &Strand, number: u64) -> String {
        self.id(strand.stream(), number)
    }

    fn id(&self, stream: u64, number: u64) -> String {
        format!("{}-{stream}-{number}", self.tag)
    }

    /// Begins the stream of a request.
    pub(super) fn open(&self, request: Id, caller: Caller) -> Arc<Strand> {
        let mut strands = self.strands.lock().unwrap_or_else(PoisonError::into_inner);
        let ended = strands.kept.iter().filter(|strand| strand.is_over()).count();
        let mut surplus = (ended + 1).saturating_sub(ENDED);
        strands.kept.retain(|strand| {
            let forget = surplus > 0 && strand.is_over();
            surplus -= usize::from(forget);
            !forget
        });
        strands.opened += 1;
        let strand = Arc::new(Strand::new(strands.opened, request, caller, self.remains.clone()));
        strands.kept.push_back(strand.clone());
        strand
    }

    /// Where the event stands that a client got last. Answers are for the caller who asked, with the scopes he had.
    pub(super) fn find(&self, last: &str, caller: &Caller) -> Result<From, Refusal> {
        let unknown = || {
            Refusal::early(
                REQUEST,
                "`Last-Event-ID` names no event of this session: leave it out, and read again what you follow",
            )
        };
        let (stream, number) = self.parse(last).ok_or_else(unknown)?;
        if stream == NOTIFICATIONS {
            return self.told.at(number).map(From::Notifications).ok_or_else(unknown);
        }
        let strands = self.strands.lock().unwrap_or_else(PoisonError::into_inner);
        if stream > strands.opened {
            return Err(unknown());
        }
        let is_it = |strand: &&Arc<Strand>| strand.stream() == stream && !strand.is_gone();
        let strand = strands.kept.iter().find(is_it).ok_or_else(|| {
            Refusal::early(REQUEST, "the stream of `Last-Event-ID` has ended and is not kept: ask again")
        })?;
        if !strand.is_of(caller) {
            return Err(unknown());
        }
        Strand::listen(strand, number).map(From::Strand).ok_or_else(unknown)
    }

    fn parse(&self, last: &str) -> Option<(u64, u64)> {
        let (stream, number) = last.strip_prefix(&self.tag)?.strip_prefix('-')?.split_once('-')?;
        Some((stream.parse().ok()?, number.parse().ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Change;
    use crate::endpoint::scan::Json;
    use crate::name::Teams;

    fn request() -> Id {
        Id::read(Json::read("1").unwrap()).unwrap()
    }

    fn caller(scope: &str) -> Caller {
        Caller { subject: None, issuer: None, teams: Teams::sole(), scopes: vec![scope.into()] }
    }

    fn found(replay: &Replay, last: &str) -> Result<&'static str, String> {
        match replay.find(last, &caller("read")) {
            Ok(From::Notifications(_)) => Ok("notifications"),
            Ok(From::Strand(_)) => Ok("strand"),
            Err(refusal) => Err(refusal.message.to_string()),
        }
    }

    #[test]
    fn only_events_of_this_session_are_found() {
        let (replay, other) =
            (Replay::new("a1".into(), Arc::default()), Replay::new("b2".into(), Arc::default()));
        for replay in [&replay, &other] {
            replay.told().note(&mut Place::default(), vec![Change::List]);
        }
        let strand = replay.open(request(), caller("read"));
        strand.say(b"report".to_vec());
        assert_eq!(found(&replay, &replay.told_id(1)), Ok("notifications"));
        assert_eq!(found(&replay, &replay.strand_id(&strand, 1)), Ok("strand"));
        let narrower = replay.find(&replay.strand_id(&strand, 1), &caller("less"));
        assert!(narrower.is_err(), "an answer is for the caller who asked, as he asked");
        for bad in [
            &other.told_id(1),
            &replay.told_id(2),
            &replay.strand_id(&strand, 2),
            "a1-2-1",
            "a1-0-",
            "a1-0-1-1",
            "a1-0--1",
            "a1",
            "1",
            "a10-1",
        ] {
            assert!(found(&replay, bad).unwrap_err().contains("no event of this session"), "{bad}");
        }
    }

    #[test]
    fn the_oldest_that_have_ended_are_forgotten() {
        let replay = Replay::new("a".into(), Arc::default());
        let running = replay.open(request(), caller("read"));
        let ended: Vec<_> = (0..2 * ENDED)
            .map(|_| {
                let strand = replay.open(request(), caller("read"));
                strand.say(b"report".to_vec());
                strand.end();
                strand
            })
            .collect();
        assert_eq!(found(&replay, &replay.strand_id(&running, 0)), Ok("strand"));
        let gone = found(&replay, &replay.strand_id(&ended[0], 1)).unwrap_err();
        assert!(gone.contains("ask again"), "{gone}");
        assert_eq!(found(&replay, &replay.strand_id(&ended[2 * ENDED - 1], 1)), Ok("strand"));
        assert!(replay.strands.lock().unwrap().kept.len() <= ENDED + 1);
    }
}
