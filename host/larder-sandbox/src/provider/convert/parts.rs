//! Converts the parts that several kinds of items have: icons, roles, priorities and freshness.

use std::time::Duration;

use super::metadata::metadata_size;
use crate::bindings::larder::provider::provider_types as types;
use crate::provider::omissions::Omissions;
use larder_model::resource::{Freshness, Icon, Role, Scope, Theme};

pub(super) fn text_size(fields: [&Option<String>; 4]) -> usize {
    fields.into_iter().flatten().map(String::len).sum()
}

/// The size of icons and metadata in bytes.
pub(super) fn extras_size(icons: &[types::Icon], metadata: &[(String, String)]) -> usize {
    let icon = |icon: &types::Icon| {
        let sizes = icon.sizes.iter().map(|size| size.len() + 8).sum::<usize>();
        icon.src.len() + icon.mime_type.as_ref().map_or(0, String::len) + sizes + 64
    };
    icons.iter().map(icon).sum::<usize>() + metadata_size(metadata)
}

pub(super) fn role(role: types::Role) -> Role {
    match role {
        types::Role::User => Role::User,
        types::Role::Assistant => Role::Assistant,
    }
}

pub(super) fn clamp_priority(priority: f64, omissions: &mut Omissions<'_>) -> Option<f64> {
    if priority.is_nan() {
        omissions.add("a priority that is not a number");
        return None;
    }
    let clipped = priority.clamp(0.0, 1.0);
    if clipped != priority {
        omissions.add(format!("a priority of {priority} became {clipped}"));
    }
    Some(clipped)
}

pub(super) fn icons(icons: Vec<types::Icon>, omissions: &mut Omissions<'_>) -> Vec<Icon> {
    icons.into_iter().filter_map(|icon| self::icon(icon, omissions)).collect()
}

fn icon(icon: types::Icon, omissions: &mut Omissions<'_>) -> Option<Icon> {
    // Clients fetch or decode icons by themselves, so only these schemes are safe.
    if !["https:", "http:", "data:"].iter().any(|scheme| icon.src.starts_with(scheme)) {
        omissions.add("an icon whose `src` is neither http(s) nor data");
        return None;
    }
    let theme = icon.theme.map(|theme| match theme {
        types::Theme::Light => Theme::Light,
        types::Theme::Dark => Theme::Dark,
    });
    Some(Icon { src: icon.src, mime_type: icon.mime_type, sizes: icon.sizes, theme })
}

pub(super) fn freshness(freshness: types::Freshness) -> Freshness {
    let scope = match freshness.scope {
        types::Scope::Everyone => Scope::Everyone,
        types::Scope::Caller => Scope::Caller,
    };
    // At most a day: longer times are not useful, and sums of times stay small.
    let ttl = Duration::from_millis(freshness.ttl_ms).min(Duration::from_secs(24 * 60 * 60));
    Freshness { ttl, scope }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clamps_priorities() {
        let mut omissions = Omissions::default();
        assert_eq!(
            [7.0, -1.0, 0.5].map(|p| clamp_priority(p, &mut omissions)),
            [Some(1.0), Some(0.0), Some(0.5)]
        );
        assert_eq!(clamp_priority(f64::NAN, &mut omissions), None);
        assert_eq!(omissions.summary().len(), 3);
    }
}
