//! What there is: entries, templates, and what a provider says about itself.

pub use crate::bindings::exports::larder::provider::resource_provider::Description;
pub use crate::bindings::provider_types::{Details, Entry, Icon, Role, Template};

impl Description {
    /// A provider by its title.
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
        Self { title: Some(title.into()).filter(|title| !title.is_empty()), ..Self::default() }
    }

    /// The provider's own version; most give `env!("CARGO_PKG_VERSION")`.
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.version = Some(version.into());
        self
    }

    /// What it offers, for the reader of the catalog.
    pub fn summary(mut self, summary: impl Into<String>) -> Self {
        self.summary = Some(summary.into());
        self
    }

    /// When and how to use it, for the model.
    pub fn instructions(mut self, instructions: impl Into<String>) -> Self {
        self.instructions = Some(instructions.into());
        self
    }

    /// Adds a URI prefix that is this provider's own, beyond what it lists.
    pub fn claim(mut self, prefix: impl Into<String>) -> Self {
        self.claims.push(prefix.into());
        self
    }
}

#[allow(clippy::derivable_impls, reason = "the type is generated")]
impl Default for Description {
    fn default() -> Self {
        Self { title: None, version: None, summary: None, instructions: None, claims: Vec::new() }
    }
}

/// What entries and templates have in common.
macro_rules! common {
    ($type:ty) => {
        impl $type {
            /// A name for people, if it differs from the short one.
            pub fn title(mut self, title: impl Into<String>) -> Self {
                self.title = Some(title.into());
                self
            }

            /// What it is, for people and for the model.
            pub fn description(mut self, description: impl Into<String>) -> Self {
                self.description = Some(description.into());
                self
            }

            /// Its media type.
            pub fn mime(mut self, mime: impl Into<String>) -> Self {
                self.mime_type = Some(mime.into());
                self
            }

            /// What few have: see [`Details`].
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
    /// One readable thing, by its absolute URI and its short name.
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

    /// The size of its content in bytes.
    pub fn size(mut self, bytes: u64) -> Self {
        self.size = Some(bytes);
        self
    }

    /// Anything that differs whenever the content differs.
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
    /// A family of readable things, by its RFC 6570 template and its short name.
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
    /// Details of a thing of this kind, such as "file" or "database-table".
    pub fn kind(kind: impl Into<String>) -> Self {
        Self { kind: Some(kind.into()), ..Self::default() }
    }

    /// Adds whom it is for.
    pub fn audience(mut self, role: Role) -> Self {
        self.audience.push(role);
        self
    }

    /// From 0 (optional) to 1 (required).
    pub fn priority(mut self, priority: f64) -> Self {
        self.priority = Some(priority);
        self
    }

    /// When it was last changed, in RFC 3339.
    pub fn last_modified(mut self, at: impl Into<String>) -> Self {
        self.last_modified = Some(at.into());
        self
    }

    /// Adds a picture of it.
    pub fn icon(mut self, icon: Icon) -> Self {
        self.icons.push(icon);
        self
    }

    /// Adds a key and the JSON text that belongs to it.
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
    /// A picture, by its URI.
    pub fn new(src: impl Into<String>) -> Self {
        Self { src: src.into(), mime_type: None, sizes: Vec::new() }
    }
}
