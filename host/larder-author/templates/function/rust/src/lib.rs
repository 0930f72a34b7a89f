//! @NAME@: example functions, which are tools. Replace them, and describe yours in `wit/world.wit`.

wit_bindgen::generate!({ path: "wit", world: "provider" });

struct Component;

impl Guest for Component {
    fn greet(name: String, language: Option<String>) -> Result<String, String> {
        let greeting = match language.as_deref().unwrap_or("en") {
            "en" => "Hello",
            "de" => "Hallo",
            "fr" => "Bonjour",
            // The text of an error is the result of the tool, so that a model can try again.
            other => return Err(format!("there is no greeting in `{other}`; use en, de or fr")),
        };
        Ok(format!("{greeting}, {name}!"))
    }

    fn describe(numbers: Vec<f64>) -> Result<Statistics, String> {
        let count = u32::try_from(numbers.len()).map_err(|error| error.to_string())?;
        if count == 0 {
            return Err("there are no numbers".into());
        }
        let mean = numbers.iter().sum::<f64>() / f64::from(count);
        Ok(Statistics { count, mean })
    }
}

export!(Component);

/// Native tests: `cargo test --lib` needs neither a component nor `larder`.
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn greets_in_languages() {
        let greet = |language: Option<&str>| Component::greet("Ada".into(), language.map(Into::into));
        assert_eq!(greet(None).unwrap(), "Hello, Ada!");
        assert_eq!(greet(Some("fr")).unwrap(), "Bonjour, Ada!");
        assert!(greet(Some("xx")).unwrap_err().contains("xx"));
    }

    #[test]
    fn describes_numbers() {
        let described = Component::describe(vec![1.0, 2.0, 6.0]).unwrap();
        assert_eq!((described.count, described.mean), (3, 3.0));
        assert!(Component::describe(vec![]).is_err());
    }
}
