"""What the host offers during a call. Outside of a component, where there is no host, its place is taken by the
environment and stderr, so that a provider's own tests run with any Python."""

import os
import sys
from dataclasses import dataclass

try:
    from wit_world.imports import provider_host as _host
except ImportError:
    _host = None


@dataclass
class Caller:
    """Who is asking."""

    team: str
    # The subject of the credential, if there is one.
    subject: str | None = None
    scopes: tuple[str, ...] = ()


def caller() -> Caller | None:
    """Who is asking; none when the host itself asks."""
    found = _host.get_caller() if _host else None
    return found and Caller(found.team, found.subject, tuple(found.scopes))


def metadata() -> dict[str, str]:
    """The metadata that came with the request: key and JSON text."""
    return dict(_host.request_metadata()) if _host else {}


def setting(name: str, otherwise: str | None = None) -> str | None:
    """A setting from the provider's own section of the configuration, or what holds without it.

    Outside of a component: the environment variable LARDER_SETTING_NAME, in capitals."""
    if _host:
        found = _host.setting(name)
    else:
        found = os.environ.get("LARDER_SETTING_" + name.upper().replace("-", "_"))
    return otherwise if found is None else found


def debug(message: str) -> None:
    """Writes a line into the host's log."""
    _log("DEBUG", message)


def info(message: str) -> None:
    """Writes a line into the host's log."""
    _log("INFO", message)


def warn(message: str) -> None:
    """Writes a line into the host's log."""
    _log("WARN", message)


def error(message: str) -> None:
    """Writes a line into the host's log."""
    _log("ERROR", message)


def unicode(value):
    """A text, or one in a list, without the halves of characters that names of files may have: they would end the
    guest."""
    match value:
        case str():
            return value if value.isascii() else value.encode(errors="replace").decode()
        case list() | tuple():
            return type(value)(map(unicode, value))
        case _:
            return value


def _log(level: str, message: str) -> None:
    if _host:
        _host.log(_host.Level[level], unicode(message))
    else:
        print(f"{level}: {message}", file=sys.stderr)


def resource_updated(uri: str) -> None:
    """Tells those who watch this URI that its content differs."""
    if _host:
        _host.resource_updated(uri)


def resources_changed() -> None:
    """Tells everyone that the list of entries or templates differs."""
    if _host:
        _host.resources_changed()


def progress(done: float, total: float | None = None, message: str | None = None) -> None:
    """Tells the caller how far a long read has come."""
    if _host:
        _host.progress(done, total, message)


def cancelled() -> bool:
    """Whether nobody waits for the answer any more. Worth asking in a long loop."""
    return bool(_host and _host.cancelled())
