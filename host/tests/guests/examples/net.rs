//! Accesses the network with each interface that there is.

use std::io::Read as _;
use std::net::{TcpListener, TcpStream, ToSocketAddrs as _, UdpSocket};

use guests::*;
use wasip2::http::outgoing_handler;
use wasip2::http::types::{
    Fields, FutureIncomingResponse, IncomingResponse, Method, OutgoingRequest, RequestOptions,
    Scheme,
};

struct Net;

impl Behaviour for Net {
    fn templates() -> Vec<&'static str> {
        vec![
            "net://http-client/{+url}",
            "net://wasi-http/{+url}",
            "net://http-client{?url,method,timeout}",
            "net://wasi-http{?url,method,connect,first,between}",
            "net://send-all{?url*,timeout*}",
            "net://open/{count}/{+url}",
            "net://connect/{address}",
            "net://listen/{address}",
            "net://udp/{address}",
            "net://resolve/{name}",
        ]
    }

    fn read(request: ReadRequest) -> Result<Reading, Error> {
        let (url, address) = (value(&request, "url"), value(&request, "address"));
        let method = Some(value(&request, "method"))
            .filter(|method| !method.is_empty())
            .unwrap_or("GET");
        match request
            .uri
            .trim_start_matches("net://")
            .split(['/', '?'])
            .next()
        {
            Some("http-client") => outcome(by_http_client(
                method,
                url,
                milliseconds(&request, "timeout"),
            )),
            Some("wasi-http") => outcome(by_wasi_http(method, url, options(&request))),
            Some("send-all") => text(send_all(&request).join("\n")),
            Some("open") => {
                text(open(value(&request, "count").parse().unwrap_or(0), url).join("\n"))
            }
            Some("connect") => outcome(TcpStream::connect(address).map(|_| "connected")),
            Some("listen") => outcome(TcpListener::bind(address).map(|_| "listening")),
            Some("udp") => outcome(UdpSocket::bind(address).map(|_| "bound")),
            Some("resolve") => {
                let name = (value(&request, "name"), 80);
                outcome(
                    name.to_socket_addrs()
                        .map(|addresses| addresses.collect::<Vec<_>>()),
                )
            }
            _ => Err(Error::NotFound),
        }
    }
}

fn milliseconds(request: &ReadRequest, name: &str) -> Option<u64> {
    value(request, name).parse().ok()
}

fn by_http_client(
    method: &str,
    url: &str,
    timeout_ms: Option<u64>,
) -> Result<(u16, String), String> {
    http_response(http_client::send(&http_request(method, url, timeout_ms)))
}

fn http_request(method: &str, url: &str, timeout_ms: Option<u64>) -> http_client::Request {
    http_client::Request {
        method: method.to_owned(),
        url: url.to_owned(),
        headers: vec![("accept".to_owned(), "*/*".to_owned())],
        body: vec![],
        timeout_ms,
    }
}

fn http_response(
    response: Result<http_client::Response, http_client::Failure>,
) -> Result<(u16, String), String> {
    let response = response.map_err(|failure| format!("{failure:?}"))?;
    Ok((
        response.status,
        String::from_utf8_lossy(&response.body).into_owned(),
    ))
}

/// One line for the result of each request. The last timeout also applies to the following requests.
fn send_all(request: &ReadRequest) -> Vec<String> {
    let values = |name: &str| -> Vec<&str> {
        let variables = request
            .matched
            .iter()
            .flat_map(|matched| &matched.variables);
        variables
            .filter(|variable| variable.name == name)
            .map(|variable| &*variable.value)
            .collect()
    };
    let timeouts = values("timeout");
    let timeout = |n: usize| timeouts.get(n).or(timeouts.last())?.parse().ok();
    let urls = values("url").into_iter().enumerate();
    let requests: Vec<_> = urls
        .map(|(n, url)| http_request("GET", url, timeout(n)))
        .collect();
    let responses = http_client::send_all(&requests)
        .into_iter()
        .map(http_response);
    responses
        .map(|response| response.map_or_else(|error| error, |ok| format!("{ok:?}")))
        .collect()
}

/// Sends this many wasi:http requests without waiting for a response, and another request when they have ended. One
/// line for the result of each request.
fn open(count: usize, url: &str) -> Vec<String> {
    let futures: Vec<_> = (0..count).map(|_| start("GET", url, None)).collect();
    let line = |future| match response(future) {
        Ok(response) => response.status().to_string(),
        Err(error) => error,
    };
    let mut lines: Vec<_> = futures
        .into_iter()
        .map(|future| future.map_or_else(|error| error, line))
        .collect();
    lines.push(start("GET", url, None).map_or_else(|error| error, line));
    lines
}

fn options(request: &ReadRequest) -> Option<RequestOptions> {
    let nanoseconds =
        |name| milliseconds(request, name).map(|milliseconds| milliseconds * 1_000_000);
    let options = RequestOptions::new();
    options.set_connect_timeout(nanoseconds("connect")).ok()?;
    options.set_first_byte_timeout(nanoseconds("first")).ok()?;
    options
        .set_between_bytes_timeout(nanoseconds("between"))
        .ok()?;
    Some(options)
}

fn by_wasi_http(
    method: &str,
    url: &str,
    options: Option<RequestOptions>,
) -> Result<(u16, String), String> {
    read_body(&response(start(method, url, options)?)?)
}

fn start(
    method: &str,
    url: &str,
    options: Option<RequestOptions>,
) -> Result<FutureIncomingResponse, String> {
    let (scheme, rest) = url.split_once("://").ok_or("a URL has a scheme")?;
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let request = OutgoingRequest::new(Fields::new());
    let scheme = match scheme {
        "http" => Scheme::Http,
        "https" => Scheme::Https,
        other => Scheme::Other(other.to_owned()),
    };
    let method = match method {
        "GET" => Method::Get,
        other => Method::Other(other.to_owned()),
    };
    let path = if path.is_empty() { "/" } else { path };
    let set = request.set_method(&method).is_ok()
        && request.set_scheme(Some(&scheme)).is_ok()
        && request.set_authority(Some(authority)).is_ok()
        && request.set_path_with_query(Some(path)).is_ok();
    if !set {
        return Err("the request is invalid".to_owned());
    }
    outgoing_handler::handle(request, options).map_err(|error| format!("{error:?}"))
}

fn response(future: FutureIncomingResponse) -> Result<IncomingResponse, String> {
    future.subscribe().block();
    future
        .get()
        .ok_or("not ready")?
        .map_err(|()| "taken")?
        .map_err(|error| format!("{error:?}"))
}

fn read_body(response: &IncomingResponse) -> Result<(u16, String), String> {
    let status = response.status();
    let body = response.consume().map_err(|()| "the body was taken")?;
    let mut text = String::new();
    let mut stream = body.stream().map_err(|()| "the stream was taken")?;
    stream
        .read_to_string(&mut text)
        .map_err(|error| error.to_string())?;
    Ok((status, text))
}

guests::export!(Net);
