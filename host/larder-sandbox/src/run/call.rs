//! Calls to guests: uses an idle guest or opens one, limits the duration of the call, and determines why a
//! call failed.

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::compiled::CompiledComponent;
use super::fault::{ExceededLimits, classify, fault_without_detail, timeout_fault};
use super::guest::{GuestCall, OpenGuest};
use super::reuse::ReuseKey;
use crate::Sandbox;
use crate::engine::error::{causes_and_backtrace, frames};
use crate::guest::state::GuestState;
use crate::guest_config::Lease;
use crate::threads::call_meter::CallMeter;
use crate::threads::queue_timer::QueueTimer;
use larder_provider::{Fault, FaultKind};
use larder_runtime::deadline::with_deadline;
use larder_runtime::history::{Event, EventKind};
use larder_runtime::shares::Resource;

/// Maximum number of characters of the engine's error text in a [`Fault`].
const MAX_FAULT_DETAIL: usize = 4_096;

const NOTHING_LEFT: &str =
    "nothing is left for another guest: the team uses its share, or all are used";

/// One attempt to make a call.
struct CallAttempt<'a, W> {
    guest_call: &'a W,
    meter: &'a Arc<CallMeter>,
    /// With a key, the guest is kept for another call.
    reuse_key: Option<ReuseKey>,
    start: Instant,
    time_limit: CallTimeLimit,
}

/// How long a call may take, with all its attempts.
#[derive(Clone, Copy)]
struct CallTimeLimit {
    deadline: Instant,
    /// The maximum duration of the call, for messages.
    timeout: Duration,
}

impl<'a, W> CallAttempt<'a, W> {
    /// Begins an attempt. Without a limit, it is the first one, and has the whole time.
    fn begin(
        guest_call: &'a W,
        meter: &'a Arc<CallMeter>,
        reuse_key: Option<ReuseKey>,
        lease: &Lease,
        time_limit: Option<CallTimeLimit>,
    ) -> Self {
        let start = Instant::now();
        let whole = || {
            let (deadline, timeout) = lease.deadline(start);
            CallTimeLimit { deadline, timeout }
        };
        Self {
            guest_call,
            meter,
            reuse_key,
            start,
            time_limit: time_limit.unwrap_or_else(whole),
        }
    }
}

impl Sandbox {
    /// Makes a call to a guest, within the limits of the lease. Without `reuse_key`, the guest is new and is dropped
    /// after the call. With `reuse_key`, an idle guest with this key is used if there is one, and the guest is kept
    /// after the call.
    pub(crate) async fn run<W: GuestCall>(
        &self,
        compiled: Arc<CompiledComponent>,
        meter: &Arc<CallMeter>,
        lease: Lease,
        queue_timer: QueueTimer,
        reuse_key: Option<ReuseKey>,
        guest_call: &W,
    ) -> Result<W::Output, Fault> {
        let places = compiled.places.count();
        // The threads are reserved also for an idle guest, because it may use the folders that it opened.
        let _threads = match &lease.folder_threads {
            Some(threads) => {
                let reserved = queue_timer.wait(threads.reserve()).await.flatten();
                Some(reserved.ok_or_else(|| self.refuse(&lease, Resource::FolderThreads))?)
            }
            None => None,
        };
        let idle = reuse_key
            .as_ref()
            .and_then(|reuse_key| self.reusable.take(reuse_key));
        let (taken, time_limit) = if let Some(mut guest) = idle {
            drop(queue_timer);
            guest.store.data_mut().begin_call(lease.clone());
            let attempt = CallAttempt::begin(guest_call, meter, reuse_key.clone(), &lease, None);
            let time_limit = attempt.time_limit;
            match self.attempt(async { Ok(guest) }, attempt).await {
                // The cause may be state that an earlier call left in the guest.
                Err(fault) if guest_call.is_repeatable() && fault.kind.may_be_caused_by_reuse() => {
                    log_retry(&lease, &fault);
                }
                result => return result,
            }
            // The places of the failed guest are free when the guest is cleared, unless another call takes them. The
            // fresh guest only has the remaining time.
            let taken = with_deadline(
                || time_limit.deadline,
                lease.shares.take(Resource::Guests, places),
            )
            .await;
            (taken.flatten(), Some(time_limit))
        } else {
            let taken = queue_timer
                .wait(lease.shares.take(Resource::Guests, places))
                .await;
            drop(queue_timer);
            (taken.flatten(), None)
        };
        let taken = taken.ok_or_else(|| self.refuse(&lease, Resource::Guests))?;
        let attempt = CallAttempt::begin(guest_call, meter, reuse_key, &lease, time_limit);
        self.attempt(self.open(lease, taken, compiled), attempt)
            .await
    }

    async fn attempt<W: GuestCall>(
        &self,
        guest: impl Future<Output = Result<OpenGuest, Fault>>,
        attempt: CallAttempt<'_, W>,
    ) -> Result<W::Output, Fault> {
        let CallAttempt {
            guest_call,
            meter,
            reuse_key,
            start,
            time_limit: CallTimeLimit { deadline, timeout },
        } = attempt;
        let _tick_guard = self.ticker.run();
        let guest = with_deadline(|| deadline, guest).await;
        let mut guest =
            guest.unwrap_or_else(|| Err(timeout_fault(timeout, &meter.config.grant.limits)))?;
        let config = &meter.config;
        guest.prepare_call(deadline, meter.clone());
        let response = {
            // Pinned here, because a future that is moved by value is stored twice in the future that awaits it.
            let call = pin!(async { guest_call.call(guest.callable().await?).await });
            let call = async {
                match &config.folder_threads {
                    Some(folder_threads) => folder_threads.run_with(call).await?,
                    None => call.await,
                }
            };
            with_deadline(|| deadline, call).await
        };
        config.metrics.durations.observe(start.elapsed());
        match response {
            Some(Ok(output)) => {
                if let Some(reuse_key) = reuse_key {
                    self.reusable.keep(reuse_key, guest);
                }
                Ok(output)
            }
            Some(Err(error)) => Err(failure(guest.store.data(), &error, meter.is_out_of_cpu())),
            None => Err(timed_out(guest.store.data(), timeout)),
        }
    }
}

impl Sandbox {
    /// Reports that a call could not get resources that teams share.
    fn refuse(&self, lease: &Lease, resource: Resource) -> Fault {
        lease.shares.count_refusal(resource);
        if lease.log.is_first(NOTHING_LEFT, resource.label(), "") {
            self.report_refusal(lease, resource);
        }
        fault_without_detail(FaultKind::NoCapacity)
    }

    fn report_refusal(&self, lease: &Lease, resource: Resource) {
        let team = lease.team.non_default();
        let provider = lease.provider.as_str();
        let label = resource.label();
        let used = lease.shares.used(resource);
        let limit = lease.shares.limit(resource);
        tracing::warn!(
            team,
            provider,
            resource = label,
            used,
            limit,
            "{NOTHING_LEFT}"
        );
        let text = format!("the team uses {used} of {limit} {label}, and needs more");
        let event = Event::new(EventKind::Refusal, text)
            .of_team(&lease.team)
            .of_provider(&lease.provider)
            .with("resource", label);
        self.metrics.events().record(event);
    }
}

/// Logs that a reused guest failed. The repeated call may succeed, and then no other line shows why the guest trapped.
fn log_retry(lease: &Lease, fault: &Fault) {
    const MESSAGE: &str = "reused guest failed, calling a fresh one";
    if !lease.log.is_first(MESSAGE, fault.kind.as_str(), "") {
        return;
    }
    let team = lease.team.non_default();
    let provider = lease.provider.as_str();
    let stderr = &fault.stderr;
    tracing::warn!(team, provider, fault = %fault.kind, ?stderr, "{MESSAGE}");
}

/// Returns the fault of a call that did not end in time.
fn timed_out(state: &GuestState, timeout: Duration) -> Fault {
    // The guest was paused because its team had used up its CPU quota.
    if state.limiter.throttled_by_quota {
        return fault_without_detail(FaultKind::NoCapacity);
    }
    let fault = timeout_fault(timeout, &state.lease.grant.limits);
    let frames = state.last_backtrace.as_ref().map(frames);
    let detail = fault.detail + &frames.unwrap_or_default();
    Fault {
        detail: log_detail(state, &detail),
        stderr: state.log.tail_for_fault(),
        kind: fault.kind,
    }
}

/// Returns the fault of a call that ended with an error of the engine.
fn failure(state: &GuestState, error: &wasmtime::Error, out_of_cpu: bool) -> Fault {
    if state.limiter.team_memory_exhausted {
        return fault_without_detail(FaultKind::NoCapacity);
    }
    if state.limiter.budget_exhausted {
        return fault_without_detail(FaultKind::NoMemory);
    }
    let grant = &state.lease.grant;
    let exceeded = ExceededLimits {
        out_of_cpu,
        growth: state.limiter.exceeded,
    };
    let kind = classify(error, &exceeded, &grant.limits);
    Fault {
        kind,
        detail: log_detail(state, &causes_and_backtrace(error)),
        stderr: state.log.tail_for_fault(),
    }
}

/// Returns the beginning of the details of a fault, without secrets.
fn log_detail(state: &GuestState, detail: &str) -> String {
    let secrets = &state.lease.grant.secrets;
    secrets
        .redact(detail)
        .chars()
        .take(MAX_FAULT_DETAIL)
        .collect()
}
