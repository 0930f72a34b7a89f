//! Which items of a list a command wants.

use clap::Args;

use crate::client::Filter;

#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Which (servers other than larder show everything)")]
pub(super) struct Narrow {
    /// Those whose URI begins with this
    #[arg(long, value_name = "URI")]
    prefix: Option<String>,
    /// Those of this kind, such as "file"
    #[arg(long)]
    kind: Option<String>,
    /// Those of this media type, such as "text/plain" or "image/*"
    #[arg(long, value_name = "TYPE")]
    mime: Option<String>,
    /// Those of this provider
    #[arg(long, value_name = "NAME")]
    provider: Option<String>,
    /// Those of this team; with --config, asked as a member of it
    #[arg(long, value_name = "NAME")]
    pub(super) team: Option<String>,
    /// Those with this in their name, title, description or URI
    #[arg(long)]
    text: Option<String>,
}

impl From<Narrow> for Filter {
    fn from(narrow: Narrow) -> Self {
        let Narrow { prefix: uri_prefix, kind, mime: mime_type, provider, team, text } = narrow;
        Self { uri_prefix, kind, mime_type, team, provider, text }
    }
}
