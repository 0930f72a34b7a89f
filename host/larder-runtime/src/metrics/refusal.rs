//! Why a request is refused before it reaches the gateway.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

macro_rules! refusals {
    ($($name:ident $label:literal $about:literal,)*) => {
        /// Why a request is refused.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Refusal { $(#[doc = $about] $name,)* }

        impl Refusal {
            /// All reasons.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The name of this reason in metrics, in the log and in the audit log.
            pub fn label(self) -> &'static str {
                match self { $(Self::$name => $label,)* }
            }
        }
    };
}

refusals! {
    CredentialMissing "credential-missing" "The request has no credential.",
    CredentialInvalid "credential-invalid" "The credential is not valid, or none is accepted.",
    Scopes "scopes" "The credential lacks scopes.",
    NoTeam "no-team" "The credential maps to no team.",
    KeysUnavailable "keys-unavailable" "The credential cannot be verified at the moment.",
    Host "host" "The host of the request is not allowed.",
    Origin "origin" "The origin of the request is not allowed.",
    Quota "quota" "A quota of the caller's team is exhausted.",
    Overloaded "overloaded" "The server has no capacity for the request or its response.",
    Sessions "sessions" "No further session can be opened.",
    Connections "connections" "No further connection can be opened.",
    Invalid "invalid" "The request is not a valid request of the protocol.",
}

impl Refusal {
    /// Number of reasons.
    pub const COUNT: usize = Self::ALL.len();

    /// The position in an array with a value for each reason.
    pub fn index(self) -> usize {
        self as usize
    }

    /// Whether the protocol may allow the request, which is refused because of its sender or for lack of capacity.
    pub fn is_denial(self) -> bool {
        self != Self::Invalid
    }
}

/// The number of refused requests, by reason.
#[derive(Debug)]
pub struct RefusalCounters([Counter; Refusal::COUNT]);

impl RefusalCounters {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let family = Family::<[(&'static str, &'static str); 1], Counter>::default();
        registry.register(
            "larder_requests_refused",
            "Requests refused, by reason",
            family.clone(),
        );
        let counter =
            |at: usize| family.get_or_create_owned(&[("reason", Refusal::ALL[at].label())]);
        Self(std::array::from_fn(counter))
    }

    /// Counts a refused request.
    pub fn inc(&self, refusal: Refusal) {
        self.0[refusal.index()].inc();
    }
}
