//! The calls to a provider. Each call is made to a guest through [`Provider::call`], and its WIT types are converted
//! here.

use std::pin::pin;
use std::sync::Arc;
use std::time::Instant;

use futures_util::future::BoxFuture;
use tokio::sync::OwnedSemaphorePermit;

use super::circuit_breaker::CircuitBreaker;
use super::convert::{description, entry_page, prompt_page, template_page, tool_page};
use super::guest_calls::{self, CallChecks, LIST_PROMPTS, LIST_TEMPLATES, LIST_TOOLS, NoChecks};
use super::instrument::InstrumentedCall;
use super::omissions::Omissions;
use super::{Provider, wit};
use crate::guest_config::provider_log::FAULT;
use crate::guest_config::{GuestConfig, Lease};
use crate::run::guest::GuestCall;
use crate::run::reuse::ReuseKey;
use crate::threads::call_meter::CallMeter;
use crate::threads::queue_timer::QueueTimer;
use larder_model::policy::{GuestLifetime, Permit};
use larder_model::prompt::Prompt;
use larder_model::resource::{Entry, Template};
use larder_model::tool::Tool;
use larder_provider::{CallError, Fault, FaultKind, ListPage, ListQuery};
use larder_runtime::memory_budget::MemoryCharge;
use larder_runtime::metrics::Outcome;

/// Whether a call did not respond in time because its caller waited for a shorter time than the provider may take.
fn was_ended_early(error: &CallError, until: Option<Instant>) -> bool {
    matches!(
        error,
        CallError::Fault(Fault {
            kind: FaultKind::Timeout(_) | FaultKind::CallerTimeout(_),
            ..
        })
    ) && until.is_some_and(|until| until <= Instant::now())
}

/// The permits that a call holds while it runs.
struct CallPermits {
    _provider: OwnedSemaphorePermit,
    /// None if no teams are configured.
    _team: Option<OwnedSemaphorePermit>,
}

/// What an admitted call holds: its permits, and the timer of its remaining waits.
struct Admission {
    queue_timer: QueueTimer,
    permits: CallPermits,
}

impl Provider {
    /// Makes a call unless this circuit breaker is open, and counts the faults of the call in this circuit breaker.
    /// `calls` names the calls in the log.
    pub(super) async fn within_breaker<T>(
        &self,
        breaker: &CircuitBreaker,
        calls: &str,
        call: impl Future<Output = Result<T, CallError>>,
    ) -> Result<T, CallError> {
        let attempt = breaker.attempt().map_err(|time| {
            self.config.metrics.record_call(Outcome::CircuitOpen);
            CallError::CircuitOpen(time)
        })?;
        let result = call.await;
        match &result {
            Err(CallError::Fault(_)) => {
                if let Some(opened) = attempt.faulted("") {
                    self.log_circuit_opened(calls, opened);
                }
            }
            // The guest was not called.
            Err(
                CallError::Busy
                | CallError::NoMemory
                | CallError::QuotaExceeded(_)
                | CallError::CircuitOpen(_),
            ) => {}
            _ => attempt.answered(),
        }
        result
    }

    /// Returns a page of its list of entries.
    pub(super) async fn list(
        &self,
        permit: Permit,
        query: ListQuery,
    ) -> Result<ListPage<Entry>, CallError> {
        let query = wit::ListQuery {
            cursor: query.cursor,
            limit: query.limit,
            uri_prefix: query.uri_prefix,
            kind: query.kind,
        };
        let convert = move |config: Arc<GuestConfig>, listed: guest_calls::ListAnswer| async move {
            let page = entry_page(config.redacted(listed.page)?, &config.grant).await?;
            Ok(ListPage {
                unreadable_names: listed.unreadable_names,
                ..page
            })
        };
        self.call(permit, guest_calls::List(query), convert).await
    }

    /// Returns a page of its list of templates.
    pub(super) async fn templates(
        &self,
        permit: Permit,
        cursor: Option<String>,
    ) -> Result<ListPage<Template>, CallError> {
        let convert = |config: Arc<GuestConfig>, page| async move {
            template_page(config.redacted(page)?, &config.grant).await
        };
        self.call(permit, LIST_TEMPLATES.call(cursor), convert)
            .await
    }

    /// Returns a page of its list of tools. The names on a page differ.
    pub async fn list_tools(
        &self,
        permit: Permit,
        cursor: Option<String>,
    ) -> Result<ListPage<Tool>, CallError> {
        let convert = |config: Arc<GuestConfig>, page| async move {
            tool_page(config.redacted(page)?, &config.grant).await
        };
        self.call(permit, LIST_TOOLS.call(cursor), convert).await
    }

    /// Returns a page of its list of prompts. The names on a page differ.
    pub async fn list_prompts(
        &self,
        permit: Permit,
        cursor: Option<String>,
    ) -> Result<ListPage<Prompt>, CallError> {
        let convert = |config: Arc<GuestConfig>, page| async move {
            prompt_page(config.redacted(page)?, &config.grant).await
        };
        self.call(permit, LIST_PROMPTS.call(cursor), convert).await
    }

    /// Returns the provider's description of itself, and what was omitted from the description.
    pub(super) async fn describe(
        &self,
        permit: Permit,
    ) -> Result<(wit::Description, Vec<String>), CallError> {
        let convert = move |config: Arc<GuestConfig>, item| async move {
            let mut omissions = Omissions::new(&config.grant);
            let description = description(item, &mut omissions);
            Ok((description, omissions.summary()))
        };
        self.call(permit, guest_calls::Describe, convert).await
    }

    /// Makes a call to a guest if the circuit breaker, the limits and the quotas allow the call, converts its response,
    /// and records how the call ended.
    pub(super) async fn call<W, T, F>(
        &self,
        permit: Permit,
        guest_call: W,
        convert: impl Fn(Arc<GuestConfig>, W::Output) -> F + Send + Sync + 'static,
    ) -> Result<T, CallError>
    where
        W: GuestCall + 'static,
        T: Send + 'static,
        F: Future<Output = Result<T, CallError>> + Send + 'static,
    {
        let call = self.call_with_memory(permit, guest_call, convert, NoChecks);
        call.await.map(|(answer, _)| answer)
    }

    /// Like [`Self::call`]. Also returns the memory that is charged for a large answer.
    pub(super) async fn call_with_memory<W, T, F>(
        &self,
        mut permit: Permit,
        guest_call: W,
        convert: impl Fn(Arc<GuestConfig>, W::Output) -> F + Send + Sync + 'static,
        checks: impl CallChecks<T> + 'static,
    ) -> Result<(T, Option<MemoryCharge>), CallError>
    where
        W: GuestCall + 'static,
        T: Send + 'static,
        F: Future<Output = Result<T, CallError>> + Send + 'static,
    {
        let call = InstrumentedCall::begin(self, guest_call.operation(), &mut permit)?;
        let until = permit.time_limit().map(|limit| limit.until);
        let guest_call = guest_calls::ConvertedCall {
            guest_call,
            convert,
            checks,
        };
        let (result, guest_call) = match self.admit(until).await {
            Ok(admission) => {
                let meter = CallMeter::new(self.config.clone());
                let future = self.call_future(permit, admission, guest_call, meter.clone());
                let (result, guest_call) = self.sandbox.long_calls.run(future, &meter).await;
                let subject = guest_call.subject();
                let result = result.unwrap_or_else(|fault| Err(self.log_fault(fault, subject)));
                (result, guest_call)
            }
            Err(error) => (Err(error), guest_call),
        };
        match &result {
            Err(error) if was_ended_early(error, until) => call.finish_early(error),
            result => call.finish(guest_call.subject(), result.as_ref().err()),
        }
        Ok((result?, guest_call.guest_call.into_answer_memory()))
    }

    /// Returns the future of an admitted call. Its output contains the value that makes the call.
    ///
    /// The future owns all values that it uses, because it may be moved to another thread. It is boxed because it is
    /// large: otherwise each future that awaits it would contain it, and moving these futures would overflow the
    /// stack of a thread.
    fn call_future<W, T>(
        &self,
        permit: Permit,
        admission: Admission,
        guest_call: W,
        meter: Arc<CallMeter>,
    ) -> BoxFuture<'static, (Result<W::Output, Fault>, W)>
    where
        W: GuestCall<Output = Result<T, CallError>> + 'static,
        T: Send + 'static,
    {
        let Admission {
            queue_timer,
            permits,
        } = admission;
        let reuse_key = (self.config.grant.guests == GuestLifetime::Reused).then(|| ReuseKey {
            revision: self.facts.revision,
            caller: permit.caller().cloned(),
        });
        let config = self.config.clone();
        let sandbox = self.sandbox.clone();
        let compiled = self.compiled.load_full();
        let drain = self.drain.clone();
        Box::pin(async move {
            let lease = Lease { config, permit };
            let result = {
                // Pinned where it is created: if it were stored in a variable first, it would be copied and stored
                // twice.
                let run = pin!(async {
                    if let Some(answer) = guest_call.before_call(&lease).await {
                        return Ok(answer);
                    }
                    sandbox
                        .run(compiled, &meter, lease, queue_timer, reuse_key, &guest_call)
                        .await
                });
                drain.run_unless_dropped(run).await
            };
            let removed = || Ok(Err(CallError::Unavailable("its team was removed".into())));
            let result = result.unwrap_or_else(removed);
            // The guest was cleared.
            drop(permits);
            (result, guest_call)
        })
    }

    /// Waits for permits of the provider and of its team. The timer limits the remaining waits.
    async fn admit(&self, until: Option<Instant>) -> Result<Admission, CallError> {
        let config = &self.config;
        let mut queue_timeout = config.grant.limits.queue_timeout;
        if let Some(until) = until {
            queue_timeout = queue_timeout.min(until.saturating_duration_since(Instant::now()));
        }
        let queue_timer = QueueTimer::new(config.metrics.clone(), queue_timeout);
        let provider = self
            .concurrency_limit
            .acquire(&queue_timer)
            .await
            .ok_or(CallError::Busy)?;
        let team = match &config.quota_usage {
            Some(quota_usage) => {
                let team = quota_usage.call_permit(queue_timer.remaining()).await;
                Some(team.map_err(CallError::QuotaExceeded)?)
            }
            None => None,
        };
        Ok(Admission {
            queue_timer,
            permits: CallPermits {
                _provider: provider,
                _team: team,
            },
        })
    }

    /// Logs a fault with all details. Converts the fault to an error, of which the caller gets only the kind.
    fn log_fault(&self, fault: Fault, subject: &str) -> CallError {
        if let Some(error) = refusal(&fault.kind) {
            return error;
        }
        let team = self.config.team.non_default();
        let provider = self.config.provider.as_str();
        let digest = self.facts.digest.short();
        let Fault {
            kind,
            detail,
            stderr,
        } = &fault;
        if self.config.log.is_first(FAULT, kind.as_str(), subject) {
            tracing::warn!(team, provider, digest, fault = kind.as_str(), %kind, ?detail, ?stderr, "{FAULT}");
            self.record_fault_event(&fault, subject);
        }
        self.keep_fault(&fault, subject);
        self.last_stderr.lock().clone_from(stderr);
        CallError::Fault(fault)
    }
}

/// The error of a call that ended because the server or the team has nothing left for it, which is no fault.
fn refusal(kind: &FaultKind) -> Option<CallError> {
    match kind {
        FaultKind::NoCapacity => Some(CallError::Busy),
        FaultKind::NoMemory => Some(CallError::NoMemory),
        _ => None,
    }
}
