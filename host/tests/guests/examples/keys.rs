//! Matches URIs itself and returns variables with keys. A read returns the variables that the host passes.

use guests::*;

struct Keys;

impl Behaviour for Keys {
    fn describe() -> Description {
        Description {
            claims: vec!["keys:".to_owned()],
            ..description()
        }
    }

    fn templates() -> Vec<&'static str> {
        vec![
            "keys:listed/{path}",
            "keys:other/{path}",
            "keys:found{/tags}{?page,filter*}",
        ]
    }

    fn match_uri(uri: String) -> Option<TemplateMatch> {
        let matched = |uri_template: &str, variables| {
            Some(TemplateMatch {
                uri_template: uri_template.to_owned(),
                variables,
            })
        };
        if let Some(path) = uri.strip_prefix("keys:listed/") {
            return matched("keys:listed/{path}", vec![with_key("path", "key", path)]);
        }
        if uri.starts_with("keys:other/") {
            return matched(
                "keys:other/{path}",
                vec![with_key("path", "key", "another value")],
            );
        }
        let pairs = uri.strip_prefix("keys:map?")?.split('&');
        let pairs = pairs.map(|pair| {
            pair.split_once('=')
                .map(|(key, value)| with_key("pairs", key, value))
        });
        let variables = pairs
            .chain([Some(variable("single", "one"))])
            .collect::<Option<_>>()?;
        matched("keys:map{?pairs*}", variables)
    }

    fn read(request: ReadRequest) -> Result<Reading, Error> {
        let matched = request.matched.ok_or(Error::NotFound)?;
        let variables = matched
            .variables
            .iter()
            .map(|Variable { name, key, value }| {
                format!(" {name}[{}]={value}", key.as_deref().unwrap_or("none"))
            });
        text(matched.uri_template + &variables.collect::<String>())
    }
}

fn with_key(name: &str, key: &str, value: &str) -> Variable {
    Variable {
        key: Some(key.to_owned()),
        ..variable(name, value)
    }
}

guests::export!(Keys);
