//! Sends HTTP requests with both interfaces, and searches everything that it can see for a secret: its memory, with
//! the requests and responses in it, and its settings. It gets the secret in reverse, so that its own search does not
//! put the secret into the memory.

use std::io::Read as _;

use guests::*;
use wasip2::http::outgoing_handler;
use wasip2::http::types::{Fields, IncomingResponse, Method, OutgoingRequest, Scheme};

const PAGE: usize = 64 << 10;

struct Credentials;

impl Behaviour for Credentials {
    fn templates() -> Vec<&'static str> {
        vec![
            "credentials://http-client{?url,method,header,reversed}",
            "credentials://wasi-http{?url,method,header,reversed}",
            "credentials://setting{?name,reversed}",
        ]
    }

    /// Returns what the guest sees of the response, and a line that says whether it found the secret.
    fn read(request: ReadRequest) -> Result<Reading, Error> {
        let mut url = value(&request, "url").to_owned();
        let mut method = value(&request, "method").to_owned();
        if method.is_empty() {
            method.push_str("GET");
        }
        if url.is_empty() {
            url.push_str("none");
        }
        let header = value(&request, "header").split_once(": ");
        let path = request.uri.trim_start_matches("credentials://");
        let seen = match path.split('?').next() {
            Some("http-client") => by_http_client(&method, &url, header),
            Some("wasi-http") => by_wasi_http(&method, &url, header),
            Some("setting") => format!("{:?}", host::setting(value(&request, "name"))),
            _ => return Err(Error::NotFound),
        };
        let reversed = value(&request, "reversed").as_bytes();
        let found = if reversed.is_empty() {
            "not searched"
        } else if is_in_memory(reversed) {
            "found"
        } else {
            "not found"
        };
        text(format!("{seen}\n{found}"))
    }
}

fn by_http_client(method: &str, url: &str, header: Option<(&str, &str)>) -> String {
    let header = header.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let request = http_client::Request {
        method: method.to_owned(),
        url: url.to_owned(),
        headers: header.into_iter().collect(),
        body: vec![],
        timeout_ms: None,
    };
    match http_client::send(&request) {
        Err(failure) => format!("{failure:?}"),
        Ok(response) => {
            let body = String::from_utf8_lossy(&response.body);
            format!("{} {:?} {body}", response.status, response.headers)
        }
    }
}

fn by_wasi_http(method: &str, url: &str, header: Option<(&str, &str)>) -> String {
    match start(method, url, header) {
        Err(error) => error,
        Ok(response) => read_all(&response),
    }
}

fn start(
    method: &str,
    url: &str,
    header: Option<(&str, &str)>,
) -> Result<IncomingResponse, String> {
    let (scheme, rest) = url.split_once("://").ok_or("a URL has a scheme")?;
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let header = header.map(|(name, value)| (name.to_owned(), value.as_bytes().to_vec()));
    let fields = Fields::from_list(&header.into_iter().collect::<Vec<_>>());
    let request = OutgoingRequest::new(fields.map_err(|error| format!("{error:?}"))?);
    let scheme = match scheme {
        "http" => Scheme::Http,
        _ => Scheme::Https,
    };
    let is_set = request
        .set_method(&Method::Other(method.to_owned()))
        .is_ok()
        && request.set_scheme(Some(&scheme)).is_ok()
        && request.set_authority(Some(authority)).is_ok()
        && request.set_path_with_query(Some(path)).is_ok();
    if !is_set {
        return Err("the request is invalid".to_owned());
    }
    let future = outgoing_handler::handle(request, None).map_err(|error| format!("{error:?}"))?;
    future.subscribe().block();
    future
        .get()
        .ok_or("not ready")?
        .map_err(|()| "taken")?
        .map_err(|error| format!("{error:?}"))
}

/// Returns the status, the headers, and what arrives of the body before it ends or fails.
fn read_all(response: &IncomingResponse) -> String {
    let headers = response.headers().entries();
    let headers: Vec<_> = headers
        .iter()
        .map(|(name, value)| (name, String::from_utf8_lossy(value)))
        .collect();
    let mut body = Vec::new();
    let ended = match response.consume() {
        Err(()) => "the body was taken".to_owned(),
        Ok(incoming) => match incoming.stream() {
            Err(()) => "the stream was taken".to_owned(),
            Ok(mut stream) => match stream.read_to_end(&mut body) {
                Ok(_) => String::new(),
                Err(error) => format!(" failed: {error}"),
            },
        },
    };
    let body = String::from_utf8_lossy(&body);
    format!("{} {headers:?} {body}{ended}", response.status())
}

/// Whether the whole linear memory contains these bytes in the opposite order.
fn is_in_memory(reversed: &[u8]) -> bool {
    let end = core::arch::wasm32::memory_size(0) * PAGE - reversed.len();
    // The address 0 is the null pointer.
    (1..end).any(|start| {
        reversed
            .iter()
            .rev()
            .enumerate()
            .all(|(offset, expected)| byte(start + offset) == *expected)
    })
}

fn byte(address: usize) -> u8 {
    // SAFETY: the address is below the size of the memory, of which every byte can be read.
    unsafe { core::ptr::read_volatile(core::ptr::without_provenance::<u8>(address)) }
}

guests::export!(Credentials);
