//! Converts `[team.NAME.ceiling]`: the maximum that the providers of a team can be granted.

use toml::Spanned;

use super::secret::ConfiguredSecrets;
use super::{Conversion, require_folder};
use crate::file;
use crate::value::{self, Host};
use larder_model::policy::{Bounds, Ceiling, Dir, HostRule, resolve_existing};

impl Conversion<'_> {
    pub(super) fn ceiling(
        &mut self,
        configured: &ConfiguredSecrets,
        raw: file::Ceiling,
    ) -> Ceiling {
        let dirs = self.ceiling_dirs(&raw.dirs);
        let names = raw.secrets.iter().map(|name| name.get_ref().as_str());
        let credentials = configured.hosts_of(names);
        let mut for_settings = raw.secrets;
        for_settings.retain(|name| !credentials.contains_key(name.get_ref()));
        let secrets = self.select_secrets(&configured.values, &for_settings);
        let bounds = Bounds {
            dirs,
            hosts: self.ceiling_hosts(raw.hosts),
            tcp: raw.tcp.into_iter().map(|rule| rule.0).collect(),
            key_value: raw.key_value.0,
            env: raw.env.into_iter().collect(),
            tools: raw.tools.0,
            prompts: raw.prompts,
            skills: raw.skills,
            apps: raw.apps.0,
        };
        Ceiling {
            bounds: Some(bounds),
            secrets,
            credentials,
        }
    }

    fn ceiling_hosts(&mut self, raw: Vec<Spanned<Host>>) -> Vec<HostRule> {
        for host in &raw {
            self.reject_auth(host);
        }
        raw.into_iter().map(|host| host.into_inner().0).collect()
    }

    fn reject_auth(&mut self, host: &Spanned<Host>) {
        if host.get_ref().0.auth.is_some() {
            let message =
                "`auth` has no effect in a ceiling: remove it, and list the secret in `secrets`";
            self.error(&host.span(), message);
        }
    }

    fn ceiling_dirs(&mut self, raw: &[Spanned<value::Dir>]) -> Vec<Dir> {
        raw.iter().filter_map(|dir| self.ceiling_dir(dir)).collect()
    }

    fn ceiling_dir(&mut self, raw: &Spanned<value::Dir>) -> Option<Dir> {
        let dir = raw.get_ref();
        let host = self.context.folder.join(&dir.host);
        if dir.guest.is_some() {
            self.error(&raw.span(), "`guest` has no effect in a ceiling: remove it");
        }
        self.ok_or_report(&raw.span(), require_folder(&host))?;
        Some(Dir {
            host: resolve_existing(&host),
            guest: String::new(),
            access: dir.access.into(),
            is_canonical: true,
        })
    }
}
