//! Test provider with correct and faulty behaviour, selected by the URI. The same provider exists in seven languages.

use larder_provider::{
    Content, Error, Provider, Reading, Request, Result, Template, TemplatePage, http, key_value, setting_or,
};

const PATH: &str = "trial:///{path}";

struct Trial;

impl Provider for Trial {
    fn new() -> Result<Self> {
        Ok(Self)
    }

    fn templates(&self, _cursor: Option<&str>) -> Result<TemplatePage> {
        Ok(vec![Template::new("trial://{what}", "the behaviour"), Template::new(PATH, "a path")].into())
    }

    fn greedy(&self) -> Vec<&str> {
        vec![PATH]
    }

    fn read(&self, request: &Request) -> Result<Reading> {
        if request.template() == Some(PATH) {
            return Ok(Content::text(request.var("path")?).into());
        }
        let text = match &*request.var("what")? {
            "revision" => "first".to_owned(),
            "http" => get("granted")?,
            "elsewhere" => get("elsewhere")?,
            "stores" => stores()?,
            "stores-own" => key_value::caller().keys("")?.join(","),
            "long" => std::fs::read_to_string("/folder/long.txt")?,
            "garbled" => return Err(String::from_utf8_lossy(b"no caf\xe9").into_owned().into()),
            "raises" => return Err("no such luck".into()),
            "ends" => panic!("last words"),
            "eats" => vec![1; 256 << 20].len().to_string(),
            "spins" => loop {
                std::hint::spin_loop();
            },
            _ => return Err(Error::NotFound),
        };
        Ok(Content::text(text).into())
    }
}

fn get(setting: &str) -> Result<String> {
    let url: String = setting_or(setting, String::new())?;
    http::get(&url)?.accepted()?.text()
}

fn stores() -> Result<String> {
    let bucket = key_value::shared();
    bucket.set("a", "1")?;
    bucket.set("b", "2")?;
    let swapped = [Some(&b"1"[..]), Some(b"2"), None];
    let swapped = swapped.map(|expected| bucket.compare_and_swap("b", expected, Some(b"3")));
    let [wrong, right, missing] = swapped;
    let (keys, b) = (bucket.keys("")?.join(","), bucket.get_text("b")?.unwrap_or_default());
    bucket.compare_and_swap("b", Some(b"3"), None)?;
    bucket.delete("a")?;
    let rest = bucket.keys("")?.len() + bucket.get("b")?.map_or(0, |value| value.len());
    Ok(format!("{keys} {b} {} {} {} {rest}", wrong?, right?, missing?))
}

larder_provider::export!(Trial);
