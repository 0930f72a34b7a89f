//! The digest of everything that a list shows of one provider. It is computed field by field, because the
//! host does this work for each list that a provider reports as new.

use std::sync::Arc;

use larder_model::name::Digest;
use larder_model::resource::{Details, Entry, Icon, Metadata, Role, Scope, Template, Theme};

/// Computes the digest of these lists.
pub(super) fn list_digest(
    entries: &[Arc<Entry>],
    templates: &[Arc<Template>],
    // The digest contains only whether there are more entries, because the cursor may differ each time.
    is_partial: bool,
    scope: Scope,
) -> Digest {
    let mut fields = CanonicalBytes(Vec::new());
    fields.number(entries.len() as u64);
    entries.iter().for_each(|entry| fields.entry(entry));
    fields.number(templates.len() as u64);
    templates
        .iter()
        .for_each(|template| fields.template(template));
    fields.number(u64::from(is_partial));
    fields.number(u64::from(scope == Scope::Caller));
    Digest::of(&fields.0)
}

/// An unambiguous encoding: each text follows its length, so that different lists never give the same bytes.
struct CanonicalBytes(Vec<u8>);

impl CanonicalBytes {
    fn number(&mut self, number: u64) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.0.extend_from_slice(text.as_bytes());
    }

    fn maybe<T>(&mut self, value: Option<T>, put: impl FnOnce(&mut Self, T)) {
        self.0.push(u8::from(value.is_some()));
        if let Some(value) = value {
            put(self, value);
        }
    }

    fn texts<'a>(&mut self, texts: impl IntoIterator<Item = &'a Option<String>>) {
        for text in texts {
            self.maybe(text.as_deref(), Self::text);
        }
    }

    fn entry(&mut self, entry: &Entry) {
        let Entry {
            uri,
            name,
            title,
            description,
            mime_type,
            size,
            version,
            details,
            rendered: _,
        } = entry;
        self.text(uri.as_str());
        self.text(name);
        self.texts([title, description, mime_type, version]);
        self.maybe(*size, Self::number);
        self.details(details);
    }

    fn template(&mut self, template: &Template) {
        let Template {
            uri_template,
            name,
            title,
            description,
            mime_type,
            details,
            rendered: _,
        } = template;
        self.text(uri_template.as_str());
        self.text(name);
        self.texts([title, description, mime_type]);
        self.details(details);
    }

    fn details(&mut self, details: &Details) {
        let Details {
            kind,
            audience,
            priority,
            last_modified,
            icons,
            metadata,
        } = details;
        self.texts([kind, last_modified]);
        self.maybe(priority.map(f64::to_bits), Self::number);
        self.number(audience.len() as u64);
        audience
            .iter()
            .for_each(|role| self.0.push(u8::from(*role == Role::User)));
        self.number(icons.len() as u64);
        for Icon {
            src,
            mime_type,
            sizes,
            theme,
        } in icons
        {
            self.text(src);
            self.texts([mime_type]);
            self.number(sizes.len() as u64);
            sizes.iter().for_each(|size| self.text(size));
            self.maybe(*theme, |fields, theme| {
                fields.0.push(u8::from(theme == Theme::Dark))
            });
        }
        self.metadata(metadata);
    }

    fn metadata(&mut self, metadata: &Metadata) {
        self.number(metadata.len() as u64);
        for (key, json) in metadata {
            self.text(key);
            self.text(json.get());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use larder_model::resource::RenderCache;
    use larder_model::uri::Uri;
    use larder_uri_template::UriTemplate;

    fn entry() -> Entry {
        Entry {
            uri: Uri::parse("x:1").unwrap(),
            name: "n".into(),
            title: None,
            description: None,
            mime_type: None,
            size: None,
            version: None,
            details: Details::default(),
            rendered: RenderCache::default(),
        }
    }

    fn icon() -> Icon {
        Icon {
            src: "data:,".into(),
            mime_type: None,
            sizes: vec![],
            theme: None,
        }
    }

    #[test]
    fn every_rendered_field_changes_the_digest() {
        let changes: [fn(&mut Entry); 21] = [
            |_| {},
            |e| e.uri = Uri::parse("x:2").unwrap(),
            |e| e.name = "m".into(),
            |e| e.title = Some("t".into()),
            |e| e.title = Some(String::new()),
            |e| e.description = Some("t".into()),
            |e| e.mime_type = Some("t".into()),
            |e| e.size = Some(1),
            |e| e.version = Some("t".into()),
            |e| e.details.kind = Some("t".into()),
            |e| e.details.last_modified = Some("t".into()),
            |e| e.details.priority = Some(0.5),
            |e| e.details.audience = vec![Role::User],
            |e| e.details.audience = vec![Role::Assistant],
            |e| e.details.icons = vec![icon()],
            |e| {
                e.details.icons = vec![Icon {
                    mime_type: Some("t".into()),
                    ..icon()
                }]
            },
            |e| {
                e.details.icons = vec![Icon {
                    sizes: vec!["any".into()],
                    ..icon()
                }]
            },
            |e| {
                e.details.icons = vec![Icon {
                    theme: Some(Theme::Light),
                    ..icon()
                }]
            },
            |e| {
                e.details.icons = vec![Icon {
                    theme: Some(Theme::Dark),
                    ..icon()
                }]
            },
            |e| e.details.metadata = vec![("a".into(), Default::default())],
            |e| e.details.metadata = vec![("b".into(), Default::default())],
        ];
        let of = |change: fn(&mut Entry)| {
            let mut entry = entry();
            change(&mut entry);
            list_digest(&[Arc::new(entry)], &[], false, Scope::Everyone)
        };
        let mut all: Vec<_> = changes.into_iter().map(of).collect();
        let template = Template {
            uri_template: UriTemplate::parse("x:{n}").unwrap(),
            name: "n".into(),
            title: None,
            description: None,
            mime_type: None,
            details: Details::default(),
            rendered: RenderCache::default(),
        };
        all.push(list_digest(&[], &[], false, Scope::Everyone));
        all.push(list_digest(&[], &[], true, Scope::Everyone));
        all.push(list_digest(&[], &[], false, Scope::Caller));
        all.push(list_digest(
            &[],
            &[Arc::new(template)],
            false,
            Scope::Everyone,
        ));
        let count = all.len();
        all.sort_by_key(ToString::to_string);
        all.dedup();
        assert_eq!(all.len(), count);
        assert_eq!(of(|_| {}), of(|_| {}));
    }
}
