//! What one provider is given, from its section of the file.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;

use toml::Spanned;

use super::{Conversion, count, folder};
use crate::config::file::{self, Provider};
use crate::config::value::{self, Size};
use crate::name::ProviderName;
use crate::policy::{Access, Approve, Dir, Grant, Guests, Limits, Secrets};
use crate::reconcile::Terms;

/// These limits where something is written, and the given ones elsewhere.
pub(super) fn limits(default: &Limits, written: &file::Limits) -> Limits {
    let size = |written: Option<Size<u64>>, default| written.map_or(default, |size| size.0);
    let time = |written: Option<value::Time>, default| written.map_or(default, |time| time.0);
    Limits {
        memory: size(written.memory, default.memory),
        table_elements: written.table_elements.map_or(default.table_elements, |n| NonZeroU32::get(n).into()),
        instances: count(written.instances, default.instances),
        cpu: time(written.cpu, default.cpu),
        wall: time(written.wall, default.wall),
        calls: count(written.calls, default.calls),
        queue: time(written.queue, default.queue),
        waiting: written.waiting.unwrap_or(default.waiting),
        result: size(written.result, default.result),
        page: count(written.page, default.page),
        held: count(written.held, default.held),
        log: written.log.map_or(default.log, |size| size.0),
        reports: count(written.reports, default.reports),
        component: size(written.component, default.component),
        http_body: size(written.http_body, default.http_body),
    }
}

impl Conversion<'_> {
    pub(super) fn provider(
        &mut self,
        name: &Spanned<String>,
        written: Provider,
        (defaults, approve): (&Limits, Approve),
        secrets: &Secrets,
    ) -> Option<(ProviderName, Terms)> {
        let approve = written.approve.map_or(approve, Approve::from);
        let grant = Grant {
            limits: limits(defaults, &written.limits),
            settings: written.settings.into_iter().map(|(name, value)| (name, value.0)).collect(),
            secrets: self.secrets(secrets, &written.secrets),
            env: self.variables(written.env),
            dirs: self.dirs(&written.dirs),
            hosts: written.hosts.into_iter().map(|host| host.0).collect(),
            raw_values: written.raw_values.unwrap_or(false),
            guests: match written.guests {
                None | Some(file::Guests::Fresh) => Guests::Fresh,
                Some(file::Guests::Reuse) => Guests::Reused,
            },
        };
        for name in written.secrets.iter().filter(|name| grant.settings.contains_key(name.get_ref())) {
            self.fault(&name.span(), format!("`{}` is a setting, too: take one of them out", name.get_ref()));
        }
        match ProviderName::parse(name.get_ref()) {
            Ok(name) => {
                let priority = written.priority.unwrap_or(0);
                Some((name, Terms { grant: Arc::new(grant), priority, approve }))
            }
            Err(bad) => {
                self.fault(&name.span(), bad.to_string());
                None
            }
        }
    }

    fn variables(&mut self, written: file::Env) -> BTreeMap<String, String> {
        let mut given: BTreeMap<_, _> =
            written.given.into_iter().map(|(name, value)| (name, value.0)).collect();
        for name in written.taken {
            match self.env.get(name.get_ref()) {
                Some(value) => {
                    given.insert(name.into_inner(), value.clone());
                }
                None => {
                    let what = format!("the environment variable {name} is not set; set it, or take it out");
                    self.fault(&name.span(), what);
                }
            }
        }
        given
    }

    pub(super) fn dirs(&mut self, written: &[Spanned<value::Dir>]) -> Vec<Dir> {
        let mut dirs: Vec<Dir> = Vec::with_capacity(written.len());
        for item in written {
            let dir = self.dir(item.get_ref());
            if let Err(what) = folder(&dir.host) {
                self.fault(&item.span(), what);
            }
            if !is_guest_path(&dir.guest) {
                let what = "is not a path for a guest: write it absolute and without `..`, such as \"/docs\"";
                self.fault(&item.span(), format!("`{}` {what}", dir.guest));
            }
            if dirs.iter().any(|other| other.guest == dir.guest) {
                let what = "two folders under one path: give each a `guest` of its own";
                self.fault(&item.span(), format!("`{}` {what}", dir.guest));
            }
            dirs.push(dir);
        }
        dirs
    }

    /// Without a word on it, a guest sees a folder under the folder's own name.
    fn dir(&self, written: &value::Dir) -> Dir {
        let host = self.place.folder.join(&written.host);
        let own = || host.canonicalize().ok()?.file_name().map(|name| format!("/{}", name.to_string_lossy()));
        let guest = written.guest.clone().or_else(own).unwrap_or_else(|| "/".into());
        let access = match written.access {
            value::Access::Read => Access::Read,
            value::Access::Write => Access::Write,
        };
        Dir { host, guest, access, is_real: false }
    }
}

fn is_guest_path(path: &str) -> bool {
    path.starts_with('/') && !path.contains('\0') && path.split('/').all(|part| !matches!(part, "." | ".."))
}
