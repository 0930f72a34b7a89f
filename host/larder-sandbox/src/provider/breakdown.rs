//! Measures the phases of a read with a fresh guest. It exists only in tests and for the benchmark.

use std::time::{Duration, Instant};

use super::Provider;
use super::convert::{read_result, wit_read_request};
use super::guest_calls::{AnswerMemory, Read};
use super::omissions::Omissions;
use crate::guest_config::Lease;
use crate::run::guest::GuestCall as _;
use crate::threads::call_meter::CallMeter;
use larder_model::policy::Permit;
use larder_model::resource::Match;
use larder_model::uri::Uri;
use larder_platform::threads::page_faults;
use larder_runtime::metrics::process::thread_cpu_time;
use larder_runtime::shares::Resource;

/// One phase of a call.
#[derive(Debug, Clone, Copy, Default)]
pub struct Phase {
    /// CPU time of the thread, with the time that the system spends for it.
    pub cpu_time: Duration,
    /// Pages that the system had to provide or copy.
    pub page_faults: u64,
}

/// The phases of a read with a fresh guest.
#[derive(Debug, Clone, Copy, Default)]
pub struct Breakdown {
    /// The store and the WASI context.
    pub open: Phase,
    /// Instances, memories and tables of the component.
    pub instantiate: Phase,
    /// The function of the guest, with its arguments and its result.
    pub call: Phase,
    /// The checks and the conversion of the result.
    pub convert: Phase,
    /// The store and the instances are dropped, and the memory is cleared.
    pub close: Phase,
}

/// Measures phases one after another.
struct PhaseClock {
    cpu_time: Duration,
    page_faults: u64,
}

impl PhaseClock {
    fn start() -> Self {
        Self {
            page_faults: page_faults(),
            cpu_time: thread_cpu_time(),
        }
    }

    /// Ends a phase and begins the next one.
    fn lap(&mut self) -> Phase {
        let cpu_time = thread_cpu_time() - self.cpu_time;
        let page_faults = page_faults() - self.page_faults;
        *self = Self::start();
        Phase {
            cpu_time,
            page_faults,
        }
    }
}

impl Provider {
    /// Reads a resource with a fresh guest like [`Self::read`], but without permits, quotas and the limit on time, and
    /// measures each phase. No other task may run on the thread.
    pub async fn measure_read(
        &self,
        uri: &Uri,
        matched: Option<Match>,
    ) -> Result<Breakdown, String> {
        let read = Read(
            wit_read_request(uri, matched, None),
            AnswerMemory::default(),
        );
        let lease = Lease {
            config: self.config.clone(),
            permit: Permit::for_host(),
        };
        let meter = CallMeter::new(self.config.clone());
        let deadline = lease.deadline(Instant::now()).0;
        let failed = |error: wasmtime::Error| format!("{error:#}");
        let mut omissions = Omissions::new(&self.config.grant);
        let compiled = self.compiled.load_full();
        let places = lease
            .shares
            .take(Resource::Guests, compiled.places.count())
            .await;
        let places = places.ok_or("there is no place for a guest")?;
        let mut clock = PhaseClock::start();
        let mut guest = self
            .sandbox
            .open(lease, places, compiled)
            .await
            .map_err(|fault| fault.to_string())?;
        guest.prepare_call(deadline, meter);
        let open = clock.lap();
        guest.instantiate().await.map_err(failed)?;
        let instantiate = clock.lap();
        let callable = guest.callable().await.map_err(failed)?;
        let reading = read.call(callable).await.map_err(failed)?;
        let call = clock.lap();
        let reading = reading.map_err(|error| format!("{error:?}"))?;
        let result = read_result(reading, uri, |_| true, &mut omissions).await;
        let convert = clock.lap();
        result.map_err(|error| error.to_string())?;
        clock.lap();
        drop(guest);
        Ok(Breakdown {
            open,
            instantiate,
            call,
            convert,
            close: clock.lap(),
        })
    }
}
