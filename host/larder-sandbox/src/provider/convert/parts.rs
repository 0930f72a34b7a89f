//! Converts the parts that several kinds of items have: icons, roles, priorities and freshness.

use std::time::Duration;

use super::metadata::metadata_size;
use super::texts::media_type;
use crate::bindings::larder::provider::provider_types as types;
use crate::provider::omissions::Omissions;
use larder_model::format::{is_icon_size, is_icon_source};
use larder_model::resource::{Freshness, Icon, Role, Scope, Theme};

/// Maximum number of icons of one item, and of sizes of one icon.
const MAX_ICONS: usize = 16;
/// Maximum time to live. Longer times are not useful, and sums of times stay small.
const MAX_TTL: Duration = Duration::from_hours(24);

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

/// Converts an audience, without duplicates.
pub(super) fn audience(roles: Vec<types::Role>) -> Vec<Role> {
    let mut audience = Vec::new();
    for role in roles.into_iter().map(role) {
        // There are only two roles, so this list stays short.
        if !audience.contains(&role) {
            audience.push(role);
        }
    }
    audience
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
    if icons.len() > MAX_ICONS {
        omissions.add("icons beyond the first 16 of an item");
    }
    icons
        .into_iter()
        .take(MAX_ICONS)
        .filter_map(|icon| self::icon(icon, omissions))
        .collect()
}

fn icon(icon: types::Icon, omissions: &mut Omissions<'_>) -> Option<Icon> {
    // Clients fetch or decode icons by themselves, so only these schemes are safe.
    if !is_icon_source(&icon.src) {
        omissions.add("an icon whose `src` is neither `https://` nor `data:image/`");
        return None;
    }
    let sizes = icon_sizes(icon.sizes, omissions);
    Some(Icon {
        src: icon.src,
        mime_type: media_type(icon.mime_type, omissions),
        sizes,
        theme: icon.theme.map(theme),
    })
}

fn theme(theme: types::Theme) -> Theme {
    match theme {
        types::Theme::Light => Theme::Light,
        types::Theme::Dark => Theme::Dark,
    }
}

fn icon_sizes(mut sizes: Vec<String>, omissions: &mut Omissions<'_>) -> Vec<String> {
    let count = sizes.len();
    sizes.truncate(MAX_ICONS);
    sizes.retain(|size| is_icon_size(size));
    if sizes.len() < count {
        omissions.add("invalid sizes of an icon, or more than 16");
    }
    sizes
}

pub(super) fn freshness(freshness: types::Freshness) -> Freshness {
    Freshness {
        ttl: Duration::from_millis(freshness.ttl_ms).min(MAX_TTL),
        scope: scope(freshness.scope),
    }
}

fn scope(scope: types::Scope) -> Scope {
    match scope {
        types::Scope::Everyone => Scope::Everyone,
        types::Scope::Caller => Scope::Caller,
    }
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

    #[test]
    fn bounds_audiences_and_icons() {
        use types::Role::{Assistant, User};
        assert_eq!(
            audience([Assistant, User].repeat(100_000)),
            [Role::Assistant, Role::User]
        );
        let icon = |src: &str| types::Icon {
            src: src.into(),
            mime_type: Some("image".into()),
            sizes: vec!["48x48".into(), "huge".into()],
            theme: None,
        };
        let many = (0..20)
            .flat_map(|_| ["http://example.com/", "https://example.com/"].map(icon))
            .collect();
        let mut omissions = Omissions::default();
        let icons = icons(many, &mut omissions);
        assert_eq!(
            (icons.len(), &icons[0].sizes[..], &icons[0].mime_type),
            (8, &["48x48".to_owned()][..], &None)
        );
        let expected = [
            "an icon whose `src` is neither `https://` nor `data:image/` (8 times)",
            "an invalid media type \"image\": write `type/subtype` (8 times)",
            "icons beyond the first 16 of an item",
            "invalid sizes of an icon, or more than 16 (8 times)",
        ];
        assert_eq!(omissions.summary(), expected);
    }
}
