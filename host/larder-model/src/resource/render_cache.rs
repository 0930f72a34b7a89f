//! A cached rendering.

use std::fmt;
use std::sync::OnceLock;

use bytes::Bytes;

/// The rendering of a value. It is made when it is first needed, and then reused. All users of a value have to render
/// it in the same way. A clone starts without a rendering.
#[derive(Default)]
pub struct RenderCache(OnceLock<Bytes>);

impl RenderCache {
    /// Returns the rendering. If there is no rendering yet, makes it first.
    pub fn get_or_render(&self, render: impl FnOnce() -> Vec<u8>) -> &Bytes {
        self.0.get_or_init(|| {
            let mut rendered = render();
            // The rendering is kept for a long time.
            rendered.shrink_to_fit();
            rendered.into()
        })
    }

    /// Like [`Self::get_or_render`], for a rendering that can fail. After a failure, no rendering is kept.
    pub fn get_or_try_render<E>(
        &self,
        render: impl FnOnce() -> Result<Bytes, E>,
    ) -> Result<&Bytes, E> {
        match self.0.get() {
            Some(rendered) => Ok(rendered),
            None => render().map(|rendered| self.0.get_or_init(|| rendered)),
        }
    }
}

impl Clone for RenderCache {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl fmt::Debug for RenderCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RenderCache")
    }
}
