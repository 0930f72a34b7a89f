//! The admin address of a server. Its metrics show which work the server is still doing.

use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};

use crate::load;

/// Longer than compiling a component and calling 1,000 providers takes.
const TIMEOUT: Duration = Duration::from_secs(180);
const INTERVAL: Duration = Duration::from_millis(200);

/// The number of served providers.
pub(crate) const PROVIDERS: &str = "larder_providers{";
/// The number of components that are compiled again, with optimisation.
pub(crate) const UNOPTIMISED: &str = "larder_unoptimised_components ";

/// Configures an admin address with a free port.
pub(crate) fn configure(dir: &Path) -> Result<SocketAddr> {
    let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    let file = dir.join("larder.toml");
    let (off, on) = (
        "[admin]\nlisten = \"off\"",
        format!("[admin]\nlisten = \"{address}\""),
    );
    let config = fs::read_to_string(&file)?;
    ensure!(
        config.contains(off),
        "the configuration has no admin address"
    );
    fs::write(&file, config.replace(off, &on))?;
    Ok(address)
}

/// Waits until the metric whose line has this beginning has this value.
pub(crate) fn wait_for(admin: SocketAddr, metric: &str, value: usize) -> Result<()> {
    let get = format!("GET /metrics HTTP/1.1\r\nhost: {admin}\r\n\r\n");
    let (start, mut line) = (Instant::now(), String::new());
    while start.elapsed() < TIMEOUT {
        let (_, _, metrics) = load::once(admin, get.as_bytes())?;
        let metrics = String::from_utf8_lossy(&metrics);
        line = metrics
            .lines()
            .find(|line| line.starts_with(metric))
            .unwrap_or_default()
            .to_owned();
        if line
            .rsplit_once(' ')
            .is_some_and(|(_, number)| number == value.to_string())
        {
            return Ok(());
        }
        std::thread::sleep(INTERVAL);
    }
    bail!("`{line}` instead of {value} after {TIMEOUT:?}")
}
