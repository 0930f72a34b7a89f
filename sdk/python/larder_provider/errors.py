"""Answers other than success: raise one. The text reaches the caller, so say what can be done."""

import traceback
from typing import Callable


class Error(Exception):
    """What all of them are."""


class NotFound(Error):
    """The URI names nothing here. Another provider may still know it."""


class NotModified(Error):
    """The version that the caller holds is still the current one."""


class Invalid(Error):
    """The question makes no sense: a bad value, a bad cursor."""


class Denied(Error):
    """This caller may not, or this provider was not granted what it would need."""


class Unavailable(Error):
    """Worth another try later."""


class Failed(Error):
    """Everything else."""


def explained(error: Exception, name: str, log: Callable[[str], None]) -> Error:
    """What an exception means in the contract. One that means nothing there is a failure, and its traceback goes
    to the log."""
    match error:
        case Error():
            return error
        case FileNotFoundError() | NotADirectoryError():
            return NotFound()
        case PermissionError():
            return Denied(str(error))
        case TimeoutError() | InterruptedError() | BlockingIOError():
            return Unavailable(str(error))
        case _:
            log(f"uncaught in {name}:\n" + "".join(traceback.format_exception(error)))
            return Failed(": ".join(filter(None, [type(error).__name__, str(error)])))
