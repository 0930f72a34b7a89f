//! `apps`: what the pages of apps may use in a browser.

use serde::Deserialize;

use larder_model::policy::{AppDomain, AppGrant, AppPermission, AppRight};

/// The granted rights, with the names of the extension.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(try_from = "RawApps")]
pub(crate) struct Apps(pub(crate) AppGrant);

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RawApps {
    connect_domains: Vec<String>,
    resource_domains: Vec<String>,
    frame_domains: Vec<String>,
    base_uri_domains: Vec<String>,
    permissions: Vec<AppPermission>,
}

impl TryFrom<RawApps> for Apps {
    type Error = String;

    fn try_from(raw: RawApps) -> Result<Self, String> {
        let permissions = raw.permissions.into_iter().map(AppRight::Permission);
        let mut rights: Vec<_> = permissions.collect();
        rights.extend(domains(&raw.connect_domains, AppRight::Connect)?);
        rights.extend(domains(&raw.resource_domains, AppRight::Resource)?);
        rights.extend(domains(&raw.frame_domains, AppRight::Frame)?);
        rights.extend(domains(&raw.base_uri_domains, AppRight::BaseUri)?);
        Ok(Self(AppGrant::new(rights)))
    }
}

fn domains(
    texts: &[String],
    right: impl Fn(AppDomain) -> AppRight,
) -> Result<Vec<AppRight>, String> {
    let parsed = texts.iter().map(|text| AppDomain::parse(text).map(&right));
    parsed.collect()
}
