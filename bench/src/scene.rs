//! The servers that are measured, with what they serve.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::process::Server;

/// More than ever come.
pub(crate) const CONNECTIONS: usize = 2100;

/// Where things are.
#[derive(Debug, Clone)]
pub(crate) struct Places {
    /// The server, built for release.
    pub(crate) larder: PathBuf,
    /// Another build of the server, to compare with.
    pub(crate) against: Option<PathBuf>,
    /// Components of the tests.
    pub(crate) guests: PathBuf,
    /// Components of each language.
    pub(crate) fixtures: PathBuf,
    /// The inner rooms, which can also serve with nothing of Larder around the guest.
    pub(crate) bare: Option<PathBuf>,
    /// Where files may be left until the next run.
    pub(crate) scratch: PathBuf,
}

/// A provider in a scene: its name, its component, and what its operator says of it.
pub(crate) struct Role {
    pub(crate) name: String,
    pub(crate) component: Vec<u8>,
    pub(crate) settings: String,
}

impl Places {
    pub(crate) fn guest(&self, name: &str) -> Result<Vec<u8>> {
        let file = self.guests.join(format!("{name}.wasm"));
        fs::read(&file).with_context(|| format!("{}: build it with `cargo xtask guests`", file.display()))
    }

    /// The changelog reader of a language.
    pub(crate) fn example(&self, language: &str) -> Result<Vec<u8>> {
        let file = self.fixtures.join(format!("{language}.wasm.zst"));
        let packed = fs::File::open(&file).with_context(|| file.display().to_string())?;
        let mut component = Vec::new();
        ruzstd::decoding::StreamingDecoder::new(packed)?.read_to_end(&mut component)?;
        Ok(component)
    }

    /// One of the documents below an authority of its own.
    pub(crate) fn sized(&self, name: &str, more: &str) -> Result<Role> {
        let settings =
            format!("[provider.{name}]\n{more}\n[provider.{name}.settings]\nauthority = \"{name}\"\n");
        Ok(Role { name: name.to_owned(), component: self.guest("sized")?, settings })
    }

    /// A folder with a configuration and plugins. Compiled code is shared by all scenes.
    pub(crate) fn scene(&self, name: &str, roles: &[Role]) -> Result<PathBuf> {
        self.scene_for(name, roles, CONNECTIONS)
    }

    /// The same where no more than so many may come.
    pub(crate) fn scene_for(&self, name: &str, roles: &[Role], connections: usize) -> Result<PathBuf> {
        let at = self.scratch.join(name);
        if at.exists() {
            fs::remove_dir_all(&at)?;
        }
        fs::create_dir_all(at.join("plugins"))?;
        let cache = self.cache();
        let mut config = format!(
            "plugins = \"plugins\"\nstate_dir = \"state\"\n[server]\nconnections = {connections}\n\
             [server.log]\nfilter = \"warn\"\n[admin]\nlisten = \"off\"\n[compiler]\ncache_dir = {:?}\n",
            cache.display().to_string()
        );
        for role in roles {
            fs::write(at.join("plugins").join(format!("{}.wasm", role.name)), &role.component)?;
            config.push_str(&role.settings);
        }
        fs::write(at.join("larder.toml"), config)?;
        Ok(at)
    }

    /// Deletes what was compiled for earlier runs: nothing depends on how many there were.
    pub(crate) fn forget(&self) -> Result<()> {
        let cache = self.cache();
        match cache.exists() {
            true => fs::remove_dir_all(&cache).with_context(|| cache.display().to_string()),
            false => Ok(()),
        }
    }

    fn cache(&self) -> PathBuf {
        self.scratch.join("cache")
    }

    /// Larder with a scene.
    pub(crate) fn serve(&self, scene: &Path) -> Result<Server> {
        Self::start(&self.larder, scene)
    }

    /// Another build of the server with these providers, in a scene and with a cache of its own.
    pub(crate) fn serve_with(&self, program: &Path, name: &str, roles: &[Role]) -> Result<Server> {
        let own = Self { scratch: self.scratch.join(name), ..self.clone() };
        fs::create_dir_all(&own.scratch)?;
        Self::start(program, &own.scene("rust", roles)?)
    }

    fn start(program: &Path, scene: &Path) -> Result<Server> {
        let mut serve = Command::new(program);
        serve.current_dir(scene).args(["serve", "--config", "larder.toml", "--listen", "127.0.0.1:0"]);
        Server::start(&mut serve)
    }
}

/// A server that is part of this program.
pub(crate) fn own(words: &[&std::ffi::OsStr]) -> Result<Server> {
    Server::start(Command::new(std::env::current_exe()?).args(words))
}
