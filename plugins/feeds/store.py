"""Gets feeds from the web, and keeps them between calls where the operator grants it.

With the grant `key_value = ["shared"]`, a feed is requested at most once in an interval, with the validators of the
last response, and the last good response is used while the server does not answer."""

import json
import time
import zlib
from dataclasses import dataclass, field
from urllib.parse import urljoin, urlsplit

from larder_provider import Denied, Error, Failed, Invalid, NotFound, Unavailable, http, key_value, time_left, warn

MAX_REDIRECTS = 5
MAX_AGE = 24 * 3600
# How often a call tries to store a response while other calls store one for the same feed.
MAX_ATTEMPTS = 5
ACCEPT = "application/atom+xml, application/rss+xml, application/feed+json, application/xml;q=0.9, */*;q=0.5"


KINDS = {kind.__name__: kind for kind in (Denied, Failed, Invalid, NotFound, Unavailable)}


@dataclass
class Stored:
    """A response, and when it was last known to be current."""

    url: str
    body: bytes
    checked: float
    lifetime: float
    validators: dict[str, str] = field(default_factory=dict)
    # The kind and the text of the error, if there is no response.
    failure: tuple[str, str] | None = None
    # When the call that requested it began. Of two responses, the one that was requested later is kept.
    asked: float = 0.0

    def age(self) -> float:
        """How long ago it was checked. A clock that was set back must not keep it for ever."""
        age = time.time() - self.checked
        return age if age >= 0 else self.lifetime

    def left(self) -> float:
        return max(0.0, self.lifetime - self.age())

    def result(self) -> "Stored | Error":
        if self.failure is None:
            return self
        kind, text = self.failure
        return KINDS.get(kind, Failed)(text)

    def encode(self) -> bytes:
        names = ["url", "checked", "lifetime", "validators", "failure", "asked"]
        head = {name: getattr(self, name) for name in names}
        return json.dumps(head).encode() + b"\n" + zlib.compress(self.body)

    @classmethod
    def decode(cls, data: bytes, max_bytes: int) -> "Stored | None":
        try:
            head, _, body = data.partition(b"\n")
            return cls(body=zlib.decompressobj().decompress(body, max_bytes), **json.loads(head))
        except (ValueError, TypeError, zlib.error):
            return None


@dataclass
class Limits:
    """How feeds are requested."""

    interval: float
    timeout: float
    max_bytes: int


def get_all(feeds: dict[str, str], limits: Limits) -> dict[str, Stored | Error]:
    """Gets several feeds at once. The result of each one is a response, or why there is none."""
    asked = time.time()
    known = {name: _load(name, url, limits) for name, url in feeds.items()}
    current = {name: stored for name, stored in known.items() if stored and stored.left()}
    old = {name: stored if stored and not stored.failure else None for name, stored in known.items()}
    due = {name: url for name, url in feeds.items() if name not in current}
    for name, result in _exchange(due, old, limits).items():
        kept = _kept(name, due[name], result, old[name], limits)
        kept.asked = asked
        current[name] = _save(name, kept, limits)
    return {name: current[name].result() for name in feeds}


def _kept(name: str, url: str, result: Stored | Error, old: Stored | None, limits: Limits) -> Stored:
    """What is kept of a result. After a failure, the server is asked again after the interval, and not with each call."""
    if not isinstance(result, Error):
        return result
    if old is None:
        return Stored(url, b"", time.time(), limits.interval, failure=(type(result).__name__, str(result)))
    warn(f"{name}: {result}; the last good response is used")
    return Stored(url, old.body, time.time(), limits.interval, old.validators)


def _exchange(due: dict[str, str], old: dict[str, Stored | None], limits: Limits) -> dict[str, Stored | Error]:
    """Requests feeds, and follows their redirects."""
    results: dict[str, Stored | Error] = {}
    waiting = dict(due)
    for _ in range(MAX_REDIRECTS + 1):
        names = list(waiting)
        requests = [_request(waiting[name], old[name], limits) for name in names]
        waiting = {}
        for name, request, response in zip(names, requests, _send_all(requests)):
            result = _result(due[name], request, response, old[name], limits)
            if isinstance(result, str):
                waiting[name] = result
            else:
                results[name] = result
        if not waiting:
            return results
    return results | {name: Failed(f"more than {MAX_REDIRECTS} redirects") for name in waiting}


def _send_all(requests: list[http.Request]) -> list[http.Response | Error]:
    # The host sends at most 32 requests at once.
    return [one for start in range(0, len(requests), 16) for one in http.send_all(requests[start : start + 16])]


def _request(url: str, old: Stored | None, limits: Limits) -> http.Request:
    headers = {"accept": ACCEPT, **(old.validators if old else {})}
    # The other half of the time is for redirects, and for reading the feeds.
    return http.Request(url, headers=headers, timeout=min(limits.timeout, time_left() / 2))


def _result(
    url: str, request: http.Request, response: http.Response | Error, old: Stored | None, limits: Limits
) -> Stored | Error | str:
    """The response to keep, an error, or the address of a redirect."""
    if isinstance(response, Error):
        return response
    if response.status in (301, 302, 303, 307, 308):
        return _redirect(request.url, response.header("location"))
    now, lifetime = time.time(), _lifetime(response, limits)
    if response.status == 304 and old:
        return Stored(url, old.body, now, lifetime, old.validators)
    if not 200 <= response.status < 300:
        return _error(response.status)
    if len(response.body) > limits.max_bytes:
        return Invalid(f"the feed is larger than {limits.max_bytes} bytes (setting `max_bytes`)")
    pairs = {"if-none-match": response.header("etag"), "if-modified-since": response.header("last-modified")}
    validators = {name: value for name, value in pairs.items() if value and len(value) < 1000 and value.isprintable()}
    return Stored(url, response.body, now, lifetime, validators)


def _redirect(url: str, location: str | None) -> str | Error:
    try:
        target = urljoin(url, location or "")
        parts = urlsplit(target)
        is_downgrade = parts.scheme == "http" and urlsplit(url).scheme == "https"
        if location and parts.scheme in ("http", "https") and not is_downgrade and not parts.username:
            return target
    except ValueError:
        pass
    return Failed("the server redirects to an invalid or insecure address")


def _error(status: int) -> Error:
    if status in (404, 410):
        return NotFound()
    if status in (401, 403):
        return Denied(f"the server refuses access with status {status}")
    kind = Unavailable if status in (408, 425, 429) or status >= 500 else Failed
    return kind(f"the server responds with status {status}")


def _lifetime(response: http.Response, limits: Limits) -> float:
    """The time that the server announces, but at least the interval."""
    for directive in (response.header("cache-control") or "").lower().split(","):
        name, _, value = directive.strip().partition("=")
        if name == "max-age" and value.strip('"').isdigit():
            return min(max(float(value.strip('"')[:9]), limits.interval), MAX_AGE)
    return limits.interval


def _load(name: str, url: str, limits: Limits) -> Stored | None:
    try:
        return _decode(key_value.shared.get(f"feed/{name}"), url, limits)
    except Error:
        # The store is not granted, or not available: the feed is requested.
        return None


def _decode(data: bytes | None, url: str, limits: Limits) -> Stored | None:
    stored = Stored.decode(data, limits.max_bytes) if data else None
    return stored if stored and stored.url == url else None


def _save(name: str, stored: Stored, limits: Limits) -> Stored:
    """Keeps a response, unless another call has kept one that was requested later. Returns what is kept. A call that waited
    for a slow feed would otherwise replace new content of the others by what it requested before."""
    key = f"feed/{name}"
    try:
        for _ in range(MAX_ATTEMPTS):
            data = key_value.shared.get(key)
            other = _decode(data, stored.url, limits)
            # A time in the future is from a clock that was set back.
            if other and stored.asked < other.asked <= time.time():
                return other
            if key_value.shared.compare_and_swap(key, data, stored.encode()):
                break
    except Denied:
        pass
    except Error as error:
        warn(f"{name}: the feed is not kept: {error}")
    return stored
