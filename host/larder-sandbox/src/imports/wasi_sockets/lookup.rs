//! The addresses of names. Only granted names are looked up.

use std::net::IpAddr;
use std::vec;

use wasmtime::component::Resource;
use wasmtime_wasi::p2::bindings::sockets::network::{ErrorCode, IpAddress};
use wasmtime_wasi::p2::{Network, Pollable};

use crate::guest::log::LogLevel;
use crate::guest::state::GuestState;
use crate::guest::tcp::Attempt;
use larder_runtime::metrics::ConnectOutcome;

/// The addresses that were found for a name. In the interface they are a stream; here all of them are already known.
pub(super) struct FoundAddresses(vec::IntoIter<IpAddr>);

#[async_trait::async_trait]
impl Pollable for FoundAddresses {
    async fn ready(&mut self) {}
}

impl FoundAddresses {
    pub(super) fn next(&mut self) -> Option<IpAddress> {
        self.0.next().map(IpAddress::from)
    }
}

impl GuestState {
    /// Looks up a name. The guest waits for the result, so there is one lookup of a guest at a time.
    pub(super) async fn resolve_addresses(
        &mut self,
        network: &Resource<Network>,
        name: &str,
    ) -> wasmtime::Result<Result<Resource<FoundAddresses>, ErrorCode>> {
        self.table().get(network)?;
        match self.find_addresses(name).await {
            Ok(found) => Ok(Ok(self.table().push(FoundAddresses(found.into_iter()))?)),
            Err(code) => Ok(Err(code)),
        }
    }

    async fn find_addresses(&mut self, name: &str) -> Result<Vec<IpAddr>, ErrorCode> {
        let Some(tcp) = &self.tcp else {
            return Err(ErrorCode::PermanentResolverFailure);
        };
        let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
        let shared = tcp.shared.clone();
        if let Ok(address) = name.parse::<IpAddr>()
            && shared.has_rule_for_address(address)
        {
            return Ok(vec![address]);
        }
        if !shared.has_rule_for_name(&name) {
            let why = format!(
                "looking up `{name}` is not granted; its operator can allow connections to it with `tcp = [\"{name}:PORT\"]`"
            );
            return Err(self.deny(name, &why));
        }
        let found = shared.resolve(&name).await.map_err(|error| {
            self.log.line(
                LogLevel::Info,
                &format!("cannot find the address of `{name}`: {error}"),
            );
            ErrorCode::NameUnresolvable
        })?;
        tcp.pin(&name, found)
            .map_err(|private| self.deny(name, &private.to_string()))
    }

    /// Records that an address is not granted. The error that the guest gets cannot contain the reason, so the reason
    /// is logged.
    pub(super) fn deny(&self, to: String, why: &str) -> ErrorCode {
        self.log.line(LogLevel::Info, why);
        Attempt::new(&self.lease, to).end(ConnectOutcome::Denied);
        ErrorCode::AccessDenied
    }
}
