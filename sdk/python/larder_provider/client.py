"""Functions for providers of tools and prompts. They do nothing where there is no client: outside a component, and in a
world without tools."""

import json
import sys
from typing import Literal

from .host import valid_unicode

try:
    from wit_world.imports import interaction_host as _client
except ImportError:
    _client = None

Severity = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]


def client_supports(capability: str) -> bool:
    """Whether the client supports a capability, as a JSON Pointer into its capabilities, such as `/elicitation/url`."""
    return bool(_client and _client.client_supports(valid_unicode(capability)))


def client_log_level() -> Severity | None:
    """The lowest severity that the client asked for, if any."""
    level = _client and _client.client_log_level()
    return level and level.name.lower()


def log_to_client(severity: Severity, data, logger: str | None = None) -> None:
    """Sends a log message to the client: a text or any other JSON value. Outside a component, it goes to stderr."""
    text = json.dumps(data, ensure_ascii=False)
    if _client:
        _client.log_to_client(_client.Severity[severity.upper()], valid_unicode(logger), valid_unicode(text))
    else:
        print(f"{severity.upper()} to the client: {text}", file=sys.stderr)


def tools_changed() -> None:
    """Notifies all clients that the list of tools has changed."""
    if _client:
        _client.tools_changed()


def prompts_changed() -> None:
    """Notifies all clients that the list of prompts has changed."""
    if _client:
        _client.prompts_changed()
