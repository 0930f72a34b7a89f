//! Accesses the network with each interface that there is.

use std::io::Read as _;
use std::net::{TcpListener, TcpStream, ToSocketAddrs as _, UdpSocket};

use guests::*;
use wasip2::http::outgoing_handler;
use wasip2::http::types::{Fields, Method, OutgoingRequest, Scheme};

struct Net;

impl Behaviour for Net {
    fn templates() -> Vec<&'static str> {
        vec![
            "net://http-client/{+url}",
            "net://wasi-http/{+url}",
            "net://http-client{?url,method}",
            "net://wasi-http{?url,method}",
            "net://connect/{address}",
            "net://listen/{address}",
            "net://udp/{address}",
            "net://resolve/{name}",
        ]
    }

    fn read(request: ReadRequest) -> Result<Reading, Error> {
        let (url, address) = (value(&request, "url"), value(&request, "address"));
        let method = Some(value(&request, "method")).filter(|method| !method.is_empty()).unwrap_or("GET");
        match request.uri.trim_start_matches("net://").split(['/', '?']).next() {
            Some("http-client") => outcome(by_http_client(method, url)),
            Some("wasi-http") => outcome(by_wasi_http(method, url)),
            Some("connect") => outcome(TcpStream::connect(address).map(|_| "connected")),
            Some("listen") => outcome(TcpListener::bind(address).map(|_| "listening")),
            Some("udp") => outcome(UdpSocket::bind(address).map(|_| "bound")),
            Some("resolve") => {
                let name = (value(&request, "name"), 80);
                outcome(name.to_socket_addrs().map(|addresses| addresses.collect::<Vec<_>>()))
            }
            _ => Err(Error::NotFound),
        }
    }
}

fn by_http_client(method: &str, url: &str) -> Result<(u16, String), String> {
    let request = http_client::Request {
        method: method.to_owned(),
        url: url.to_owned(),
        headers: vec![("accept".to_owned(), "*/*".to_owned())],
        body: vec![],
    };
    let response = http_client::send(&request).map_err(|failure| format!("{failure:?}"))?;
    Ok((response.status, String::from_utf8_lossy(&response.body).into_owned()))
}

fn by_wasi_http(method: &str, url: &str) -> Result<(u16, String), String> {
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
    send(request)
}

fn send(request: OutgoingRequest) -> Result<(u16, String), String> {
    let failed = |error| format!("{error:?}");
    let future = outgoing_handler::handle(request, None).map_err(failed)?;
    future.subscribe().block();
    let response = future.get().ok_or("not ready")?.map_err(|()| "taken")?.map_err(failed)?;
    let status = response.status();
    let body = response.consume().map_err(|()| "the body was taken")?;
    let mut text = String::new();
    let mut stream = body.stream().map_err(|()| "the stream was taken")?;
    stream.read_to_string(&mut text).map_err(|error| error.to_string())?;
    Ok((status, text))
}

guests::export!(Net);
