//! Tools, prompts, search and declared settings: the cargo feature `interactive`.

mod answer;
mod app;
mod block;
mod call;
mod export;
mod host;
mod input;
mod input_request;
mod prompt;
mod prompt_result;
mod prompts;
mod schema;
mod search;
mod setting;
mod tool;
mod tools;
mod units;

pub use answer::{Answer, ToolOutput, ToolResult};
pub use app::{APP_PAGE, AppPage};
pub use block::{Annotations, Block, BlockValue, EmbeddedResource, Media};
pub use call::{Call, NoArguments};
pub use host::{
    Severity, client_log_level, client_supports, log_to_client, prompts_changed, tools_changed,
};
pub use input::{ElicitOutcome, Input, InputResponse};
pub use input_request::{InputRequest, InputRequired};
pub use prompt::{Argument, Prompt};
pub use prompt_result::{ArgumentQuery, Message, PromptAnswer, PromptRequest, PromptResult};
pub use prompts::Prompts;
pub use search::{Hit, Hits, SearchQuery};
pub use setting::{Declaration, Kind, Setting};
pub use tool::{Hints, Tool};
pub use tools::Tools;
