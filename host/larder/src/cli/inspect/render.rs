//! Formats the findings for a terminal.

use super::Findings;
use super::component_info::ImportGroup;
use crate::app::Provider;
use crate::cli::check::grants::GrantReport;
use crate::cli::table::bytes;
use crate::cli::{guest_stderr, sanitize};
use larder_functions::ComponentKind;

/// The maximum number of lines per list.
const MAX_ITEMS: usize = 10;

pub(super) fn render(findings: &Findings, colour: bool) -> String {
    let mut page = Page::new(colour);
    let info = &findings.info;
    page.line("file", &findings.file);
    let kind = info.kind_with_article();
    page.line("is", &format!("{kind}, {}", bytes(findings.size)));
    page.line("digest", &findings.digest);
    if let Some(published) = &findings.published {
        page.published(published);
    }
    page.line("contract", &contract(findings));
    if let Some(reason) = &findings.rejected {
        page.line("rejected", reason);
    }
    page.stderr(&findings.stderr);
    if !info.imports.is_empty() {
        page.head("imports");
    }
    for (group, imports) in &info.imports {
        page.item(&format!("{}: {}", meaning(*group), imports.join(", ")));
    }
    if let Some(grants) = &findings.grants {
        page.grants(grants, findings.configured);
    }
    if let Some(offers) = &findings.offers {
        page.offers(offers);
    }
    page.interfaces(&findings.interfaces);
    page.text
}

fn contract(findings: &Findings) -> String {
    let info = &findings.info;
    let has_functions = info.component_kind() == ComponentKind::Functions;
    match &info.contract {
        Some(version) => format!("larder:provider {version}: {}", info.exports.join(", ")),
        None if has_functions && findings.rejected.is_none() => {
            "none: its functions are served as tools".into()
        }
        None => "none: it does not export larder:provider/resource-provider".into(),
    }
}

fn meaning(group: ImportGroup) -> &'static str {
    match group {
        ImportGroup::Host => "the contract",
        ImportGroup::Http => "HTTP (grant: `hosts`)",
        ImportGroup::KeyValue => "key-value store (grant: `key_value`)",
        ImportGroup::Folders => "folders (grant: `dirs`)",
        ImportGroup::Environment => "environment variables (grant: `env`)",
        ImportGroup::Sockets => "TCP connections (grant: `tcp`)",
        ImportGroup::Runtime => "language runtime",
        ImportGroup::Settings => "settings and secrets",
        ImportGroup::Log => "log of the provider",
        ImportGroup::RefusedWhenCalled => "fails when it is called",
        ImportGroup::Unknown => "not provided by the host",
    }
}

pub(super) struct Page {
    pub(super) text: String,
    colour: bool,
}

impl Page {
    pub(super) fn new(colour: bool) -> Self {
        Self {
            text: String::new(),
            colour,
        }
    }

    pub(super) fn line(&mut self, key: &str, value: &str) {
        self.key(&format!("{key:<10}"));
        self.text += &format!(" {}\n", sanitize::line(value));
    }

    pub(super) fn head(&mut self, key: &str) {
        self.key(key);
        self.text.push('\n');
    }

    fn key(&mut self, key: &str) {
        if self.colour {
            self.text += &format!("\x1b[1m{key}\x1b[0m")
        } else {
            self.text += key
        }
    }

    fn item(&mut self, item: &str) {
        self.text += &format!("  {}\n", sanitize::line(item));
    }

    fn stderr(&mut self, lines: &[String]) {
        if !lines.is_empty() {
            self.head(guest_stderr::HEADING);
        }
        for line in lines {
            self.item(line);
        }
    }

    pub(super) fn items(&mut self, items: &[String], more: bool) {
        for item in items.iter().take(MAX_ITEMS) {
            self.item(item);
        }
        match items.len().saturating_sub(MAX_ITEMS) {
            0 if more => self.item("… and more"),
            0 => {}
            rest => self.item(&format!(
                "… and {rest} more{}",
                if more { ", at least" } else { "" }
            )),
        }
    }

    fn grants(&mut self, grants: &GrantReport, shows_granted: bool) {
        self.head("requests");
        for line in grants.request_lines() {
            self.item(&line);
        }
        if shows_granted {
            self.granted(grants);
        }
    }

    fn granted(&mut self, grants: &GrantReport) {
        self.head("grants");
        for line in grants.show().lines().skip(1) {
            self.item(line.trim_start());
        }
    }

    fn offers(&mut self, offers: &Provider) {
        self.head("offers, without any grant");
        let texts = [
            ("title", &offers.title),
            ("version", &offers.version),
            ("summary", &offers.summary),
        ];
        for (key, value) in texts
            .into_iter()
            .chain([("for models", &offers.instructions)])
        {
            if let Some(value) = value {
                self.item(&format!("{key}: {value}"));
            }
        }
        if !offers.claims.is_empty() {
            self.item(&format!("claims: {}", offers.claims.join(" ")));
        }
        self.head(&offers.counts());
        self.items(&offers.templates, false);
        self.items(&offers.resources, offers.has_more);
        if !offers.omitted.is_empty() {
            self.head("omitted or changed");
            self.items(&offers.omitted, false);
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::super::component_info::{ComponentInfo, Metadata};
    use super::*;
    use crate::app::Interfaces;

    fn check(findings: &Findings, expected: Expect) {
        expected.assert_eq(&render(findings, false));
    }

    #[test]
    fn renders_findings() {
        let imports = |group, name: &str| (group, vec![name.to_owned()]);
        let findings = Findings {
            file: "plugins/wiki.wasm".into(),
            size: 50_000,
            digest: "sha256:00".into(),
            info: ComponentInfo {
                kind: "component",
                contract: Some("0.1.0".into()),
                served_as: ComponentKind::Provider.as_str(),
                exports: vec!["resource-provider".into(), "completion-provider".into()],
                imports: [
                    imports(ImportGroup::Http, "wasi:http/types@0.2.6"),
                    imports(ImportGroup::Host, "x"),
                ]
                .into(),
                all_exports: Vec::new(),
                metadata: Metadata::default(),
            },
            offers: Some(Provider {
                title: Some("Wiki\x1b[2J".into()),
                claims: vec!["wiki:".into()],
                resources: (0..12).map(|n| format!("wiki:{n}")).collect(),
                templates: vec!["wiki:{page}".into()],
                ..Provider::default()
            }),
            interfaces: Interfaces::default(),
            rejected: None,
            stderr: Vec::new(),
            published: None,
            grants: None,
            configured: false,
        };
        check(
            &findings,
            expect![[r#"
            file       plugins/wiki.wasm
            is         a component, 48.8 KiB
            digest     sha256:00
            contract   larder:provider 0.1.0: resource-provider, completion-provider
            imports
              the contract: x
              HTTP (grant: `hosts`): wasi:http/types@0.2.6
            offers, without any grant
              title: Wiki\u001b[2J
              claims: wiki:
            12 resources, 1 template
              wiki:{page}
              wiki:0
              wiki:1
              wiki:2
              wiki:3
              wiki:4
              wiki:5
              wiki:6
              wiki:7
              wiki:8
              wiki:9
              … and 2 more
        "#]],
        );
        let info = ComponentInfo {
            kind: "not WebAssembly",
            ..ComponentInfo::default()
        };
        let rejected = Some("it is empty".to_owned());
        let stderr = vec!["oh no".to_owned()];
        check(
            &Findings {
                info,
                offers: None,
                rejected,
                stderr,
                ..findings
            },
            expect![[r#"
                file       plugins/wiki.wasm
                is         not WebAssembly, 48.8 KiB
                digest     sha256:00
                contract   none: it does not export larder:provider/resource-provider
                rejected   it is empty
                stderr of the guest:
                  oh no
            "#]],
        );
    }
}
