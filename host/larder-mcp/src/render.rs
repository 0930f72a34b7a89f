//! Writes entries, templates and contents as JSON in the form of the protocol. It uses `wire`.

pub mod catalog_json;
pub(super) mod definitions;
pub(super) mod resource_tools;
pub(super) mod skills;

use serde_json::value::RawValue;

use crate::wire::json_writer::{Object, object};
use larder_model::resource::{
    Body, Content, Details, Entry, Icon, Metadata, Role, Template, Theme,
};

pub(super) const VERSION_KEY: &str = "dev.larder/version";
pub(super) const KIND_KEY: &str = "dev.larder/kind";
/// The providers whose entries are missing in a list.
pub(super) const INCOMPLETE_KEY: &str = "dev.larder/incomplete";

/// Returns an entry of a list as JSON. It is rendered once and then shared by all requests.
pub(super) fn entry_json(entry: &Entry) -> &[u8] {
    entry
        .rendered
        .get_or_render(|| object(|o| self::entry(o, entry)))
}

/// Like [`entry_json`], for a template.
pub(super) fn template_json(template: &Template) -> &[u8] {
    template
        .rendered
        .get_or_render(|| object(|o| self::template(o, template)))
}

pub(super) fn entry(o: &mut Object<'_>, entry: &Entry) {
    entry_summary(o, entry);
    details(o, &entry.details, entry.version.as_deref());
}

fn entry_summary(o: &mut Object<'_>, entry: &Entry) {
    o.text("uri", entry.uri.as_str());
    o.text("name", &entry.name);
    o.optional_text("title", entry.title.as_deref());
    o.optional_text("description", entry.description.as_deref());
    o.optional_text("mimeType", entry.mime_type.as_deref());
    if let Some(size) = entry.size {
        o.integer("size", size);
    }
}

fn template(o: &mut Object<'_>, template: &Template) {
    template_summary(o, template);
    details(o, &template.details, None);
}

fn template_summary(o: &mut Object<'_>, template: &Template) {
    o.text("uriTemplate", template.uri_template.as_str());
    o.text("name", &template.name);
    o.optional_text("title", template.title.as_deref());
    o.optional_text("description", template.description.as_deref());
    o.optional_text("mimeType", template.mime_type.as_deref());
}

pub(super) fn content(o: &mut Object<'_>, content: &Content) {
    o.text("uri", content.uri.as_str());
    o.optional_text("mimeType", content.mime_type.as_deref());
    text_or_blob(o, &content.body);
    meta(o, &content.metadata, &[]);
}

fn text_or_blob(o: &mut Object<'_>, body: &Body) {
    match body {
        Body::Text(_) => o.body("text", body),
        Body::Blob(_) => o.body("blob", body),
    }
}

fn details(o: &mut Object<'_>, details: &Details, version: Option<&str>) {
    if !details.icons.is_empty() {
        o.objects("icons", &details.icons, icon);
    }
    annotations(o, details);
    meta(
        o,
        &details.metadata,
        &[(KIND_KEY, details.kind.as_deref()), (VERSION_KEY, version)],
    );
}

fn icon(o: &mut Object<'_>, icon: &Icon) {
    o.text("src", &icon.src);
    o.optional_text("mimeType", icon.mime_type.as_deref());
    if !icon.sizes.is_empty() {
        o.texts("sizes", icon.sizes.iter().map(String::as_str));
    }
    let theme = icon.theme.map(|theme| match theme {
        Theme::Light => "light",
        Theme::Dark => "dark",
    });
    o.optional_text("theme", theme);
}

fn annotations(o: &mut Object<'_>, details: &Details) {
    let priority = details
        .priority
        .filter(|priority| (0.0..=1.0).contains(priority));
    if details.audience.is_empty() && priority.is_none() && details.last_modified.is_none() {
        return;
    }
    o.object("annotations", |o| {
        if !details.audience.is_empty() {
            o.texts(
                "audience",
                details.audience.iter().map(|role| role_name(*role)),
            );
        }
        if let Some(priority) = priority {
            o.number("priority", priority);
        }
        o.optional_text("lastModified", details.last_modified.as_deref());
    });
}

/// Writes the metadata of a provider into `_meta` of a result.
pub(super) fn write_provider_metadata(o: &mut Object<'_>, metadata: &[(String, Box<RawValue>)]) {
    metadata
        .iter()
        .filter(|(key, _)| !is_reserved(key))
        .for_each(|(key, json)| o.raw(key, json));
}

fn is_reserved(key: &str) -> bool {
    key.starts_with("dev.larder/")
}

fn role_name(role: Role) -> &'static str {
    match role {
        Role::User => "user",
        Role::Assistant => "assistant",
    }
}

/// Writes `_meta`. Keys of the provider with the server's prefix are dropped, so that a provider cannot
/// imitate the server.
fn meta(o: &mut Object<'_>, metadata: &Metadata, server_keys: &[(&'static str, Option<&str>)]) {
    let provider_keys = || metadata.iter().filter(|(key, _)| !is_reserved(key));
    if server_keys.iter().all(|(_, value)| value.is_none()) && provider_keys().next().is_none() {
        return;
    }
    o.object("_meta", |o| {
        server_keys
            .iter()
            .for_each(|(key, value)| o.optional_text(key, *value));
        provider_keys().for_each(|(key, json)| o.raw(key, json));
    });
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use larder_model::resource::RenderCache;
    use larder_model::uri::Uri;
    use larder_uri_template::UriTemplate;

    fn check(fill: impl FnOnce(&mut Object<'_>), expected: expect_test::Expect) {
        expected.assert_eq(&String::from_utf8(object(fill)).unwrap());
    }

    fn full() -> Details {
        Details {
            kind: Some("file".into()),
            audience: vec![Role::User, Role::Assistant],
            priority: Some(0.5),
            last_modified: Some("2026-01-01T00:00:00Z".into()),
            icons: vec![Icon {
                src: "data:,x".into(),
                mime_type: None,
                sizes: vec!["any".into()],
                theme: Some(Theme::Dark),
            }],
            metadata: vec![
                (
                    "dev.larder/version".into(),
                    serde_json::from_str("\"forged\"").unwrap(),
                ),
                (
                    "com.example/a".into(),
                    serde_json::from_str("{\"b\":1}").unwrap(),
                ),
            ],
        }
    }

    #[test]
    fn renders_only_fields_that_are_set() {
        let mut plain = Entry {
            uri: Uri::parse("x:1").unwrap(),
            name: "one".into(),
            title: None,
            description: None,
            mime_type: None,
            size: None,
            version: None,
            details: Details::default(),
            rendered: RenderCache::default(),
        };
        check(
            |o| entry(o, &plain),
            expect![[r#"{"uri":"x:1","name":"one"}"#]],
        );
        plain = Entry {
            title: Some("O".into()),
            size: Some(3),
            version: Some("7".into()),
            details: full(),
            ..plain
        };
        check(
            |o| entry(o, &plain),
            expect![[
                r#"{"uri":"x:1","name":"one","title":"O","size":3,"icons":[{"src":"data:,x","sizes":["any"],"theme":"dark"}],"annotations":{"audience":["user","assistant"],"priority":0.5,"lastModified":"2026-01-01T00:00:00Z"},"_meta":{"dev.larder/kind":"file","dev.larder/version":"7","com.example/a":{"b":1}}}"#
            ]],
        );
    }

    #[test]
    fn renders_templates_and_contents() {
        let uri_template = UriTemplate::parse("x:{y}").unwrap();
        let name = "t".to_owned();
        let details = Details::default();
        let rendered = Template {
            uri_template,
            name,
            title: None,
            description: Some("d".into()),
            mime_type: Some("a/b".into()),
            details,
            rendered: RenderCache::default(),
        };
        check(
            |o| template(o, &rendered),
            expect![[r#"{"uriTemplate":"x:{y}","name":"t","description":"d","mimeType":"a/b"}"#]],
        );
        let uri = Uri::parse("x:1").unwrap();
        let piece = |body| Content {
            uri: uri.clone(),
            mime_type: None,
            body,
            metadata: vec![],
        };
        check(
            |o| content(o, &piece(Body::Text("ü\u{1}".into()))),
            expect![[r#"{"uri":"x:1","text":"ü\u0001"}"#]],
        );
        check(
            |o| content(o, &piece(Body::Blob(vec![255]))),
            expect![[r#"{"uri":"x:1","blob":"/w=="}"#]],
        );
    }
}
