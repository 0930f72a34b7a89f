//! Reports of progress on their way up, and the exchange that they belong to: some reports, then one answer.

use std::collections::VecDeque;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio::sync::mpsc;

use super::fields::Fields;
use super::json::object;
use super::message::Id;
use super::refusal::{PARAMS, Refusal};
use crate::resource::Progress;

/// Reports that may wait for a slow client; what comes while they do is lost, and the next one says more.
const WAITING: usize = 16;

/// Reports of one call, as notifications.
#[derive(Debug)]
pub(super) struct Reports(Option<Wanted>);

#[derive(Debug)]
struct Wanted {
    token: Id,
    reports: mpsc::Receiver<Progress>,
    last: f64,
}

impl Reports {
    /// Reads the token, if there is one, and gives what the call reports to.
    pub(super) fn wanted(meta: &Fields<'_>) -> Result<(Self, Option<mpsc::Sender<Progress>>), Refusal> {
        let Some(raw) = meta.get("progressToken") else { return Ok((Self(None), None)) };
        let token = Id::read(raw)
            .ok_or_else(|| Refusal::new(PARAMS, "`_meta.progressToken` must be a string or an integer"))?;
        let (sender, reports) = mpsc::channel(WAITING);
        Ok((Self(Some(Wanted { token, reports, last: f64::NEG_INFINITY })), Some(sender)))
    }

    pub(super) fn are_wanted(&self) -> bool {
        self.0.is_some()
    }

    /// The next report; none when no more can come.
    async fn next(&mut self) -> Option<Vec<u8>> {
        let wanted = self.0.as_mut()?;
        loop {
            let report = wanted.reports.recv().await?;
            if let Some(bytes) = wanted.notification(&report) {
                return Some(bytes);
            }
        }
    }

    /// What was reported and not yet told.
    fn rest(&mut self) -> VecDeque<Vec<u8>> {
        let Some(mut wanted) = self.0.take() else { return VecDeque::new() };
        let reports = std::iter::from_fn(|| wanted.reports.try_recv().ok()).collect::<Vec<_>>();
        reports.iter().filter_map(|report| wanted.notification(report)).collect()
    }
}

impl Wanted {
    /// Progress must grow; a report that does not is not told.
    fn notification(&mut self, report: &Progress) -> Option<Vec<u8>> {
        if !report.done.is_finite() || report.done <= self.last {
            return None;
        }
        self.last = report.done;
        Some(object(|o| {
            o.text("jsonrpc", "2.0");
            o.text("method", "notifications/progress");
            o.object("params", |o| {
                o.json("progressToken", self.token.json());
                o.number("progress", report.done);
                report.total.into_iter().for_each(|total| o.number("total", total));
                o.maybe("message", report.message.as_deref());
            });
        }))
    }
}

/// What comes up in the course of a call.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Said {
    Report(Vec<u8>),
    Answer(Vec<u8>),
}

/// A call that is under way.
pub(super) struct Exchange {
    answer: Option<BoxFuture<'static, Option<Vec<u8>>>>,
    ready: Option<Vec<u8>>,
    reports: Reports,
    waiting: VecDeque<Vec<u8>>,
}

impl Exchange {
    /// The answer is none when the call was cancelled.
    pub(super) fn new(reports: Reports, answer: BoxFuture<'static, Option<Vec<u8>>>) -> Self {
        Self { answer: Some(answer), ready: None, reports, waiting: VecDeque::new() }
    }

    /// What comes next: reports, the answer, and then none. Dropping this future loses nothing.
    pub(super) async fn next(&mut self) -> Option<Said> {
        if let Some(answer) = &mut self.answer {
            let ready = tokio::select! {
                biased;
                Some(report) = self.reports.next() => return Some(Said::Report(report)),
                ready = answer => ready,
            };
            self.answer = None;
            // A cancelled call says nothing more, reports included.
            self.ready = ready;
            self.waiting = if self.ready.is_some() { self.reports.rest() } else { VecDeque::new() };
        }
        let report = self.waiting.pop_front().map(Said::Report);
        report.or_else(|| self.ready.take().map(Said::Answer))
    }
}

/// Tells what still runs for a call that nobody waits for it any more.
pub(super) struct Waiting(pub(super) Arc<crate::resource::Call>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress(done: f64) -> Progress {
        Progress { done, total: Some(2.0), message: None }
    }

    async fn all(mut exchange: Exchange) -> Vec<String> {
        let mut said = vec![];
        while let Some(Said::Report(bytes) | Said::Answer(bytes)) = exchange.next().await {
            said.push(String::from_utf8(bytes).unwrap());
        }
        said
    }

    #[tokio::test]
    async fn reports_come_before_the_answer_and_only_grow() {
        let meta = Fields::parse(r#"{"progressToken":"t"}"#).unwrap();
        let (reports, sender) = Reports::wanted(&meta).unwrap();
        let sender = sender.unwrap();
        let answer = async move {
            for done in [1.0, 1.0, 0.5, f64::NAN, 2.0] {
                sender.send(progress(done)).await.unwrap();
            }
            Some(b"answer".to_vec())
        };
        let report = |n: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":"t","progress":{n},"total":2.0}}}}"#
            )
        };
        assert_eq!(
            all(Exchange::new(reports, Box::pin(answer))).await,
            [report("1.0"), report("2.0"), "answer".into()]
        );
    }

    #[tokio::test]
    async fn a_cancelled_call_says_nothing() {
        let meta = Fields::parse(r#"{"progressToken":7}"#).unwrap();
        let (reports, sender) = Reports::wanted(&meta).unwrap();
        let answer = async move {
            sender.unwrap().send(progress(1.0)).await.unwrap();
            None
        };
        assert!(all(Exchange::new(reports, Box::pin(answer))).await.is_empty());
    }

    #[test]
    fn a_token_is_a_string_or_an_integer() {
        for bad in ["{\"progressToken\":1.5}", "{\"progressToken\":{}}", "{\"progressToken\":true}"] {
            assert!(Reports::wanted(&Fields::parse(bad).unwrap()).is_err(), "{bad}");
        }
        assert!(!Reports::wanted(&Fields::default()).unwrap().0.are_wanted());
    }
}
