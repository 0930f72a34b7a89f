//! The contents that one read returns.

use std::any::Any;
use std::ops::Deref;

use super::{Content, RenderCache};

/// The contents that a read returned.
#[derive(Debug, Default)]
pub struct Contents {
    items: Box<[Content]>,
    /// The JSON of the contents, shared by all responses that contain them.
    pub rendered: RenderCache,
    /// A value that is released with the contents.
    held: Option<Box<dyn Any + Send + Sync>>,
}

impl Contents {
    /// Holds a value, such as charged memory, as long as the contents exist.
    pub fn hold(&mut self, value: Box<dyn Any + Send + Sync>) {
        self.held = Some(value);
    }

    /// Releases the value that is held.
    pub fn release(&mut self) {
        self.held = None;
    }
}

impl FromIterator<Content> for Contents {
    fn from_iter<T: IntoIterator<Item = Content>>(items: T) -> Self {
        Self {
            items: items.into_iter().collect(),
            ..Self::default()
        }
    }
}

impl Deref for Contents {
    type Target = [Content];

    fn deref(&self) -> &[Content] {
        &self.items
    }
}
