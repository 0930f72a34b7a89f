//! The threads on which calls run: the time that a call used, and the move of a long call to threads of low priority.

pub(crate) mod call_meter;
pub(crate) mod call_thread;
pub(crate) mod long_calls;
pub(crate) mod queue_timer;
pub(crate) mod ticker;
