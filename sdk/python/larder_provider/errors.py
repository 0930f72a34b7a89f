"""Errors that a provider can raise. The caller sees the text, so it should say how to solve the problem."""

import os
import traceback
from typing import Callable

from . import host
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
            return _missing_file(error, name)
        case PermissionError():
            return Denied(str(error))
        case TimeoutError() | InterruptedError() | BlockingIOError():
            return Unavailable(str(error))
        case _:
            log(f"uncaught exception in {name}:\n" + "".join(traceback.format_exception(error)))
            return Failed(": ".join(filter(None, [type(error).__name__, message(error)])) + raised_at(error))


def _missing_file(error: OSError, name: str) -> Error:
    """In `read`, a file that does not exist is a resource that does not exist. Elsewhere, it is a failure."""
    is_granted = _is_in_granted_folder(error.filename)
    hint = "" if is_granted else "; no granted folder contains it"
    reason = f"{message(error)}{hint}{raised_at(error)}"
    if name != "read":
        return Failed(reason)
    log = host.debug if is_granted else host.warn
    log(f"read: not found, because of {type(error).__name__}: {reason}")
    return NotFound()


def _is_in_granted_folder(file) -> bool:
    """Whether a folder exists that contains this file. Folders that are not granted do not exist."""
    if not isinstance(file, str) or not os.path.isabs(file):
        return True
    folder = os.path.dirname(file)
    while not os.path.isdir(folder):
        if folder == os.path.dirname(folder):
            return False
        folder = os.path.dirname(folder)
    return True


def message(error: BaseException) -> str:
    """The message of an exception, which can be of any type."""
    try:
        return str(error)
    except Exception:
        return "<its message cannot be shown>"
