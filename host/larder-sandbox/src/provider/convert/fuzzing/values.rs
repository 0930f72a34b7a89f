//! Creates WIT values from the bytes of an input. Texts are chosen from a list of critical texts, or taken from the
//! input. After the end of the input, all remaining values are zero: no items, no options, and empty texts.

use crate::bindings::exports::larder::provider::{
    prompt_provider as prompts, resource_provider as resources, search_provider as search,
    settings_provider as settings, tool_provider as tools,
};
use crate::bindings::larder::provider::{
    interaction_types as interaction, provider_types as types,
};

/// A secret of the provider, which its texts contain often.
pub(super) const SECRET: &str = "hunter2-hunter2";

/// Texts that are valid or almost valid for some type.
const TEXTS: &[&str] = &[
    "",
    "x://host/a",
    "x://host/b?c=d",
    "x://host/a#b",
    "x://h:99999/",
    "http://exa%20mple/x",
    "x:",
    "a",
    "b",
    "key",
    "dev.larder/kind",
    "io.modelcontextprotocol/x",
    "text/plain",
    "image/png",
    "image/png; charset=\"a b\"",
    "audio/wav",
    "2026-07-28T12:00:00Z",
    "2026-02-30T25:61:61+24:00",
    "yesterday",
    "https://example.com/icon.png",
    "data:image/png;base64,AAAA",
    "http://example.com/icon.png",
    "48x48",
    "any",
    "{}",
    "{\"a\":\n 1}",
    "{\"type\":\"object\"}",
    "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}},\"required\":[\"a\"]}",
    "[1, 2]",
    "null",
    "\"\\ud800\"",
    "x://host/{a}",
    "x://host/{+a}{?b*}",
    "x://host/{a",
    SECRET,
    "x://host/hunter2-hunter2",
    "x:hunter2-hunter2 \n",
    "hunter2-hunter2/\u{202e}\u{1b}[2J",
    "elicitation/create",
    "roots/list",
    "10MiB",
    "true",
];
/// From this byte on, a byte is the length of a long text. The text repeats a character or the secret.
const LONG: u8 = 0xf8;
/// From this byte on, a byte is the length of a text that follows. Smaller bytes choose a text of `TEXTS`.
const RAW: u8 = 0x60;

/// The rest of an input.
pub(super) struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(super) fn value<T: Generate>(&mut self) -> T {
        T::generate(self)
    }

    fn byte(&mut self) -> u8 {
        self.bytes(1).first().copied().unwrap_or_default()
    }

    fn bytes(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        taken
    }
}

/// A value that can be created from the bytes of an input.
pub(super) trait Generate {
    fn generate(input: &mut Input<'_>) -> Self;
}

impl Generate for bool {
    fn generate(input: &mut Input<'_>) -> Self {
        input.byte() % 2 == 1
    }
}

impl Generate for u64 {
    fn generate(input: &mut Input<'_>) -> Self {
        let byte = input.byte();
        if byte < 64 {
            1 << byte
        } else {
            u64::MAX / u64::from(byte - 63)
        }
    }
}

impl Generate for f64 {
    fn generate(input: &mut Input<'_>) -> Self {
        match input.byte() {
            0xff => f64::NAN,
            0xfe => f64::NEG_INFINITY,
            byte => f64::from(byte) / 100.0,
        }
    }
}

impl Generate for String {
    fn generate(input: &mut Input<'_>) -> Self {
        match input.byte() {
            byte @ LONG.. => {
                let unit = if byte % 2 == 0 { "ä" } else { SECRET };
                unit.repeat(64 << (byte - LONG))
            }
            byte @ RAW.. => {
                String::from_utf8_lossy(input.bytes(usize::from(byte - RAW))).into_owned()
            }
            byte => TEXTS[usize::from(byte) % TEXTS.len()].to_owned(),
        }
    }
}

impl<T: Generate> Generate for Option<T> {
    fn generate(input: &mut Input<'_>) -> Self {
        bool::generate(input).then(|| T::generate(input))
    }
}

impl Generate for Vec<u8> {
    fn generate(input: &mut Input<'_>) -> Self {
        let count = input.byte();
        input.bytes(usize::from(count)).to_vec()
    }
}

/// Implements `Generate` for records.
macro_rules! records {
    ($($type:path { $($field:ident),* })*) => {
        $(impl Generate for $type {
            fn generate(input: &mut Input<'_>) -> Self {
                Self { $($field: input.value()),* }
            }
        })*
    };
}

/// Implements `Generate` for enums and variants. The number after a case says that the case has a value.
macro_rules! variants {
    ($($type:path { $($case:ident $(($count:literal))?),* })*) => {
        $(impl Generate for $type {
            fn generate(input: &mut Input<'_>) -> Self {
                let cases: &[fn(&mut Input<'_>) -> Self] = &[$(|_input| Self::$case $(({
                    let _ = $count;
                    _input.value()
                }))?),*];
                cases[usize::from(input.byte()) % cases.len()](input)
            }
        })*
    };
}

/// Implements `Generate` for lists.
macro_rules! lists {
    ($($type:ty),*) => {
        $(impl Generate for Vec<$type> {
            fn generate(input: &mut Input<'_>) -> Self {
                // Mostly few items, and sometimes more items than any limit.
                let count = match input.byte() {
                    255 => 1_100,
                    byte => usize::from(byte % 12),
                };
                (0..count).map(|_| input.value()).collect()
            }
        })*
    };
}

impl Generate for (String, String) {
    fn generate(input: &mut Input<'_>) -> Self {
        (input.value(), input.value())
    }
}

lists! {
    String, Option<String>, (String, String), types::Entry, types::Template, types::Role, types::Icon, types::Content,
    resources::Variable, interaction::Block, interaction::InputRequest, tools::Tool, prompts::Prompt, prompts::Argument,
    prompts::Message, search::Hit, settings::Declaration
}

variants! {
    types::Role { User, Assistant }
    types::Theme { Light, Dark }
    types::Scope { Everyone, Caller }
    types::Body { Text(1), Blob(1) }
    interaction::BlockValue { Text(1), Image(1), Audio(1), Link(1), Embedded(1) }
    tools::ToolAnswer { Complete(1), InputRequired(1) }
    prompts::PromptAnswer { Complete(1), InputRequired(1) }
    settings::Kind { Text, Number, Boolean, Size, Duration }
}

records! {
    types::Entry { uri, name, title, description, mime_type, size, version, details }
    types::Template { uri_template, name, title, description, mime_type, details }
    types::Details { kind, audience, priority, last_modified, icons, metadata }
    types::Icon { src, mime_type, sizes, theme }
    types::Content { uri, mime_type, body, metadata }
    types::Freshness { ttl_ms, scope }
    resources::Description { title, version, summary, instructions, claims }
    resources::EntryPage { entries, next_cursor, freshness }
    resources::TemplatePage { templates, next_cursor, freshness }
    resources::Variable { name, key, value }
    resources::TemplateMatch { uri_template, variables }
    resources::Reading { contents, version, freshness }
    interaction::Annotations { audience, priority, last_modified }
    interaction::Block { value, annotations, metadata }
    interaction::Media { mime_type, data }
    interaction::EmbeddedResource { uri, mime_type, body, metadata }
    interaction::InputRequest { key, method, params }
    interaction::InputRequired { requests, state }
    tools::Tool { name, title, description, input_schema, output_schema, hints, icons, metadata }
    tools::Hints { read_only, destructive, idempotent, open_world, long_running }
    tools::ToolPage { tools, next_cursor, freshness }
    tools::ToolResult { content, structured, is_error, metadata }
    prompts::Prompt { name, title, description, arguments, icons, metadata }
    prompts::Argument { name, title, description, required }
    prompts::PromptPage { prompts, next_cursor, freshness }
    prompts::Message { role, content }
    prompts::PromptResult { description, messages, metadata }
    search::Hit { entry, excerpt }
    search::Hits { hits, freshness }
    settings::Declaration { name, kind, description, default, required, secret }
}
