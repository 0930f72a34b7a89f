//! Decides for each part of the configuration whether a running server changes it. Every field is named here, so that a
//! new field cannot be forgotten: without a decision about a new field, this file does not compile.

use std::collections::{BTreeMap, BTreeSet};

use super::ConfigReload;
use crate::{Config, Log, Team};
use larder_admin as admin;
use larder_core::gateway;
use larder_core::reconcile::{self, Approvals};
use larder_mcp::{self as endpoint, ListenAddress};
use larder_model::name::TeamName;
use larder_sandbox as sandbox;

/// Collects the keys that need a restart.
#[derive(Default)]
struct Merge(BTreeSet<String>);

impl Config {
    /// Combines this configuration, which is in effect, with the changes of a reload.
    pub(crate) fn merge(&self, fresh: Self) -> ConfigReload {
        let mut merge = Merge::default();
        let config = Self {
            teams: merge.teams(&self.teams, fresh.teams),
            // The key is reported with the approvals, which are in this folder.
            state_dir: self.state_dir.clone(),
            default_state_dirs: self.default_state_dirs.clone(),
            registry_store: if self.state_dir == fresh.state_dir {
                merge.keep(
                    "registries.store",
                    &self.registry_store,
                    fresh.registry_store,
                )
            } else {
                // The default is in the state folder. A change of the state folder is reported with the approvals.
                self.registry_store.clone()
            },
            local_caller: if self.is_over_stdio {
                merge.keep("stdio", &self.local_caller, fresh.local_caller)
            } else {
                fresh.local_caller
            },
            audit: merge.keep("audit", &self.audit, fresh.audit),
            telemetry: merge.keep("telemetry", &self.telemetry, fresh.telemetry),
            cluster: if self.is_over_stdio {
                None
            } else {
                merge.keep("cluster", &self.cluster, fresh.cluster)
            },
            admin: merge.admin(&self.admin, fresh.admin),
            endpoint: merge.endpoint(&self.endpoint, fresh.endpoint, self.is_over_stdio),
            gateway: merge_gateway(&self.gateway, fresh.gateway),
            text_index: merge.keep("search.max_bytes", &self.text_index, fresh.text_index),
            watched_uris: merge.keep(
                "server.watched_uris",
                &self.watched_uris,
                fresh.watched_uris,
            ),
            change_detector: merge.keep("watch", &self.change_detector, fresh.change_detector),
            sandbox: merge.sandbox(&self.sandbox, fresh.sandbox),
            shutdown_grace: fresh.shutdown_grace,
            // This value concerns only the start.
            ready_timeout: fresh.ready_timeout,
            log: merge.log(&self.log, fresh.log),
            file: fresh.file,
            fingerprint: fresh.fingerprint,
            secret_files: fresh.secret_files,
            warnings: fresh.warnings,
            overrides: fresh.overrides,
            is_over_stdio: self.is_over_stdio,
        };
        ConfigReload {
            config,
            needs_restart: merge.0.into_iter().collect(),
        }
    }
}

impl Merge {
    /// Keeps a value that needs a restart, and reports its key if the file has another value.
    fn keep<T: PartialEq + Clone>(&mut self, key: impl Into<String>, running: &T, fresh: T) -> T {
        if *running == fresh {
            return fresh;
        }
        self.0.insert(key.into());
        running.clone()
    }

    /// The endpoint follows the trusted proxies, and the admin address does not.
    fn admin(&mut self, running: &admin::Config, fresh: admin::Config) -> admin::Config {
        let key = "server.trusted_proxies";
        let trusted_proxies = self.keep(key, &running.trusted_proxies, fresh.trusted_proxies);
        self.keep(
            "admin",
            running,
            admin::Config {
                trusted_proxies,
                ..fresh
            },
        )
    }

    /// Teams are added and removed. Teams that stay change only in part.
    fn teams(
        &mut self,
        running: &BTreeMap<TeamName, Team>,
        fresh: BTreeMap<TeamName, Team>,
    ) -> BTreeMap<TeamName, Team> {
        let teams = fresh
            .into_iter()
            .map(|(name, fresh)| match running.get(&name) {
                Some(running) => (name, self.team(running, fresh)),
                None => (name, fresh),
            });
        teams.collect()
    }

    fn team(&mut self, running: &Team, fresh: Team) -> Team {
        let name = &running.reconcile.team;
        let key = |key: &str| match running.quota {
            Some(_) => format!("team.{name}.{key}"),
            None => key.to_owned(),
        };
        let quota_key = format!("team.{name}.quota");
        let has_same_folder = running.plugins == fresh.plugins;
        Team {
            plugins: self.keep(key("plugins"), &running.plugins, fresh.plugins),
            reconcile: self.reconcile(&running.reconcile, fresh.reconcile, has_same_folder),
            builtin: fresh.builtin,
            credentials: fresh.credentials,
            // The folder of the store is reported once, for all teams.
            registry: fresh.registry.with_store_of(&running.registry),
            // Whether there are teams is decided at the start.
            quota: if running.quota.is_some() == fresh.quota.is_some() {
                fresh.quota
            } else {
                self.keep(quota_key, &running.quota, fresh.quota)
            },
        }
    }

    fn reconcile(
        &mut self,
        running: &reconcile::Config,
        fresh: reconcile::Config,
        has_same_folder: bool,
    ) -> reconcile::Config {
        reconcile::Config {
            team: fresh.team,
            providers: fresh.providers,
            default: fresh.default,
            ceiling: fresh.ceiling,
            scan_interval: self.keep("watch", &running.scan_interval, fresh.scan_interval),
            missing_source_grace: fresh.missing_source_grace,
            own_files: fresh.own_files,
            parse_grant_request: fresh.parse_grant_request,
            requires_settings: fresh.requires_settings,
            // Both belong to the folder, whose change is already reported.
            relative_to: running.relative_to.clone(),
            approvals: if has_same_folder {
                self.approvals(&running.approvals, fresh.approvals)
            } else {
                running.approvals.clone()
            },
            trust: fresh.trust,
            resource_tools: fresh.resource_tools,
        }
    }

    fn approvals(&mut self, running: &Approvals, fresh: Approvals) -> Approvals {
        let key = if running.key() == fresh.key() {
            "state_dir"
        } else {
            "state_name"
        };
        self.keep(key, running, fresh)
    }

    fn endpoint(
        &mut self,
        running: &endpoint::Config,
        fresh: endpoint::Config,
        is_over_stdio: bool,
    ) -> endpoint::Config {
        endpoint::Config {
            listen: self.listen(&running.listen, fresh.listen),
            hosts: fresh.hosts,
            origins: fresh.origins,
            body_limit: if is_over_stdio {
                self.keep("server.body_limit", &running.body_limit, fresh.body_limit)
            } else {
                fresh.body_limit
            },
            sessions: self.keep("server.sessions", &running.sessions, fresh.sessions),
            session_idle_timeout: self.keep(
                "server.session_idle_timeout",
                &running.session_idle_timeout,
                fresh.session_idle_timeout,
            ),
            streams: self.keep("server.streams", &running.streams, fresh.streams),
            connections: self.keep(
                "server.connections",
                &running.connections,
                fresh.connections,
            ),
            waiting_bytes: self.keep(
                "server.waiting_bytes",
                &running.waiting_bytes,
                fresh.waiting_bytes,
            ),
            keep_alive: fresh.keep_alive,
            stall_timeout: fresh.stall_timeout,
            shutdown_grace: fresh.shutdown_grace,
            request_log: fresh.request_log,
            trusted_proxies: fresh.trusted_proxies,
            // Credentials have a reload of their own. Here it only matters whether credentials were required before.
            auth: if fresh.auth.is_empty() {
                running.auth.clone()
            } else {
                fresh.auth
            },
            caller: if is_over_stdio {
                running.caller.clone()
            } else {
                fresh.caller
            },
            title: fresh.title,
            extensions: fresh.extensions,
        }
    }

    fn listen(&mut self, running: &ListenAddress, fresh: ListenAddress) -> ListenAddress {
        let key = match (running, &fresh) {
            (ListenAddress::Unix { path, .. }, ListenAddress::Unix { path: fresh, .. })
                if path == fresh =>
            {
                "server.socket_mode"
            }
            _ => "server.listen",
        };
        self.keep(key, running, fresh)
    }

    fn sandbox(&mut self, running: &sandbox::Config, fresh: sandbox::Config) -> sandbox::Config {
        sandbox::Config {
            slots: self.keep("server.guests", &running.slots, fresh.slots),
            memory: self.keep("server.memory", &running.memory, fresh.memory),
            // The value is kept as a part of the log.
            log: running.log,
            log_each_fault: running.log_each_fault,
            compiler: self.keep("compiler", &running.compiler, fresh.compiler),
        }
    }

    fn log(&mut self, running: &Log, fresh: Log) -> Log {
        let rate = (running.bytes_per_second, fresh.bytes_per_second);
        Log {
            filter: fresh.filter,
            format: self.keep("server.log.format", &running.format, fresh.format),
            bytes_per_second: self.keep("server.log.bytes_per_second", &rate.0, rate.1),
        }
    }
}

fn merge_gateway(running: &gateway::Config, fresh: gateway::Config) -> gateway::Config {
    gateway::Config {
        page_size: fresh.page_size,
        instructions: fresh.instructions,
        cache: fresh.cache,
        // A server that requires credentials never stops requiring them.
        private: running.private || fresh.private,
        shared_teams: fresh.shared_teams,
        search_timeout: fresh.search_timeout,
    }
}
