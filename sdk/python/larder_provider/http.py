"""Outgoing HTTP through the host, which lets through what the operator granted. (`urllib` and the like cannot
get out of a component: they want sockets.)"""

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
    """The whole answer."""

    status: int
    headers: list[tuple[str, str]] = field(default_factory=list)
    body: bytes = b""

    def header(self, name: str) -> str | None:
        """The first value of a header, whatever the case of its name."""
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)

    def accepted(self) -> "Response":
        """The response if its status means success; raises what its status means otherwise."""
        says = f"the other side answered with status {self.status}"
        match self.status:
            case status if 200 <= status < 300:
                return self
            case 304:
                raise NotModified
            case 404 | 410:
                raise NotFound
            case 401 | 403:
                raise Denied(says)
            case status if status in (408, 425, 429) or 500 <= status < 600:
                raise Unavailable(says)
            case _:
                raise Failed(says)

    def text(self) -> str:
        """The body as text."""
        return self.body.decode()

    def json(self):
        """The body as what its JSON means."""
        return _json.loads(self.body)


def get(url: str, headers: dict[str, str] | None = None) -> Response:
    """Gets what a URL holds."""
    return send("GET", url, headers)


def send(method: str, url: str, headers: dict[str, str] | None = None, body: bytes = b"") -> Response:
    """Sends a request and waits for the whole answer."""
    if _http is None:
        raise Unavailable(f"{url}: there is HTTP only inside a host")
    try:
        answer = _http.send(_http.Request(method, url, list((headers or {}).items()), body))
    except _Err as error:
        raise _meaning(error.value) from None
    return Response(answer.status, answer.headers, answer.body)


def _meaning(failure) -> Exception:
    match failure:
        case _http.Failure_Denied(reason):
            return Denied(reason)
        case _http.Failure_Unreachable(reason):
            return Unavailable(reason)
        case _http.Failure_TimedOut():
            return Unavailable("the other side did not answer in time")
        case _:
            return Failed("the answer is larger than the host accepts")
