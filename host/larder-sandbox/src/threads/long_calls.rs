//! Threads for calls that take long or need much memory. A call starts on the thread that received it, which serves
//! other requests too. When the call has used a millisecond of CPU time, or before its guest allocates much memory, the
//! call is moved to one of these threads, where the teams share the time by weight. Guests with much memory are cleared
//! here too.

mod job;
mod threads;

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::sync::oneshot;
use tracing::Instrument as _;
use tracing::instrument::WithSubscriber as _;

use self::job::{Job, JobQueue as _};
use self::threads::Threads;
use super::call_meter::CallMeter;
use super::ticker::LongRunReports;
use larder_runtime::drain::Drain;

/// The threads, and what is needed to move calls to them.
pub(crate) struct LongCalls {
    threads: Arc<Threads>,
    drain: Drain,
}

impl LongCalls {
    pub(crate) fn new(long_runs: LongRunReports, drain: &Drain) -> Self {
        Self {
            threads: Arc::new(Threads::new(long_runs)),
            drain: drain.clone(),
        }
    }

    /// Makes a call: on this thread, and after a move on another thread. If this future is dropped, the call is dropped
    /// too.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        mut call: BoxFuture<'static, T>,
        meter: &Arc<CallMeter>,
    ) -> T {
        loop {
            let run_here = poll_fn(|context| {
                match meter
                    .poll_on_receiver(&self.threads.long_runs, || call.as_mut().poll(context))
                {
                    (Poll::Ready(output), _) => Poll::Ready(Some(output)),
                    (Poll::Pending, true) => Poll::Ready(None),
                    (Poll::Pending, false) => Poll::Pending,
                }
            });
            match run_here.await {
                Some(output) => return output,
                // Without such threads, the call continues here after it has yielded.
                None if self.threads.are_available() => return self.move_call(call, meter).await,
                None => {}
            }
        }
    }

    async fn move_call<T: Send + 'static>(
        &self,
        call: BoxFuture<'static, T>,
        meter: &Arc<CallMeter>,
    ) -> T {
        meter.config.metrics.moved_calls.inc();
        let (mut sender, receiver) = oneshot::channel();
        let threads = self.threads.clone();
        let call_meter = meter.clone();
        let work = async move {
            let output = {
                let mut call = pin!(async {
                    // The call is dropped here, on the thread for long calls, also if its output is not awaited any
                    // more.
                    tokio::select! {
                        biased;
                        () = sender.closed() => None,
                        output = AssertUnwindSafe(call).catch_unwind() => Some(output),
                    }
                });
                poll_fn(|context| {
                    call_meter.run(&threads.long_runs, || call.as_mut().poll(context))
                })
                .await
            };
            // The CPU time was charged before the output can be received.
            output.and_then(|output| sender.send(output).ok());
        };
        self.start(
            meter.clone(),
            work.in_current_span().with_current_subscriber(),
        );
        match receiver.await {
            Ok(Ok(output)) => output,
            Ok(Err(panic)) => resume_unwind(panic),
            Err(_) => resume_unwind(Box::new("a call ended without an output")),
        }
    }

    /// Clears a guest with much memory on one of the threads. The time is charged as CPU time of its team.
    pub(crate) fn clear<G: Send + 'static>(&self, meter: Arc<CallMeter>, guest: G) {
        if self.threads.are_available() {
            let threads = self.threads.clone();
            let call_meter = meter.clone();
            self.start(meter, async move {
                call_meter.run(&threads.long_runs, || drop(guest))
            });
        }
    }

    fn start(&self, meter: Arc<CallMeter>, work: impl Future<Output = ()> + Send + 'static) {
        let job = Job::new(
            Box::pin(work),
            meter,
            self.drain.outside_task(),
            self.threads.clone(),
        );
        self.threads.add(job);
    }
}

impl Drop for LongCalls {
    fn drop(&mut self) {
        self.threads.stop();
    }
}

#[cfg(test)]
mod tests;
