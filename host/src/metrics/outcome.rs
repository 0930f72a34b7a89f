//! How a call or a read ended, in one word.

macro_rules! outcomes {
    ($($name:ident $word:literal $about:literal,)*) => {
        /// How a call or a read ended.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Outcome { $(#[doc = $about] $name,)* }

        impl Outcome {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The word for it, in metrics and in the audit log.
            pub fn word(self) -> &'static str {
                match self { $(Self::$name => $word,)* }
            }
        }
    };
}

outcomes! {
    Ok "ok" "With an answer.",
    NotFound "not-found" "There is no such thing.",
    NotModified "not-modified" "What the caller holds is current.",
    Invalid "invalid" "The question makes no sense.",
    Denied "denied" "The caller may not.",
    Unavailable "unavailable" "Not now.",
    Failed "failed" "The provider could not.",
    Busy "busy" "No turn was free in time.",
    SetAside "set-aside" "The provider only faulted lately, and was not asked.",
    Cancelled "cancelled" "Nobody waits for the answer any more.",
    Cpu "cpu" "The guest used up its time on the processor.",
    Deadline "deadline" "The guest gave no answer in time.",
    Memory "memory" "The guest needs more memory than it may have.",
    Stack "stack" "The guest recursed too deep.",
    ResultSize "result-size" "The guest's answer is too large.",
    Exit "exit" "The guest ended its own program.",
    Contract "contract" "The guest's types are not the contract's.",
    Trap "trap" "The guest trapped.",
}

impl Outcome {
    /// The place of its number.
    pub(super) fn index(self) -> usize {
        self as usize
    }

    /// How many there are.
    pub(super) const COUNT: usize = Self::ALL.len();

    /// Whether it says that something is wrong with the provider, and not with the question.
    pub fn is_trouble(self) -> bool {
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
            | Self::SetAside
            | Self::Cpu
            | Self::Deadline
            | Self::Memory
            | Self::Stack
            | Self::ResultSize
            | Self::Exit
            | Self::Contract
            | Self::Trap => true,
        }
    }
}
