//! The addresses of `larder up`. Another server may run, so the next free ports are taken.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use super::super::error::CommandError;
use crate::app;
use larder_mcp::{ListenAddress, Listener};

/// The first port of an endpoint. The admin address has the next one, as with `larder serve`.
const FIRST_PORT: u16 = 7878;
/// How many pairs of ports are tried before the system chooses them.
const MAX_ATTEMPTS: u16 = 10;

/// Binds the endpoint and the admin address.
pub(super) async fn bind(
    listen: Option<ListenAddress>,
) -> Result<(Listener, Listener), CommandError> {
    if let Some(listen) = listen {
        return Ok((app::bind(&listen).await?, local(0).await?));
    }
    for attempt in 0..MAX_ATTEMPTS {
        let port = FIRST_PORT + 2 * attempt;
        if let Ok(pair) = bind_ports(port, port + 1).await {
            return Ok(pair);
        }
    }
    Ok(bind_ports(0, 0).await?)
}

async fn bind_ports(endpoint: u16, admin: u16) -> io::Result<(Listener, Listener)> {
    Ok((local(endpoint).await?, local(admin).await?))
}

async fn local(port: u16) -> io::Result<Listener> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    Listener::bind(&ListenAddress::Tcp(address)).await
}
