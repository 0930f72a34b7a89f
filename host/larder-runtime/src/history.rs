//! What happened on the server, in bounded memory: events, and values of counters over the last hour. The history is
//! for operators, and is lost when the process ends. Records that must be kept are in the audit log.

mod bounded_ring;
mod caller_volumes;
mod event_log;
mod provider_history;
mod samples;

pub use self::bounded_ring::{BoundedRing, RingItem, RingLimits};
pub use self::caller_volumes::{CallerVolume, CallerVolumes, VolumeReport};
pub use self::event_log::{Event, EventKind, EventLog};
pub use self::provider_history::{FaultRecord, LogLine, ProviderHistory};
pub use self::samples::{
    CallSample, MAX_SAMPLES, ProcessSample, SAMPLE_INTERVAL, SampleRing, Timeline,
};
