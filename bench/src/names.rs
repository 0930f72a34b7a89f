//! Measures the memory of a server with one component in Python under many names, all of them idle.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use serde_json::{Value, json};

use crate::admin;
use crate::process::Server;
use crate::setup::Setup;

/// The number of names of the component.
const NAMES: usize = 1_000;
/// Longer than the server needs until it has no more work.
const TIMEOUT: Duration = Duration::from_secs(180);
/// The server counts as idle if it used at most this CPU time in one interval.
const INTERVAL: Duration = Duration::from_millis(500);
const IDLE: Duration = Duration::from_millis(10);

/// Proportional set sizes in bytes.
#[derive(Debug, Clone)]
pub(crate) struct Names {
    pub(crate) names: usize,
    /// The memory of a server with the component under one name.
    pub(crate) one: u64,
    /// Of a server with it under all names.
    pub(crate) all: u64,
    /// From the start of the process until the last name is served.
    pub(crate) start: Duration,
}

/// None if the example in Python is not built.
pub(crate) fn measure(setup: &Setup) -> Result<Option<Names>> {
    let Some(component) = setup.example_file("python") else {
        return Ok(None);
    };
    eprintln!("measuring the memory of a component under {NAMES} names");
    let idle = |count: usize| -> Result<(u64, Duration)> {
        let dir = setup.server_dir("names", &[])?;
        let shared = dir.join("component.wasm");
        fs::copy(&component, &shared)?;
        for number in 0..count {
            fs::hard_link(&shared, dir.join(format!("plugins/name-{number:04}.wasm")))?;
        }
        let admin = admin::configure(&dir)?;
        let (start, server) = (Instant::now(), setup.start(&dir)?);
        admin::wait_for(admin, admin::PROVIDERS, count)?;
        let start = start.elapsed();
        admin::wait_for(admin, admin::UNOPTIMISED, 0)?;
        wait_until_idle(&server)?;
        Ok((server.proportional_memory()?, start))
    };
    let (one, _) = idle(1)?;
    let (all, start) = idle(NAMES)?;
    Ok(Some(Names {
        names: NAMES,
        one,
        all,
        start,
    }))
}

/// Waits until the server has no work: files are read again some seconds after the start.
fn wait_until_idle(server: &Server) -> Result<()> {
    let (start, mut quiet) = (Instant::now(), 0);
    while start.elapsed() < TIMEOUT {
        let before = server.cpu_time()?;
        std::thread::sleep(INTERVAL);
        quiet = if server.cpu_time()?.saturating_sub(before) <= IDLE {
            quiet + 1
        } else {
            0
        };
        if quiet == 10 {
            return Ok(());
        }
    }
    bail!("the server was not idle within {TIMEOUT:?}")
}

impl Names {
    pub(crate) fn print(&self) {
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        println!("\n## One component in Python under many names, all idle\n");
        println!(
            "| names | memory (PSS) | with one name | per name | start |\n|---:|---:|---:|---:|---:|"
        );
        let each = self.all.saturating_sub(self.one) as f64 / 1024.0 / (self.names - 1) as f64;
        let (all, one, start) = (mib(self.all), mib(self.one), self.start.as_secs_f64());
        println!(
            "| {} | {all:.0} MiB | {one:.0} MiB | {each:.0} KiB | {start:.1} s |",
            self.names
        );
    }

    pub(crate) fn json(&self) -> Value {
        json!({"names": self.names, "pss_bytes": self.all, "pss_bytes_with_one": self.one,
            "start_ms": self.start.as_secs_f64() * 1e3})
    }
}
