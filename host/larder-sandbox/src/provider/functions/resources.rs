//! Functions that are read as resources: a URI template, whose variables are the parameters of the function.

use std::collections::BTreeMap;
use std::time::Duration;

use wasmtime::component::Val;

use super::uri_values;
use super::value_facts::media_type;
use larder_functions::{Function, FunctionSet, Parameter, Type, TypeTable};
use larder_model::policy::{FunctionResource, Grant};
use larder_model::resource::{Details, RenderCache, Template, Variable};
use larder_uri_template::UriTemplate;

/// A template, and the function that reads its resources.
#[derive(Debug, Clone)]
pub(super) struct FunctionTemplate {
    template: UriTemplate,
    /// The position of the function in the set.
    pub(super) function: usize,
    pub(super) mime_type: Option<String>,
    pub(super) ttl: Duration,
}

/// Returns the configured templates, and why others cannot be used.
pub(super) fn templates(
    configured: &BTreeMap<String, FunctionResource>,
    functions: &FunctionSet,
) -> (Vec<FunctionTemplate>, Vec<String>) {
    let mut templates = Vec::new();
    let mut problems = Vec::new();
    for (text, resource) in configured {
        match template(text, resource, functions) {
            Ok(template) => templates.push(template),
            Err(problem) => problems.push(format!("the resources {text:?}: {problem}")),
        }
    }
    (templates, problems)
}

fn template(
    text: &str,
    resource: &FunctionResource,
    functions: &FunctionSet,
) -> Result<FunctionTemplate, String> {
    let template = UriTemplate::parse(text).map_err(|error| error.to_string())?;
    let name = &resource.function;
    let (index, function) = functions
        .find(name)
        .ok_or_else(|| format!("it has no function {name:?}"))?;
    if function.outcome(&functions.types).value.is_none() {
        return Err(format!("the function {name:?} returns nothing to read"));
    }
    let parameters = &function.parameters;
    let unknown = template
        .variables()
        .find(|variable| !is_parameter(parameters, variable));
    if let Some(unknown) = unknown {
        return Err(format!(
            "the function {name:?} has no parameter `{unknown}`"
        ));
    }
    for parameter in parameters {
        let variable = variable_name(&parameter.name);
        let has_variable = template.variables().any(|it| it == variable);
        if !has_variable && !functions.types.is_nullable(parameter.ty) {
            return Err(format!(
                "no variable is the parameter `{}`: add `{{{variable}}}`",
                parameter.name
            ));
        }
        if has_variable && !uri_values::is_supported(&functions.types, parameter.ty) {
            return Err(format!(
                "the parameter `{}` cannot be a part of a URI: only texts, numbers, booleans, enums, and lists and options of these can",
                parameter.name
            ));
        }
    }
    Ok(FunctionTemplate {
        template,
        function: index,
        mime_type: resource.mime_type.clone(),
        ttl: resource.ttl,
    })
}

/// The name of the variable of a parameter. Variables cannot contain `-`.
fn variable_name(parameter: &str) -> String {
    parameter.replace('-', "_")
}

fn is_parameter(parameters: &[Parameter], variable: &str) -> bool {
    let mut names = parameters.iter().map(|it| variable_name(&it.name));
    names.any(|name| name == variable)
}

impl FunctionTemplate {
    pub(super) fn text(&self) -> &str {
        self.template.as_str()
    }

    /// The template, as lists contain it.
    pub(super) fn listed(&self, functions: &FunctionSet, grant: &Grant) -> Template {
        let function = &functions.functions[self.function];
        let settings = grant.functions.tools.get(&function.tool);
        let title = settings.and_then(|settings| settings.title.clone());
        let description = settings.and_then(|settings| settings.description.clone());
        let own_type = || Some(result_media_type(function, &functions.types).to_owned());
        Template {
            uri_template: self.template.clone(),
            name: function.tool.clone(),
            title,
            description: description.or_else(|| Some(function.description.clone())),
            mime_type: self.mime_type.clone().or_else(own_type),
            details: Details::default(),
            rendered: RenderCache::default(),
        }
    }

    /// Converts the variables of a URI to the arguments of the function. The error names the variable.
    pub(super) fn arguments(
        &self,
        functions: &FunctionSet,
        variables: &[Variable],
    ) -> Result<Vec<Val>, String> {
        let parameters = functions.functions[self.function].parameters.iter();
        parameters
            .map(|parameter| {
                let name = variable_name(&parameter.name);
                let values = variables.iter().filter(|variable| variable.name == name);
                let values: Vec<_> = values.map(|variable| variable.value.as_str()).collect();
                uri_values::value(&functions.types, parameter.ty, &values)
                    .map_err(|problem| format!("the variable `{name}`: {problem}"))
            })
            .collect()
    }
}

fn result_media_type(function: &Function, types: &TypeTable) -> &'static str {
    let Some(value) = function.outcome(types).value else {
        return "text/plain";
    };
    match types.get(value) {
        Type::Option(some) => media_type(types, types.get(*some)),
        ty => media_type(types, ty),
    }
}
