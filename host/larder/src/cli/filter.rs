//! The options that filter a list.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Args, Command};

use larder_client::Filter;

#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Filters (only Larder servers support them)")]
pub(super) struct FilterArgs {
    /// Only items whose URI begins with this
    #[arg(long, value_name = "URI")]
    prefix: Option<String>,
    /// Only items of this kind, such as "file"
    #[arg(long, value_parser = KindParser, hide_possible_values = true)]
    kind: Option<String>,
    /// Only items of this media type, such as "text/plain" or "image/*"
    #[arg(long, value_name = "TYPE")]
    mime: Option<String>,
    /// Only items of this provider
    #[arg(long, value_name = "NAME")]
    provider: Option<String>,
    /// Only items of this team; with --in-process, the command runs as a member of it
    #[arg(long, value_name = "NAME")]
    pub(super) team: Option<String>,
    /// Only items with this text in the name, title, description or URI
    #[arg(long)]
    text: Option<String>,
}

/// Accepts any kind, because providers choose the kinds. Offers common kinds for completion.
#[derive(Debug, Clone)]
pub(super) struct KindParser;

/// The kinds that the contract and the general providers name.
const COMMON_KINDS: [&str; 3] = ["database-table", "file", "fixture"];

impl TypedValueParser for KindParser {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        kind: &OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, arg, kind)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(COMMON_KINDS.into_iter().map(PossibleValue::new)))
    }
}

impl From<FilterArgs> for Filter {
    fn from(args: FilterArgs) -> Self {
        let FilterArgs {
            prefix: uri_prefix,
            kind,
            mime: mime_type,
            provider,
            team,
            text,
        } = args;
        Self {
            uri_prefix,
            kind,
            mime_type,
            team,
            provider,
            text,
        }
    }
}
