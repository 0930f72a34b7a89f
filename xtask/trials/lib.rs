//! Test provider with correct and faulty behaviour, selected by the URI. The same provider exists in seven languages.

use larder_provider::{
    Content, Error, Provider, Reading, Request, Result, Template, TemplatePage, http, setting_or,
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

larder_provider::export!(Trial);
