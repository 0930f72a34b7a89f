//! Exports a function that fetches a URL over `wasi:http`: equal in interface to the fetch component of another host.

wit_bindgen::generate!({
    inline: r#"
        package guests:fetch;

        world fetch {
            export fetch: func(url: string) -> result<string, string>;
        }
    "#,
});

use std::io::Read as _;

use wasip2::http::outgoing_handler;
use wasip2::http::types::{Fields, OutgoingRequest, Scheme};

struct Component;

fn body(url: &str) -> Result<String, String> {
    let (scheme, rest) = url.split_once("://").ok_or("the URL has no scheme")?;
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let scheme = match scheme {
        "http" => Scheme::Http,
        _ => Scheme::Https,
    };
    let request = OutgoingRequest::new(Fields::new());
    request
        .set_scheme(Some(&scheme))
        .map_err(|()| "invalid scheme")?;
    request
        .set_authority(Some(authority))
        .map_err(|()| "invalid host")?;
    let path = if path.is_empty() { "/" } else { path };
    request
        .set_path_with_query(Some(path))
        .map_err(|()| "invalid path")?;
    let response = outgoing_handler::handle(request, None).map_err(|error| error.to_string())?;
    response.subscribe().block();
    let response = response.get().and_then(Result::ok).ok_or("no response")?;
    let response = response.map_err(|error| error.to_string())?;
    let body = response.consume().map_err(|()| "no body")?;
    let mut stream = body.stream().map_err(|()| "no stream")?;
    let mut text = String::new();
    stream
        .read_to_string(&mut text)
        .map_err(|error| error.to_string())?;
    Ok(text)
}

impl Guest for Component {
    fn fetch(url: String) -> Result<String, String> {
        body(&url)
    }
}

export!(Component);
