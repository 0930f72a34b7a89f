//! The tools.

mod activity;
pub(crate) mod changes;
mod input;
mod results;
mod rounds;
mod schemas;

use larder_provider::{Call, NoArguments, Result, Tool, ToolOutput, Tools};

pub(crate) fn all<P: 'static>() -> Tools<P> {
    let tools = results::add(Tools::new());
    let tools = schemas::add(tools);
    let tools = activity::add(tools);
    let tools = changes::add(tools);
    rounds::add(input::add(tools))
}

/// A tool that needs neither the provider nor arguments.
fn tool<P: 'static, R: ToolOutput + 'static>(
    name: &str,
    description: &str,
    function: fn(&Call<NoArguments>) -> Result<R>,
) -> Tool<P> {
    Tool::new(name, move |_: &P, call: &Call<NoArguments>| function(call)).description(description)
}
