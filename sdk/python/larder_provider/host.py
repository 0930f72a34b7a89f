"""Functions of the host. Outside a component there is no host: settings come from the environment and logs go to
stderr, so that a provider can be tested with any Python."""

import math
import os
import sys
from dataclasses import dataclass

try:
    from wit_world.imports import provider_host as _host
except ImportError:
    _host = None


@dataclass
class Caller:
    """The caller of a request."""

    team: str
    # The subject of the credential, if there is one.
    subject: str | None = None
    scopes: tuple[str, ...] = ()
    # Who issued the credential. A subject is unique only together with its issuer.
    issuer: str | None = None


def caller() -> Caller | None:
    """The caller of the current request; None if the host itself makes the call."""
    found = _host.get_caller() if _host else None
    return found and Caller(found.team, found.subject, tuple(found.scopes), found.issuer)


def metadata() -> dict[str, str]:
    """The metadata of the request: keys with JSON text."""
    return dict(_host.request_metadata()) if _host else {}


def setting(name: str, default: str | None = None) -> str | None:
    """A setting from the provider's section of the configuration, or the default value.

    Outside a component: the environment variable LARDER_SETTING_NAME with the name in capitals."""
    if _host:
        found = _host.setting(name)
    else:
        found = os.environ.get("LARDER_SETTING_" + name.upper().replace("-", "_"))
    return default if found is None else found


def debug(message: str) -> None:
    """Writes a message to the host's log."""
    _log("DEBUG", message)


def info(message: str) -> None:
    """Writes a message to the host's log."""
    _log("INFO", message)


def warn(message: str) -> None:
    """Writes a message to the host's log."""
    _log("WARN", message)


def error(message: str) -> None:
    """Writes a message to the host's log."""
    _log("ERROR", message)


def valid_unicode(value):
    """Replaces lone surrogates in a text, or in the texts of a list. File names may contain them, but passing them to
    the host would be a trap."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode(errors="replace").decode()
    if isinstance(value, (list, tuple)):
        return (list if isinstance(value, list) else tuple)(map(valid_unicode, value))
    return value


def _log(level: str, message: str) -> None:
    if _host:
        _host.log(_host.Level[level], valid_unicode(str(message)))
    else:
        print(f"{level}: {message}", file=sys.stderr)


def resource_updated(uri: str) -> None:
    """Notifies subscribers of this URI that its content has changed."""
    if _host:
        _host.resource_updated(uri)


def resources_changed() -> None:
    """Notifies all clients that the list of entries or templates has changed."""
    if _host:
        _host.resources_changed()


def progress(done: float, total: float | None = None, message: str | None = None) -> None:
    """Reports the progress of a long read to the caller."""
    if _host:
        _host.progress(done, total, message)


def cancelled() -> bool:
    """Whether the request was cancelled. The host usually ends a call at once when its client cancels it or leaves, so
    that this function returns nothing any more, and neither `finally` nor `except` run. Do not rely on either."""
    return bool(_host and _host.cancelled())


def time_left() -> float:
    """The number of seconds until the host ends this call. Without a host, there is no limit."""
    return _host.time_left_ms() / 1000 if _host else math.inf
