//! From the functions of a component to the methods of a [`Provider`].

use crate::bindings::completions::exports::larder::provider::completion_provider;
use crate::bindings::exports::larder::provider::resource_provider;
use crate::bindings::provider_types;
use crate::bindings::versions::exports::larder::provider::version_provider;
use crate::{Description, Provider, Query, Request, Result, TemplateMatch, greedy, host};

/// Makes a component out of a [`Provider`], once in a crate. The optional interfaces are named, so that a
/// component offers only what it has. One of these:
///
/// ```
/// # use larder_provider::{Error, Provider, Reading, Request, Result};
/// # struct Notes;
/// # impl Provider for Notes {
/// #     fn new() -> Result<Self> { Ok(Self) }
/// #     fn read(&self, _: &Request) -> Result<Reading> { Err(Error::NotFound) }
/// # }
/// larder_provider::export!(Notes);
/// larder_provider::export!(Notes: completions);
/// larder_provider::export!(Notes: completions, versions);
/// ```
///
/// Off WebAssembly it exports nothing, so that `cargo test` runs a provider natively.
#[macro_export]
macro_rules! export {
    ($provider:ty $(: $($ability:ident),+ $(,)?)?) => {
        #[allow(unsafe_code, reason = "the functions of a component are extern ones")]
        const _: () = {
            struct Exported;

            impl $crate::Exported for Exported {
                type Provider = $provider;

                fn with<R>(call: impl FnOnce(&$crate::Result<$provider>) -> R) -> R {
                    ::std::thread_local! {
                        static PROVIDER: $crate::Result<$provider> = $crate::start();
                    }
                    PROVIDER.with(call)
                }
            }

            #[cfg(target_family = "wasm")]
            $crate::bindings::__export_resources!(Exported with_types_in $crate::bindings);
            $($($crate::__export_ability!($ability);)+)?

            // Off WebAssembly nothing else calls the provider, which then would count as dead code.
            #[cfg(not(target_family = "wasm"))]
            const _: fn() = || <Exported as $crate::Exported>::with(|_| ());
        };
    };
}

/// One optional interface of [`export!`].
#[doc(hidden)]
#[macro_export]
macro_rules! __export_ability {
    (completions) => {
        #[cfg(target_family = "wasm")]
        $crate::bindings::completions::__export_completions!(
            Exported with_types_in $crate::bindings::completions
        );
    };
    (versions) => {
        #[cfg(target_family = "wasm")]
        $crate::bindings::versions::__export_versions!(
            Exported with_types_in $crate::bindings::versions
        );
    };
    ($other:ident) => {
        ::std::compile_error!("what can be exported beside resources is `completions` and `versions`");
    };
}

/// Where the one value of a component lives. Implemented by [`export!`] alone.
#[doc(hidden)]
pub trait Exported {
    /// What is exported.
    type Provider: Provider;

    /// Lends the provider, which is made before the first call.
    fn with<R>(call: impl FnOnce(&Result<Self::Provider>) -> R) -> R;
}

/// Makes a provider once its panics are sure to be heard.
#[doc(hidden)]
pub fn start<P: Provider>() -> Result<P> {
    host::log_panics();
    P::new()
}

fn call<E: Exported, R>(method: impl FnOnce(&E::Provider) -> Result<R>) -> Result<R, provider_types::Error> {
    E::with(|provider| match provider {
        Ok(provider) => method(provider).map_err(Into::into),
        Err(error) => Err(error.clone().into()),
    })
}

/// What a provider says of itself, with the claims of its greedy templates: it is asked only for what it claims.
fn about(provider: &impl Provider) -> Description {
    let mut about = provider.describe();
    for claim in provider.greedy().into_iter().map(greedy::claim) {
        if !about.claims.iter().any(|known| known == claim) {
            about.claims.push(claim.to_owned());
        }
    }
    about
}

impl<E: Exported> resource_provider::Guest for E {
    fn describe() -> Description {
        E::with(|provider| match provider {
            Ok(provider) => about(provider),
            Err(error) => Description::new("").summary(format!("cannot start: {error}")),
        })
    }

    fn list_resources(query: Query) -> Result<resource_provider::EntryPage, provider_types::Error> {
        call::<E, _>(|provider| provider.list(&query))
    }

    fn list_templates(
        cursor: Option<String>,
    ) -> Result<resource_provider::TemplatePage, provider_types::Error> {
        call::<E, _>(|provider| provider.templates(cursor.as_deref()))
    }

    fn match_uri(uri: String) -> Option<TemplateMatch> {
        E::with(|provider| provider.as_ref().ok()?.match_uri(&uri))
    }

    fn read_resource(request: Request) -> Result<resource_provider::Reading, provider_types::Error> {
        call::<E, _>(|provider| provider.read(&request))
    }
}

impl<E: Exported> completion_provider::Guest for E {
    fn complete(
        request: completion_provider::CompletionRequest,
    ) -> Result<completion_provider::Completion, provider_types::Error> {
        call::<E, _>(|provider| provider.complete(&request))
    }
}

impl<E: Exported> version_provider::Guest for E {
    fn versions(uris: Vec<String>) -> Result<Vec<Option<String>>, provider_types::Error> {
        call::<E, _>(|provider| provider.versions(&uris))
    }
}
