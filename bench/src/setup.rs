//! Directories with a configuration and components for the servers that are measured.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::process::{Cores, Server};

/// A connection limit that no measurement reaches.
pub(crate) const MAX_CONNECTIONS: usize = 2100;

/// The programs and folders that the benchmark uses.
#[derive(Debug, Clone)]
pub(crate) struct Setup {
    /// The release build of the server.
    pub(crate) larder: PathBuf,
    /// Another build of the server to compare with.
    pub(crate) against: Option<PathBuf>,
    /// The components of the integration tests for the other build.
    pub(crate) against_guests: Option<PathBuf>,
    /// Components of the integration tests.
    pub(crate) guests: PathBuf,
    /// One compressed component for each language.
    pub(crate) fixtures: PathBuf,
    /// The changelog example in each language for which it was built.
    pub(crate) examples: PathBuf,
    /// The microbenchmark program, which can also serve a guest without the rest of Larder.
    pub(crate) bare: Option<PathBuf>,
    /// A folder for temporary files; they stay until the next run.
    pub(crate) scratch: PathBuf,
}

/// A provider of a server: its name, its component and its configuration section in TOML.
pub(crate) struct ProviderSetup {
    pub(crate) name: String,
    pub(crate) component: Vec<u8>,
    pub(crate) config: String,
}

impl Setup {
    pub(crate) fn guest(&self, name: &str) -> Result<Vec<u8>> {
        let file = self.guests.join(format!("{name}.wasm"));
        fs::read(&file)
            .with_context(|| format!("{}: build it with `cargo xtask guests`", file.display()))
    }

    /// The file of the changelog example in this language, if it was built.
    pub(crate) fn example_file(&self, language: &str) -> Option<PathBuf> {
        let file = self.examples.join(format!("{language}.wasm"));
        file.is_file().then_some(file)
    }

    /// The changelog example in this language, in its state when the contract was released.
    pub(crate) fn example(&self, language: &str) -> Result<Vec<u8>> {
        let file = self.fixtures.join(format!("{language}.wasm.zst"));
        let packed = fs::File::open(&file).with_context(|| file.display().to_string())?;
        let mut component = Vec::new();
        ruzstd::decoding::StreamingDecoder::new(packed)?.read_to_end(&mut component)?;
        Ok(component)
    }

    /// A provider of the benchmark documents under its own authority.
    pub(crate) fn sized_provider(&self, name: &str, extra: &str) -> Result<ProviderSetup> {
        let config = format!(
            "[provider.{name}]\n{extra}\n[provider.{name}.settings]\nauthority = \"{name}\"\n"
        );
        Ok(ProviderSetup {
            name: name.to_owned(),
            component: self.guest("sized")?,
            config,
        })
    }

    /// A provider with a tool that returns a text of any size.
    pub(crate) fn tool_provider(&self, name: &str, guest: &str) -> Result<ProviderSetup> {
        let config = format!("[provider.{name}]\ntools = true\n");
        Ok(ProviderSetup {
            name: name.to_owned(),
            component: self.guest(guest)?,
            config,
        })
    }

    /// Creates a folder with a configuration and plugins. All servers share one cache of compiled components.
    pub(crate) fn server_dir(&self, name: &str, providers: &[ProviderSetup]) -> Result<PathBuf> {
        self.limited_server_dir(name, providers, MAX_CONNECTIONS)
    }

    /// The same with a limit on connections.
    pub(crate) fn limited_server_dir(
        &self,
        name: &str,
        providers: &[ProviderSetup],
        connections: usize,
    ) -> Result<PathBuf> {
        self.write_server_dir(name, providers, &format!("connections = {connections}"))
    }

    /// Like `server_dir`, with resources as tools.
    pub(crate) fn tool_server_dir(
        &self,
        name: &str,
        providers: &[ProviderSetup],
    ) -> Result<PathBuf> {
        let keys = format!("connections = {MAX_CONNECTIONS}\nresource_tools = true");
        self.write_server_dir(name, providers, &keys)
    }

    /// `server` are the keys of the section with that name.
    fn write_server_dir(
        &self,
        name: &str,
        providers: &[ProviderSetup],
        server: &str,
    ) -> Result<PathBuf> {
        let dir = self.scratch.join(name);
        if dir.exists() {
            fs::remove_dir_all(&dir)?;
        }
        fs::create_dir_all(dir.join("plugins"))?;
        let cache = self.cache();
        let mut config = format!(
            "plugins = \"plugins\"\nstate_dir = \"state\"\n[server]\n{server}\n\
             [server.log]\nfilter = \"warn\"\n[admin]\nlisten = \"off\"\n[compiler]\ncache_dir = {:?}\n",
            cache.display().to_string()
        );
        for provider in providers {
            fs::write(
                dir.join("plugins").join(format!("{}.wasm", provider.name)),
                &provider.component,
            )?;
            config.push_str(&provider.config);
        }
        fs::write(dir.join("larder.toml"), config)?;
        Ok(dir)
    }

    /// Deletes the components that earlier runs compiled, so that results do not depend on the number of
    /// runs.
    pub(crate) fn clear_cache(&self) -> Result<()> {
        let cache = self.cache();
        match cache.exists() {
            true => fs::remove_dir_all(&cache).with_context(|| cache.display().to_string()),
            false => Ok(()),
        }
    }

    fn cache(&self) -> PathBuf {
        self.scratch.join("cache")
    }

    /// Starts Larder in a server folder.
    pub(crate) fn start(&self, dir: &Path) -> Result<Server> {
        Self::start_program(&self.larder, dir, Cores::First)
    }

    /// Like [`Self::start`], on all cores.
    pub(crate) fn start_on_all_cores(&self, dir: &Path) -> Result<Server> {
        Self::start_program(&self.larder, dir, Cores::All)
    }

    /// Starts another build of the server with these providers, in a separate folder and with a separate
    /// cache.
    pub(crate) fn start_other(
        &self,
        program: &Path,
        name: &str,
        providers: &[ProviderSetup],
    ) -> Result<Server> {
        let own = Self {
            scratch: self.scratch.join(name),
            ..self.clone()
        };
        fs::create_dir_all(&own.scratch)?;
        Self::start_program(program, &own.server_dir("rust", providers)?, Cores::First)
    }

    fn start_program(program: &Path, dir: &Path, cores: Cores) -> Result<Server> {
        let mut serve = Command::new(program);
        serve.current_dir(dir).args([
            "serve",
            "--config",
            "larder.toml",
            "--listen",
            "127.0.0.1:0",
        ]);
        Server::start(&mut serve, cores)
    }
}

/// Starts a server that is part of this program.
pub(crate) fn start_own(args: &[&std::ffi::OsStr]) -> Result<Server> {
    Server::start(
        Command::new(std::env::current_exe()?).args(args),
        Cores::First,
    )
}
