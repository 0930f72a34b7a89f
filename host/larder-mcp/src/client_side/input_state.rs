//! The state of a modern call that waits for input. The client stores the state and returns it with its answers. The
//! state is encrypted. It is bound to the caller, to the request, to the component and to a time, so that it cannot be
//! used for anything else.

use std::io;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64_simd::URL_SAFE_NO_PAD as BASE64;
use serde::{Deserialize, Serialize};

use super::sealing::{SealingKey, SealingKeys};
use larder_model::name::Digest;
use larder_model::resource::Caller;

/// How long a client may take to answer.
const LIFETIME: Duration = Duration::from_secs(10 * 60);
/// Maximum length of a state that is decoded.
const MAX_LENGTH: usize = 128 << 10;

/// Encrypts states with a key of this process or with keys that all replicas share. With a key of this process, clients
/// have to start again after a restart.
pub(crate) struct InputStates {
    own: Option<SealingKey>,
    shared: Option<SealingKeys>,
}

/// What a state contains.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct InputState {
    /// The digest of the component that requested the input.
    pub(crate) component: String,
    /// The state of the provider itself.
    pub(crate) of_provider: Option<Vec<u8>>,
    /// When the state expires, in seconds since 1970.
    expires: u64,
}

/// The values to which a state is bound.
pub(crate) struct Binding<'a> {
    pub(crate) caller: Option<&'a Caller>,
    pub(crate) method: &'a str,
    /// The name of the tool or prompt.
    pub(crate) name: &'a str,
    pub(crate) arguments: String,
}

impl InputStates {
    /// Uses the keys that all replicas share, or creates a key. If the system has no random numbers, there is no key,
    /// and no modern call can request input.
    pub(crate) fn new(shared: Option<SealingKeys>) -> Self {
        Self {
            own: SealingKey::random().ok(),
            shared,
        }
    }

    /// Encrypts the state of a call. `None` only if there is no key.
    pub(crate) fn seal(
        &self,
        binding: &Binding<'_>,
        component: Digest,
        of_provider: Option<Vec<u8>>,
    ) -> Option<String> {
        let expires = now() + LIFETIME.as_secs();
        let state = InputState {
            component: component.to_string(),
            of_provider,
            expires,
        };
        let content = serde_json::to_vec(&state).ok()?;
        let sealed = self.encrypt(&binding.bytes(), content)?.ok()?;
        Some(BASE64.encode_to_string(sealed))
    }

    fn encrypt(&self, context: &[u8], content: Vec<u8>) -> Option<io::Result<Vec<u8>>> {
        match &self.shared {
            // Replicas of earlier versions seal other data with the same keys.
            Some(keys) => Some(keys.seal(&[b"input ", context].concat(), content)),
            None => Some(self.own.as_ref()?.seal(context, content)),
        }
    }

    fn decrypt(&self, context: &[u8], sealed: Vec<u8>) -> Option<Vec<u8>> {
        match &self.shared {
            Some(keys) => keys.unseal(&[b"input ", context].concat(), &sealed),
            None => self.own.as_ref()?.unseal(context, sealed),
        }
    }

    /// Decrypts a state. `None` if the state is for another call or has expired.
    pub(crate) fn open(&self, binding: &Binding<'_>, text: &str) -> Option<InputState> {
        self.open_at(now(), binding, text)
    }

    fn open_at(&self, now: u64, binding: &Binding<'_>, text: &str) -> Option<InputState> {
        let sealed = BASE64
            .decode_to_vec(text)
            .ok()
            .filter(|_| text.len() <= MAX_LENGTH)?;
        let content = self.decrypt(&binding.bytes(), sealed)?;
        let state: InputState = serde_json::from_slice(&content).ok()?;
        (now < state.expires).then_some(state)
    }
}

impl Binding<'_> {
    /// An unambiguous encoding of the binding as JSON.
    fn bytes(&self) -> Vec<u8> {
        let caller = self.caller.map(|caller| {
            let teams: Vec<&str> = caller.teams.iter().map(|team| team.as_str()).collect();
            (&caller.subject, caller.issuer.as_deref(), teams)
        });
        // Texts and lists are always written.
        serde_json::to_vec(&(caller, self.method, self.name, &self.arguments)).unwrap_or_default()
    }
}

fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_secs()
}

#[cfg(test)]
mod tests {
    use larder_model::name::{TeamName, Teams};

    use super::*;

    fn caller(subject: &str, team: &str) -> Caller {
        let teams = Teams::of([TeamName::parse(team).unwrap()]).unwrap();
        Caller {
            subject: Some(subject.into()),
            issuer: None,
            teams,
            scopes: vec![],
        }
    }

    #[test]
    fn replicas_with_the_same_key_open_each_others_states() {
        let replica = |secret| InputStates::new(SealingKeys::new([secret]));
        let binding = || Binding {
            caller: None,
            method: "tools/call",
            name: "x",
            arguments: "{}".to_owned(),
        };
        let sealed = replica("a")
            .seal(&binding(), Digest::of(b"component"), None)
            .unwrap();
        assert!(replica("a").open(&binding(), &sealed).is_some());
        assert_eq!(replica("b").open(&binding(), &sealed), None);
        assert_eq!(InputStates::new(None).open(&binding(), &sealed), None);
    }

    #[test]
    fn a_state_is_of_use_only_for_its_call() {
        let states = InputStates::new(None);
        let ann = caller("ann", "a");
        let component = Digest::of(b"component");
        let binding = |caller, name, arguments: &str| Binding {
            caller,
            method: "tools/call",
            name,
            arguments: arguments.to_owned(),
        };
        let sealed = states
            .seal(
                &binding(Some(&ann), "x", "{}"),
                component,
                Some(b"secret".into()),
            )
            .unwrap();
        let open = |binding: Binding<'_>, text: &str| states.open(&binding, text);
        let state = open(binding(Some(&ann), "x", "{}"), &sealed).unwrap();
        assert_eq!(
            (state.component, state.of_provider),
            (component.to_string(), Some(b"secret".to_vec()))
        );
        let ben = caller("ben", "a");
        let other_team = caller("ann", "b");
        assert_eq!(
            open(binding(Some(&ben), "x", "{}"), &sealed),
            None,
            "another caller"
        );
        assert_eq!(
            open(binding(Some(&other_team), "x", "{}"), &sealed),
            None,
            "another team"
        );
        assert_eq!(open(binding(None, "x", "{}"), &sealed), None, "no caller");
        assert_eq!(
            open(binding(Some(&ann), "y", "{}"), &sealed),
            None,
            "another tool"
        );
        assert_eq!(
            open(binding(Some(&ann), "x", "{\"a\":1}"), &sealed),
            None,
            "other arguments"
        );
        let other_method = Binding {
            method: "prompts/get",
            ..binding(Some(&ann), "x", "{}")
        };
        assert_eq!(open(other_method, &sealed), None, "another method");
        let at = |seconds| {
            states
                .open_at(now() + seconds, &binding(Some(&ann), "x", "{}"), &sealed)
                .is_some()
        };
        assert_eq!(
            (at(LIFETIME.as_secs() - 60), at(LIFETIME.as_secs() + 1)),
            (true, false),
            "it expires"
        );
        let mut changed = sealed.clone().into_bytes();
        changed[20] ^= 1;
        assert_eq!(
            open(
                binding(Some(&ann), "x", "{}"),
                &String::from_utf8(changed).unwrap()
            ),
            None
        );
        let other = InputStates::new(None);
        assert_eq!(
            other.open(&binding(Some(&ann), "x", "{}"), &sealed),
            None,
            "another process"
        );
        for text in ["", "x", "=", &"A".repeat(MAX_LENGTH + 1)] {
            assert_eq!(open(binding(Some(&ann), "x", "{}"), text), None);
        }
    }
}
