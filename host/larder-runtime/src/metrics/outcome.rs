//! The outcome of a call or a read.

macro_rules! outcomes {
    ($($name:ident $label:literal $about:literal,)*) => {
        /// The outcome of a call or a read.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Outcome { $(#[doc = $about] $name,)* }

        impl Outcome {
            /// All outcomes.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The name of this outcome in metrics and in the audit log.
            pub fn label(self) -> &'static str {
                match self { $(Self::$name => $label,)* }
            }
        }
    };
}

outcomes! {
    Ok "ok" "The call returned a response.",
    NotFound "not-found" "The resource does not exist.",
    NotModified "not-modified" "The version that the caller has is current.",
    Invalid "invalid" "The request is invalid.",
    Denied "denied" "The caller is not allowed to do this.",
    Unavailable "unavailable" "The provider is temporarily unavailable.",
    Failed "failed" "The provider failed to serve the request.",
    Busy "busy" "No concurrency slot became free within the queue timeout.",
    CircuitOpen "circuit-open" "The circuit is open after repeated faults, and the provider was not called.",
    Cancelled "cancelled" "The caller no longer waits for the response.",
    Cpu "cpu" "The guest exceeded its CPU time limit.",
    Deadline "deadline" "The guest did not return within its timeout.",
    Memory "memory" "The guest exceeded its memory limit.",
    Table "table" "The guest exceeded its limit for the elements of a table.",
    Stack "stack" "The guest overflowed its stack.",
    ResultSize "result-size" "The guest's result exceeds the size limit.",
    Exit "exit" "The guest called `exit`.",
    Contract "contract" "The guest's types do not match the WIT contract.",
    Trap "trap" "The guest trapped.",
}

impl Outcome {
    /// Index of the counter of this outcome.
    pub(super) fn index(self) -> usize {
        self as usize
    }

    /// Number of outcomes.
    pub(super) const COUNT: usize = Self::ALL.len();

    /// Whether the provider failed, instead of the request or the caller.
    pub fn is_server_failure(self) -> bool {
        match self {
            Self::Ok
            | Self::NotFound
            | Self::NotModified
            | Self::Invalid
            | Self::Denied
            | Self::Cancelled => false,
            Self::Unavailable
            | Self::Failed
            | Self::Busy
            | Self::CircuitOpen
            | Self::Cpu
            | Self::Deadline
            | Self::Memory
            | Self::Table
            | Self::Stack
            | Self::ResultSize
            | Self::Exit
            | Self::Contract
            | Self::Trap => true,
        }
    }
}
