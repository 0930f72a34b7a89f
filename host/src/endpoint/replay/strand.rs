//! The stream of one request: its reports and its answer, while it is under way and for a while after. Reports are kept
//! only as far as they are news, an answer only if it is small: who comes too late for it is told to ask again.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::remains::Remains;
use crate::endpoint::answer::error;
use crate::endpoint::message::Id;
use crate::endpoint::refusal::{INTERNAL, Refusal};
use crate::resource::Caller;

/// The most reports that are kept; a later one says more.
const REPORTS: usize = 16;
/// The largest answer that is kept for somebody who is not there.
const ANSWER: usize = 64 << 10;

/// The stream of one request.
pub(in crate::endpoint) struct Strand {
    stream: u64,
    request: Id,
    caller: Caller,
    said: Mutex<Said>,
    bell: Notify,
    remains: Arc<Remains>,
}

#[derive(Default)]
struct Said {
    last: u64,
    reports: VecDeque<(u64, Bytes)>,
    answer: Option<(u64, Bytes)>,
    over: bool,
    /// It was kept for long enough.
    old: bool,
    reader: Option<CancellationToken>,
}

/// One who hears it. The newest is the only one.
pub(in crate::endpoint) struct Heard {
    strand: Arc<Strand>,
    last: u64,
    token: CancellationToken,
}

impl Strand {
    pub(super) fn new(stream: u64, request: Id, caller: Caller, remains: Arc<Remains>) -> Self {
        Self { stream, request, caller, said: Mutex::default(), bell: Notify::new(), remains }
    }

    pub(super) fn stream(&self) -> u64 {
        self.stream
    }

    pub(super) fn is_of(&self, caller: &Caller) -> bool {
        self.caller == *caller
    }

    pub(super) fn is_over(&self) -> bool {
        self.lock().over
    }

    pub(in crate::endpoint) fn say(&self, report: Vec<u8>) {
        let mut said = self.lock();
        said.last += 1;
        let numbered = (said.last, report.into());
        said.reports.push_back(numbered);
        if said.reports.len() > REPORTS {
            said.reports.pop_front();
        }
        drop(said);
        self.bell.notify_waiters();
    }

    pub(in crate::endpoint) fn answer(&self, answer: Vec<u8>) {
        let mut said = self.lock();
        said.last += 1;
        said.answer = Some((said.last, answer.into()));
        if said.reader.is_none() {
            self.forget_large(&mut said);
        }
        drop(said);
        self.bell.notify_waiters();
    }

    /// Nothing more comes.
    pub(in crate::endpoint) fn end(self: &Arc<Self>) {
        let mut said = self.lock();
        said.over = true;
        let bytes = said.bytes();
        drop(said);
        self.bell.notify_waiters();
        self.remains.add(self, bytes);
    }

    /// Keeps it no longer than somebody hears it.
    pub(super) fn forget(&self) {
        let mut said = self.lock();
        said.old = true;
        said.let_go();
    }

    /// Whether nothing of it is kept any more.
    pub(super) fn is_gone(&self) -> bool {
        let said = self.lock();
        said.old && said.reader.is_none()
    }

    /// Hears what comes after an event; none if there was no such event.
    pub(in crate::endpoint) fn listen(strand: &Arc<Self>, last: u64) -> Option<Heard> {
        let mut said = strand.lock();
        if last > said.last {
            return None;
        }
        let token = CancellationToken::new();
        if let Some(older) = said.reader.replace(token.clone()) {
            older.cancel();
        }
        drop(said);
        Some(Heard { strand: strand.clone(), last, token })
    }

    fn forget_large(&self, said: &mut Said) {
        if let Some((_, answer)) = said.answer.as_mut().filter(|(_, answer)| answer.len() > ANSWER) {
            let gone = Refusal::new(INTERNAL, "the answer was too large to be kept: ask again");
            *answer = error(Some(&self.request), &gone).into();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Said> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Said {
    fn after(&self, last: u64) -> Option<(u64, Bytes)> {
        self.reports.iter().chain(&self.answer).find(|(number, _)| *number > last).cloned()
    }

    /// How much of it is kept for somebody who is not there.
    fn bytes(&self) -> usize {
        let answer = self.answer.as_ref().map_or(0, |(_, answer)| answer.len().min(ANSWER));
        self.reports.iter().map(|(_, report)| report.len()).sum::<usize>() + answer
    }

    fn let_go(&mut self) {
        if self.old && self.reader.is_none() {
            self.reports = VecDeque::new();
            self.answer = None;
        }
    }
}

impl Heard {
    pub(in crate::endpoint) fn strand(&self) -> &Strand {
        &self.strand
    }

    /// The number of the last event that was heard.
    pub(in crate::endpoint) fn last(&self) -> u64 {
        self.last
    }

    /// Whether it is over, and all of it was heard.
    pub(in crate::endpoint) fn is_done(&self) -> bool {
        let said = self.strand.lock();
        said.over && said.after(self.last).is_none()
    }

    /// What comes next, with its number; none at the end, or when another hears it. Dropping this future loses nothing.
    pub(in crate::endpoint) async fn next(&mut self) -> Option<(u64, Bytes)> {
        loop {
            let mut rung = std::pin::pin!(self.strand.bell.notified());
            rung.as_mut().enable();
            {
                let said = self.strand.lock();
                if self.token.is_cancelled() {
                    return None;
                }
                if let Some((number, bytes)) = said.after(self.last) {
                    self.last = number;
                    return Some((number, bytes));
                }
                if said.over {
                    return None;
                }
            }
            tokio::select! {
                () = rung => {}
                () = self.token.cancelled() => {}
            }
        }
    }
}

impl Drop for Heard {
    fn drop(&mut self) {
        let mut said = self.strand.lock();
        // Another may have taken this one's place.
        if !self.token.is_cancelled() {
            said.reader = None;
            self.strand.forget_large(&mut said);
            said.let_go();
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::endpoint::scan::Json;
    use crate::name::Teams;

    pub(in super::super) fn strand(remains: &Arc<Remains>) -> Arc<Strand> {
        let caller = Caller { subject: None, issuer: None, teams: Teams::sole(), scopes: vec![] };
        let request = Id::read(Json::read("7").unwrap()).unwrap();
        Arc::new(Strand::new(1, request, caller, remains.clone()))
    }

    async fn rest(mut heard: Heard) -> Vec<(u64, String)> {
        let mut all = vec![];
        while let Some((number, bytes)) = heard.next().await {
            all.push((number, String::from_utf8(bytes.into()).unwrap()));
        }
        all
    }

    #[tokio::test]
    async fn who_comes_back_hears_the_rest_and_takes_the_place() {
        let strand = strand(&Arc::default());
        strand.say(b"a".to_vec());
        let mut first = Strand::listen(&strand, 0).unwrap();
        assert_eq!(first.next().await.unwrap().0, 1);
        let second = Strand::listen(&strand, 1).unwrap();
        assert!(first.next().await.is_none(), "a message goes to one stream only");
        drop(first);
        strand.say(b"b".to_vec());
        strand.answer(b"c".to_vec());
        strand.end();
        assert_eq!(rest(second).await, [(2, "b".into()), (3, "c".into())]);
        assert_eq!(rest(Strand::listen(&strand, 2).unwrap()).await, [(3, "c".into())]);
        assert!(Strand::listen(&strand, 4).is_none());
    }

    #[tokio::test]
    async fn a_large_answer_is_for_who_is_there() {
        let large = vec![b'x'; ANSWER + 1];
        for there in [true, false] {
            let strand = strand(&Arc::default());
            let heard = there.then(|| Strand::listen(&strand, 0).unwrap());
            strand.answer(large.clone());
            strand.end();
            if let Some(heard) = heard {
                assert_eq!(rest(heard).await[0].1.len(), large.len());
            }
            let late = rest(Strand::listen(&strand, 0).unwrap()).await;
            assert!(late[0].1.contains(r#""id":7"#) && late[0].1.contains("ask again"), "{late:?}");
        }
    }

    #[tokio::test]
    async fn reports_are_bounded_and_the_newest_stay() {
        let strand = strand(&Arc::default());
        (0..100).for_each(|n| strand.say(vec![b'0' + n % 10]));
        strand.end();
        let kept = rest(Strand::listen(&strand, 0).unwrap()).await;
        assert_eq!((kept.len(), kept[15].0), (REPORTS, 100));
    }
}
