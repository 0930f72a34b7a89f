"""Outgoing HTTP requests through the host, limited to the hosts that the operator granted. (`urllib` and similar
modules need the grant `tcp`, and have no TLS in a component.)"""

import json as _json
import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from .errors import Denied, Error, Failed, NotFound, NotModified, Unavailable

try:
    from componentize_py_types import Err as _Err
    from wit_world.imports import http_client as _http
except ImportError:
    _http = None


@dataclass
class Response:
    """A complete response."""

    status: int
    headers: list[tuple[str, str]] = field(default_factory=list)
    body: bytes = b""

    def header(self, name: str) -> str | None:
        """The first value of a header. Names are case-insensitive."""
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)

    def accepted(self) -> "Response":
        """Returns the response if its status is a success; otherwise raises the error that corresponds to the status."""
        reason = f"the remote server responded with status {self.status}"
        match self.status:
            case status if 200 <= status < 300:
                return self
            case 304:
                raise NotModified
            case 404 | 410:
                raise NotFound
            case 401 | 403:
                raise Denied(reason)
            case status if status in (408, 425, 429) or 500 <= status < 600:
                raise Unavailable(reason)
            case _:
                raise Failed(reason)

    def text(self) -> str:
        """The body as text."""
        return self.body.decode()

    def json(self):
        """The body, parsed as JSON."""
        return _json.loads(self.body)


@dataclass
class Request:
    """A request for `send_all`."""

    url: str
    method: str = "GET"
    headers: dict[str, str] | None = None
    body: bytes = b""
    # Time limit in seconds for the whole exchange. The host applies its own limit too.
    timeout: float | None = None


def get(url: str, headers: dict[str, str] | None = None, timeout: float | None = None) -> Response:
    """Sends a GET request."""
    return send("GET", url, headers, timeout=timeout)


def send(
    method: str, url: str, headers: dict[str, str] | None = None, body: bytes = b"", timeout: float | None = None
) -> Response:
    """Sends a request and waits for the complete response. The timeout is in seconds."""
    if _http is None:
        raise _without_host(url)
    try:
        return _response(_http.send(_request(Request(url, method, headers, body, timeout))))
    except _Err as error:
        raise _to_error(error.value) from None


def send_all(requests: Iterable[Request]) -> list[Response | Error]:
    """Sends several requests at once and waits for all of them. The results are in the order of the requests: a
    response, or the error that `send` would raise."""
    requests = list(requests)
    if _http is None:
        return [_without_host(request.url) for request in requests]
    results = _http.send_all([_request(request) for request in requests])
    return [_to_error(result.value) if isinstance(result, _Err) else _response(result.value) for result in results]


def _request(request: Request):
    timeout = None if request.timeout is None else max(0, math.ceil(request.timeout * 1000))
    headers = list((request.headers or {}).items())
    return _http.Request(request.method, request.url, headers, bytes(memoryview(request.body)), timeout)


def _response(response) -> Response:
    return Response(response.status, response.headers, response.body)


def _without_host(url: str) -> Error:
    return Unavailable(f"{url}: HTTP is available only in a host")


def _to_error(failure) -> Error:
    match failure:
        case _http.Failure_Denied(reason):
            return Denied(reason)
        case _http.Failure_Unreachable(reason):
            return Unavailable(reason)
        case _http.Failure_TimedOut():
            return Unavailable("the remote server did not respond in time")
        case _:
            return Failed("the response is larger than the host allows")
