//! The options that filter a list.

use clap::Args;

use larder_client::Filter;

#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Filters (only Larder servers support them)")]
pub(super) struct FilterArgs {
    /// Only items whose URI begins with this
    #[arg(long, value_name = "URI")]
    prefix: Option<String>,
    /// Only items of this kind, such as "file"
    #[arg(long)]
    kind: Option<String>,
    /// Only items of this media type, such as "text/plain" or "image/*"
    #[arg(long, value_name = "TYPE")]
    mime: Option<String>,
    /// Only items of this provider
    #[arg(long, value_name = "NAME")]
    provider: Option<String>,
    /// Only items of this team; with --config, the command runs as a member of it
    #[arg(long, value_name = "NAME")]
    pub(super) team: Option<String>,
    /// Only items with this text in the name, title, description or URI
    #[arg(long)]
    text: Option<String>,
}

impl From<FilterArgs> for Filter {
    fn from(args: FilterArgs) -> Self {
        let FilterArgs { prefix: uri_prefix, kind, mime: mime_type, provider, team, text } = args;
        Self { uri_prefix, kind, mime_type, team, provider, text }
    }
}
