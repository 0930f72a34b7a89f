//! From what was written to what is meant: the one conversion, and the only place with defaults.
//! (Those of the limits stand in `policy`, which has to have some where there is no file at all.)

mod admin;
mod audit;
mod auth;
mod compiler;
mod places;
mod provider;
mod secret;
mod state;
mod team;
mod telemetry;

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroU32;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use toml::Spanned;

pub(crate) use self::auth::{scope, token_name};
use self::places::Places;
use self::team::House;
use super::file::{self, File, Server, Watch};
use super::gather::Source;
use super::value::Time;
use super::{Config, Env, Fault, Log, LogFormat, Overrides, Place};
use crate::name::{TeamName, Teams};
use crate::policy::{Ask, Limits};
use crate::resource::Caller;
use crate::{endpoint, gateway, lookout, sandbox};

/// Who reads nothing for so long is gone, or not worth a connection.
const STALL: Duration = Duration::from_secs(30);

pub(super) fn convert(
    file: File,
    place: &Place,
    env: &Env,
    overrides: &Overrides,
    source: &Source<'_>,
    faults: &mut Vec<Fault>,
) -> Config {
    let mut conversion = Conversion { place, env, known: BTreeSet::new(), source, faults };
    let house = House {
        limits: provider::limits(&Limits::default(), &file.limits),
        approve: file.approve,
        secrets: conversion.all_secrets(file.secret),
        state_dir: file.state_dir,
        poll: time(file.watch.poll, 2),
        overrides,
    };
    let named = !file.team.is_empty();
    let teams = conversion.all_teams(&house, file.plugins.as_ref(), file.provider, file.team);
    conversion.known = teams.keys().cloned().collect();
    let anyone = conversion.members(file.server.teams.as_ref());
    let local = conversion.members(file.stdio.teams.as_ref());
    let local = overrides.team.clone().filter(|team| teams.contains_key(team)).map_or(local, Teams::from);
    let auth = conversion.auth(file.auth);
    let private = named || !auth.is_open();
    let listen = conversion.listen(&file.server, overrides, auth.is_open());
    let log = conversion.log(&file.server);
    let admin = conversion.admin(&file.admin);
    let audit = conversion.audit(&file.audit);
    let places = conversion.places(&file.server);
    let telemetry = conversion.telemetry(&file.telemetry);
    let Server { instructions, page_size, watched_uris, guests, grace, .. } = &file.server;
    Config {
        admin,
        audit,
        telemetry,
        gateway: gateway::Config {
            page_size: gateway::PageSize {
                resources: page_size.resources.unwrap_or(100),
                templates: page_size.templates.unwrap_or(100),
            },
            instructions: instructions.clone(),
            cache: gateway::CacheConfig {
                bytes: file.cache.bytes.map_or(64 << 20, |size| size.0),
                entries: file.cache.entries.unwrap_or(10_000) as usize,
            },
            private,
        },
        watched_uris: count(*watched_uris, 1_000) as usize,
        lookout: lookout(&file.watch),
        sandbox: sandbox::Config {
            slots: count(*guests, 256),
            compiler: compiler::compiler(file.compiler, place, env),
        },
        grace: time(*grace, 10),
        local: Caller { subject: file.stdio.subject, issuer: None, teams: local, scopes: Vec::new() },
        endpoint: endpoint(file.server, listen, places, auth, anyone),
        file: place.file.as_ref().map(|file| place.here.join(file)),
        seen: None,
        overrides: overrides.clone(),
        is_over_stdio: false,
        teams,
        log,
    }
}

/// Whom to believe, and nothing else of the file: no other file and no folder is looked at.
pub(super) fn credentials(
    file: File,
    place: &Place,
    env: &Env,
    source: &Source<'_>,
    faults: &mut Vec<Fault>,
) -> endpoint::auth::Config {
    let named = file.team.keys().filter_map(|name| TeamName::parse(name.get_ref()).ok());
    let known = if file.team.is_empty() { [TeamName::sole()].into() } else { named.collect() };
    Conversion { place, env, known, source, faults }.auth(file.auth)
}

fn lookout(watch: &Watch) -> lookout::Config {
    lookout::Config {
        interval: time(watch.interval, 2),
        reread: watch.reread.map_or(Some(Duration::from_secs(10)), |time| time.0),
    }
}

/// What stands beside a component, as its author wrote it.
pub(super) fn ask(
    written: file::Ask,
    place: &Place,
    env: &Env,
    source: &Source<'_>,
    faults: &mut Vec<Fault>,
) -> Ask {
    let mut conversion = Conversion { place, env, known: BTreeSet::new(), source, faults };
    let mut dirs = conversion.dirs(&written.dirs);
    for dir in &mut dirs {
        // By its real path: what is approved is that folder, not whatever a link shows one day.
        dir.host = dir.host.canonicalize().unwrap_or_else(|_| dir.host.clone());
        dir.is_real = true;
    }
    Ask {
        settings: written.settings.into_iter().map(|(name, value)| (name, value.0)).collect(),
        dirs,
        hosts: written.hosts.into_iter().map(|host| host.0).collect(),
        env: written
            .env
            .into_iter()
            .map(|name| (name.get_ref().clone(), env.get(name.get_ref()).cloned()))
            .collect(),
        // Their texts are not this file's to know.
        secrets: written.secrets.into_iter().map(|name| (name, None)).collect(),
    }
}

fn endpoint(
    server: Server,
    listen: SocketAddr,
    Places { streams, connections }: Places,
    auth: endpoint::auth::Config,
    anyone: Teams,
) -> endpoint::Config {
    endpoint::Config {
        listen,
        hosts: server.hosts.unwrap_or_default(),
        origins: server.origins.unwrap_or_default(),
        body_limit: server.body_limit.map_or(1 << 20, |size| size.0),
        sessions: count(server.sessions, 1_000) as usize,
        session_idle: time(server.session_idle, 30 * 60),
        streams,
        connections,
        waiting_bytes: server.waiting_bytes.map_or(256 << 20, |size| size.0),
        keep_alive: time(server.keep_alive, 15),
        stall: STALL,
        auth,
        caller: Caller { subject: None, issuer: None, teams: anyone, scopes: Vec::new() },
        title: server.title,
        dialects: server.dialects.into_iter().map(endpoint::Dialect::from).collect(),
    }
}

fn count(written: Option<NonZeroU32>, default: u32) -> u32 {
    written.map_or(default, NonZeroU32::get)
}

fn time(written: Option<Time>, seconds: u64) -> Duration {
    written.map_or(Duration::from_secs(seconds), |time| time.0)
}

struct Conversion<'a> {
    place: &'a Place,
    env: &'a Env,
    /// The teams that there are.
    known: BTreeSet<TeamName>,
    source: &'a Source<'a>,
    faults: &'a mut Vec<Fault>,
}

impl Conversion<'_> {
    fn fault(&mut self, at: &Range<usize>, what: impl Into<String>) {
        self.faults.push(self.source.fault(at, what));
    }

    /// A fault of what the command line said, or of a default.
    fn fault_of(&mut self, place: &str, what: String) {
        self.faults.push(Fault { line: None, place: place.into(), what });
    }

    /// The folder of a team: what the command line says, what the file says, or the usual one.
    fn plugins(&mut self, written: Option<&Spanned<PathBuf>>, named: Option<&Path>, usual: &str) -> PathBuf {
        let (at, path) = match (named, written) {
            (Some(path), _) => (None, self.place.here.join(path)),
            (None, Some(path)) => (Some(path.span()), self.place.folder.join(path.get_ref())),
            (None, None) => (None, self.place.folder.join(usual)),
        };
        // It may come later: whoever serves waits for it, and who answers once says that it is not there.
        if let (true, Err(what)) = (path.exists(), folder(&path)) {
            match at {
                Some(at) => self.fault(&at, what),
                None if named.is_some() => self.fault_of("--plugins", what),
                None => self.fault_of("plugins", format!("{what}, or name another with `--plugins DIR`")),
            }
        }
        path
    }

    /// Beyond this machine only with credentials, or for those who say that they want none.
    fn listen(&mut self, server: &Server, overrides: &Overrides, open: bool) -> SocketAddr {
        let unauthenticated = server.unauthenticated.as_ref().filter(|said| *said.get_ref());
        if let Some(said) = unauthenticated.filter(|_| !open) {
            let what =
                "there are credentials in `auth`, and everybody may ask without: take out one of the two";
            self.fault(&said.span(), what);
        }
        let written = server.listen.as_ref();
        let default = SocketAddr::from((Ipv4Addr::LOCALHOST, 7878));
        let listen = overrides.listen.or(written.map(|listen| listen.get_ref().0)).unwrap_or(default);
        if listen.ip().is_loopback() {
            return listen;
        }
        let mut missing = Vec::new();
        if server.hosts.as_ref().is_none_or(Vec::is_empty) {
            missing.push("`server.hosts` with the names under which clients reach it");
        }
        if open && !self.place.guarded && unauthenticated.is_none() {
            missing.push(
                "credentials (`larder token new` makes some), or `server.unauthenticated = true` \
                 if anyone who reaches it may read everything",
            );
        }
        if !missing.is_empty() {
            let what =
                format!("{listen} is reachable from outside this machine: set {}", missing.join(", and "));
            match written {
                Some(written) if overrides.listen.is_none() => self.fault(&written.span(), what),
                _ => self.fault_of("--listen", what),
            }
        }
        listen
    }

    fn log(&mut self, server: &Server) -> Log {
        let named = self.env.get("LARDER_LOG").filter(|filter| !filter.is_empty());
        let written = server.log.filter.as_ref();
        let filter =
            named.or(written.map(|filter| filter.get_ref())).map_or("info", String::as_str).to_owned();
        if let Err(error) = tracing_subscriber::EnvFilter::try_new(&filter) {
            match written {
                Some(written) if named.is_none() => {
                    self.fault(&written.span(), format!("not a filter: {error}"))
                }
                _ => self.fault_of("LARDER_LOG", format!("not a filter: {error}")),
            }
        }
        Log { filter, format: server.log.format.unwrap_or(LogFormat::Text) }
    }
}

fn folder(path: &Path) -> Result<(), String> {
    match std::fs::metadata(path) {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) => Err(format!("{} is not a folder", path.display())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Err(format!("there is no folder {}: create it", path.display()))
        }
        Err(error) => Err(format!("cannot open {}: {error}", path.display())),
    }
}
