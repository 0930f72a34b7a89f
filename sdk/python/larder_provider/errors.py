"""Errors that a provider can raise. The caller sees the text, so it should say how to solve the problem."""

import traceback
from typing import Callable

from .location import raised_at


class Error(Exception):
    """The base class of all errors."""


class NotFound(Error):
    """There is no such resource in this provider. The host then asks other providers."""


class NotModified(Error):
    """The caller's known version is still current."""


class Invalid(Error):
    """The request is invalid, for example because of a bad value or a bad cursor, or because the resource is larger than
    a limit. Clients do not repeat it."""


class Denied(Error):
    """The caller is not authorized, or the provider lacks a grant."""


class Unavailable(Error):
    """A temporary failure; the request may be retried later."""


class Failed(Error):
    """Any other failure."""


class ToolError(Invalid):
    """A tool failed. The model receives the text as the result of the call, and can correct its arguments."""


class WrongValue(Failed):
    """A method of the provider returned a value that is not of the documented type."""


def to_error(error: BaseException, name: str, log: Callable[[str], None]) -> Error:
    """Converts an exception to an error of the contract. Unknown exceptions become `Failed`, with their traceback in
    the log."""
    match error:
        case WrongValue():
            log(str(error))
            return error
        case Error():
            return error
        case FileNotFoundError() | NotADirectoryError():
            return NotFound()
        case PermissionError():
            return Denied(str(error))
        case TimeoutError() | InterruptedError() | BlockingIOError():
            return Unavailable(str(error))
        case _:
            log(f"uncaught exception in {name}:\n" + "".join(traceback.format_exception(error)))
            return Failed(": ".join(filter(None, [type(error).__name__, message(error)])) + raised_at(error))


def message(error: BaseException) -> str:
    """The message of an exception, which can be of any type."""
    try:
        return str(error)
    except Exception:
        return "<its message cannot be shown>"
