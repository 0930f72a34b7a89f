"""Finds the author's code that a message refers to."""

import os
import re
import traceback

_SDK = os.path.dirname(__file__) + os.sep
# The file of a frozen module, such as `os`, is not in the folder of the standard library in a component.
_STANDARD_LIBRARY = os.path.dirname(traceback.__file__) + os.sep
# The bindings of componentize-py.
_BINDINGS = "/world/"


def raised_at(error: BaseException) -> str:
    """Where an exception was raised: ` (app.py:12)`, or an empty text if it is not known."""
    place = ""
    for frame, line in traceback.walk_tb(error.__traceback__):
        place = _format(frame.f_code.co_filename, line) or place
    return place


def defined_at(function) -> str:
    """Where a function is defined: ` (app.py:12)`, or an empty text if it is not known."""
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    code = getattr(function, "__code__", None)
    return _format(code.co_filename, code.co_firstlineno) if code else ""


def _format(file: str, line: int) -> str:
    if file.startswith(("<", _SDK, _STANDARD_LIBRARY, _BINDINGS)):
        return ""
    # componentize-py puts each folder of `-p` into a folder that is named by a number, and `larder dev` the program into
    # a folder of its own.
    return f" ({re.sub('^/([0-9]+|larder-dev)/', '', file)}:{line})"
