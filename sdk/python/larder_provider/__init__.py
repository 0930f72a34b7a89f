"""SDK for Larder resource providers: extend `Provider` and call `export`.

Modules have to be imported at the top of a file: imports run when the component is built, and at run time no other
modules can be loaded.
"""

from . import http
from .errors import Denied, Error, Failed, Invalid, NotFound, NotModified, Unavailable
from .export import export
from .host import (
    Caller,
    caller,
    cancelled,
    debug,
    error,
    info,
    metadata,
    progress,
    resource_updated,
    resources_changed,
    setting,
    warn,
)
from .provider import Provider, paginate
from .values import (
    Completion,
    CompletionRequest,
    Content,
    Description,
    Details,
    Entry,
    EntryPage,
    Freshness,
    Icon,
    Match,
    Query,
    Reading,
    Request,
    Template,
    TemplatePage,
)

__all__ = [
    "Caller",
    "Completion",
    "CompletionRequest",
    "Content",
    "Denied",
    "Description",
    "Details",
    "Entry",
    "EntryPage",
    "Error",
    "Failed",
    "Freshness",
    "Icon",
    "Invalid",
    "Match",
    "NotFound",
    "NotModified",
    "Provider",
    "Query",
    "Reading",
    "Request",
    "Template",
    "TemplatePage",
    "Unavailable",
    "caller",
    "cancelled",
    "debug",
    "error",
    "export",
    "http",
    "info",
    "metadata",
    "paginate",
    "progress",
    "resource_updated",
    "resources_changed",
    "setting",
    "warn",
]
