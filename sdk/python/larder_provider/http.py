"""Outgoing HTTP requests through the host, limited to the hosts that the operator granted. (`urllib` and similar
modules do not work in a component, because they need sockets.)"""

import json as _json
from dataclasses import dataclass, field

from .errors import Denied, Failed, NotFound, NotModified, Unavailable

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


def get(url: str, headers: dict[str, str] | None = None) -> Response:
    """Sends a GET request."""
    return send("GET", url, headers)


def send(method: str, url: str, headers: dict[str, str] | None = None, body: bytes = b"") -> Response:
    """Sends a request and waits for the complete response."""
    if _http is None:
        raise Unavailable(f"{url}: HTTP is available only in a host")
    try:
        response = _http.send(_http.Request(method, url, list((headers or {}).items()), body))
    except _Err as error:
        raise _to_error(error.value) from None
    return Response(response.status, response.headers, response.body)


def _to_error(failure) -> Exception:
    match failure:
        case _http.Failure_Denied(reason):
            return Denied(reason)
        case _http.Failure_Unreachable(reason):
            return Unavailable(reason)
        case _http.Failure_TimedOut():
            return Unavailable("the remote server did not respond in time")
        case _:
            return Failed("the response is larger than the host allows")
