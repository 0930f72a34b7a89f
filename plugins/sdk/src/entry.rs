//! Entries, templates, and the description of a provider.

pub use crate::bindings::exports::larder::provider::resource_provider::Description;
pub use crate::bindings::provider_types::{Details, Entry, Icon, Role, Template, Theme};

impl Description {
    /// Creates a description with a title.
    ///
    /// ```
    /// # use larder_provider::Description;
    /// let about = Description::new("Notes")
    ///     .summary("the notes of one person")
    ///     .instructions("Look here for what was decided, before asking.")
    ///     .claim("note:");
    /// assert_eq!(about.claims, ["note:"]);
    /// ```
    pub fn new(title: impl Into<String>) -> Self {
        Self {
            title: Some(title.into()).filter(|title| !title.is_empty()),
            ..Self::default()
        }
    }

    /// Sets the version of the provider, usually `env!("CARGO_PKG_VERSION")`.
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.version = Some(version.into());
        self
    }

    /// Sets a short summary of what the provider offers, for people.
    pub fn summary(mut self, summary: impl Into<String>) -> Self {
        self.summary = Some(summary.into());
        self
    }

    /// Sets instructions for the model: when and how to use these resources.
    pub fn instructions(mut self, instructions: impl Into<String>) -> Self {
        self.instructions = Some(instructions.into());
        self
    }

    /// Claims a URI prefix: the host may route any URI with this prefix to the provider, also if the URI is not listed.
    pub fn claim(mut self, prefix: impl Into<String>) -> Self {
        self.claims.push(prefix.into());
        self
    }
}

#[allow(clippy::derivable_impls, reason = "the type is generated")]
impl Default for Description {
    fn default() -> Self {
        Self {
            title: None,
            version: None,
            summary: None,
            instructions: None,
            claims: Vec::new(),
        }
    }
}

/// Methods that entries and templates share.
macro_rules! common {
    ($type:ty) => {
        impl $type {
            /// Sets a display name, if it differs from the short name.
            pub fn title(mut self, title: impl Into<String>) -> Self {
                self.title = Some(title.into());
                self
            }

            /// Sets a description for people and for the model.
            pub fn description(mut self, description: impl Into<String>) -> Self {
                self.description = Some(description.into());
                self
            }

            /// Sets the media type.
            pub fn mime(mut self, mime: impl Into<String>) -> Self {
                self.mime_type = Some(mime.into());
                self
            }

            /// Sets less common properties; see [`Details`].
            pub fn details(mut self, details: Details) -> Self {
                self.details = Some(details);
                self
            }
        }
    };
}
common!(Entry);
common!(Template);

impl Entry {
    /// Creates an entry from its absolute URI and short name.
    ///
    /// ```
    /// # use larder_provider::{Details, Entry};
    /// let entry = Entry::new("note:7", "seven")
    ///     .mime("text/markdown")
    ///     .size(1200)
    ///     .version("3")
    ///     .details(Details::kind("note").priority(0.8));
    /// assert_eq!(entry.size, Some(1200));
    /// ```
    pub fn new(uri: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            name: name.into(),
            title: None,
            description: None,
            mime_type: None,
            size: None,
            version: None,
            details: None,
        }
    }

    /// Sets the size of the content in bytes.
    pub fn size(mut self, bytes: u64) -> Self {
        self.size = Some(bytes);
        self
    }

    /// Sets the version: any text that changes whenever the content changes.
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.version = Some(version.into());
        self
    }
}

impl From<&Entry> for Entry {
    fn from(entry: &Entry) -> Self {
        entry.clone()
    }
}

impl Template {
    /// Creates a template from an RFC 6570 URI template and a short name.
    ///
    /// ```
    /// # use larder_provider::Template;
    /// let template = Template::new("note:{id}", "a note").mime("text/markdown");
    /// assert_eq!(template.uri_template, "note:{id}");
    /// ```
    pub fn new(uri_template: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            uri_template: uri_template.into(),
            name: name.into(),
            title: None,
            description: None,
            mime_type: None,
            details: None,
        }
    }
}

impl Details {
    /// Creates details with a category, such as "file" or "database-table".
    pub fn kind(kind: impl Into<String>) -> Self {
        Self {
            kind: Some(kind.into()),
            ..Self::default()
        }
    }

    /// Adds a role to the intended audience.
    pub fn audience(mut self, role: Role) -> Self {
        self.audience.push(role);
        self
    }

    /// Sets the priority, from 0 (optional) to 1 (required).
    pub fn priority(mut self, priority: f64) -> Self {
        self.priority = Some(priority);
        self
    }

    /// Sets the time of the last modification, in RFC 3339.
    pub fn last_modified(mut self, at: impl Into<String>) -> Self {
        self.last_modified = Some(at.into());
        self
    }

    /// Adds an icon.
    pub fn icon(mut self, icon: Icon) -> Self {
        self.icons.push(icon);
        self
    }

    /// Adds a metadata key with its value as JSON text.
    pub fn metadata(mut self, key: impl Into<String>, json: impl Into<String>) -> Self {
        self.metadata.push((key.into(), json.into()));
        self
    }
}

#[allow(clippy::derivable_impls, reason = "the type is generated")]
impl Default for Details {
    fn default() -> Self {
        Self {
            kind: None,
            audience: Vec::new(),
            priority: None,
            last_modified: None,
            icons: Vec::new(),
            metadata: Vec::new(),
        }
    }
}

impl Icon {
    /// Creates an icon from the URI of an image.
    ///
    /// ```
    /// # use larder_provider::{Icon, Theme};
    /// let icon = Icon::new("https://example.org/dark.png").mime("image/png").size("48x48").theme(Theme::Dark);
    /// assert_eq!(icon.theme, Some(Theme::Dark));
    /// ```
    pub fn new(src: impl Into<String>) -> Self {
        Self {
            src: src.into(),
            mime_type: None,
            sizes: Vec::new(),
            theme: None,
        }
    }

    /// Sets the media type of the image.
    pub fn mime(mut self, mime: impl Into<String>) -> Self {
        self.mime_type = Some(mime.into());
        self
    }

    /// Adds a size, such as "48x48" or "any".
    pub fn size(mut self, size: impl Into<String>) -> Self {
        self.sizes.push(size.into());
        self
    }

    /// Sets the background for which the icon is designed. Without this, the icon is suitable for both.
    pub fn theme(mut self, theme: Theme) -> Self {
        self.theme = Some(theme);
        self
    }
}
