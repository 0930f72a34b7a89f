//! Exports the functions of a component and calls the methods of a [`Provider`].

use crate::bindings::completions::exports::larder::provider::completion_provider;
use crate::bindings::directories::exports::larder::provider::directory_provider;
use crate::bindings::exports::larder::provider::resource_provider;
use crate::bindings::provider_types;
use crate::bindings::versions::exports::larder::provider::version_provider;
use crate::{Description, Error, Provider, Query, Request, Result, TemplateMatch, greedy, host};

/// Exports a [`Provider`] as a component; to be used once per crate. Optional interfaces have to be named, so that a
/// component exports only the interfaces that it implements:
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
/// larder_provider::export!(Notes: completions, directories, versions);
/// ```
///
/// With the cargo feature `interactive`, also `tools`, `prompts`, `search` and `settings`.
///
/// On native targets this exports nothing, so that `cargo test` can test the provider.
#[macro_export]
macro_rules! export {
    ($provider:ty $(: $($ability:ident),+ $(,)?)?) => {
        #[allow(unsafe_code, reason = "a component exports extern functions")]
        const _: () = {
            struct ProviderExport;

            impl $crate::ProviderExport for ProviderExport {
                type Provider = $provider;

                fn with<R>(call: impl FnOnce(&$crate::Result<$provider>) -> R) -> R {
                    ::std::thread_local! {
                        static PROVIDER: $crate::Result<$provider> = $crate::start();
                    }
                    PROVIDER.with(call)
                }
            }

            #[cfg(target_family = "wasm")]
            $crate::bindings::__export_resources!(ProviderExport with_types_in $crate::bindings);
            $($($crate::__export_ability!($ability);)+)?

            // On native targets no other code uses the provider, and the compiler would report dead code.
            #[cfg(not(target_family = "wasm"))]
            const _: fn() = || <ProviderExport as $crate::ProviderExport>::with(|_| ());
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
            ProviderExport with_types_in $crate::bindings::completions
        );
    };
    (directories) => {
        #[cfg(target_family = "wasm")]
        $crate::bindings::directories::__export_directories!(
            ProviderExport with_types_in $crate::bindings::directories
        );
    };
    (versions) => {
        #[cfg(target_family = "wasm")]
        $crate::bindings::versions::__export_versions!(
            ProviderExport with_types_in $crate::bindings::versions
        );
    };
    ($other:ident) => {
        $crate::__export_interactive!($other);
    };
}

/// One optional interface of [`export!`] that needs the feature `interactive`.
#[cfg(feature = "interactive")]
#[doc(hidden)]
#[macro_export]
macro_rules! __export_interactive {
    (tools) => {
        #[cfg(target_family = "wasm")]
        $crate::bindings::tools::__export_tools!(ProviderExport with_types_in $crate::bindings::tools);
    };
    (prompts) => {
        #[cfg(target_family = "wasm")]
        $crate::bindings::prompts::__export_prompts!(ProviderExport with_types_in $crate::bindings::prompts);
    };
    (search) => {
        #[cfg(target_family = "wasm")]
        $crate::bindings::search::__export_search!(ProviderExport with_types_in $crate::bindings::search);
    };
    (settings) => {
        #[cfg(target_family = "wasm")]
        $crate::bindings::settings::__export_settings!(ProviderExport with_types_in $crate::bindings::settings);
    };
    ($other:ident) => {
        ::std::compile_error!(
            "unknown optional interface: only `completions`, `directories`, `versions`, `tools`, `prompts`, `search` \
             and `settings` can be exported"
        );
    };
}

/// Explains how to export the interfaces that need the feature `interactive`.
#[cfg(not(feature = "interactive"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __export_interactive {
    ($other:ident) => {
        ::std::compile_error!(
            "unknown optional interface: only `completions`, `directories` and `versions` can be exported, and with the \
             feature `interactive` of larder-provider also `tools`, `prompts`, `search` and `settings`"
        );
    };
}

/// Access to the single provider value of a component. Implemented only by [`export!`].
#[doc(hidden)]
pub trait ProviderExport {
    /// The exported provider.
    type Provider: Provider;

    /// Calls a function with the provider. The provider is created before the first call.
    fn with<R>(call: impl FnOnce(&Result<Self::Provider>) -> R) -> R;
}

/// Installs the panic hook and creates the provider.
#[doc(hidden)]
pub fn start<P: Provider>() -> Result<P> {
    host::log_panics();
    P::new()
}

pub(crate) fn call<E: ProviderExport, R>(
    method: impl FnOnce(&E::Provider) -> Result<R>,
) -> Result<R, provider_types::Error> {
    E::with(|provider| match provider {
        Ok(provider) => method(provider).map_err(Into::into),
        Err(error) => Err(error.clone().into()),
    })
}

/// A list always exists. So what does not exist is a file that the list needs; the log has the place.
fn fail_if_not_found(error: Error) -> Error {
    if error == Error::NotFound {
        return Error::Failed("a file does not exist, or no granted folder contains it".into());
    }
    error
}

/// The description of a provider, with the prefixes of its greedy templates as additional claims. Without a
/// claim, the host would not call `match_uri` for their URIs.
fn about(provider: &impl Provider) -> Description {
    let mut about = provider.describe();
    for claim in provider.greedy().into_iter().map(greedy::claim) {
        if !about.claims.iter().any(|existing| existing == claim) {
            about.claims.push(claim.to_owned());
        }
    }
    about
}

impl<E: ProviderExport> resource_provider::Guest for E {
    fn describe() -> Description {
        E::with(|provider| match provider {
            Ok(provider) => about(provider),
            Err(error) => Description::new("").summary(format!("cannot start: {error}")),
        })
    }

    fn list_resources(query: Query) -> Result<resource_provider::EntryPage, provider_types::Error> {
        call::<E, _>(|provider| provider.list(&query).map_err(fail_if_not_found))
    }

    fn list_templates(
        cursor: Option<String>,
    ) -> Result<resource_provider::TemplatePage, provider_types::Error> {
        call::<E, _>(|provider| {
            provider
                .templates(cursor.as_deref())
                .map_err(fail_if_not_found)
        })
    }

    fn match_uri(uri: String) -> Option<TemplateMatch> {
        E::with(|provider| provider.as_ref().ok()?.match_uri(&uri))
    }

    fn read_resource(
        request: Request,
    ) -> Result<resource_provider::Reading, provider_types::Error> {
        call::<E, _>(|provider| provider.read(&request))
    }
}

impl<E: ProviderExport> completion_provider::Guest for E {
    fn complete(
        request: completion_provider::CompletionRequest,
    ) -> Result<completion_provider::Completion, provider_types::Error> {
        call::<E, _>(|provider| provider.complete(&request))
    }
}

impl<E: ProviderExport> directory_provider::Guest for E {
    fn list_directory(
        query: directory_provider::DirectoryQuery,
    ) -> Result<directory_provider::DirectoryPage, provider_types::Error> {
        let page = call::<E, _>(|provider| provider.list_directory(&query))?;
        Ok(directory_provider::DirectoryPage {
            children: page.entries,
            next_cursor: page.next_cursor,
            freshness: page.freshness,
        })
    }
}

impl<E: ProviderExport> version_provider::Guest for E {
    fn versions(uris: Vec<String>) -> Result<Vec<Option<String>>, provider_types::Error> {
        call::<E, _>(|provider| provider.versions(&uris))
    }
}
