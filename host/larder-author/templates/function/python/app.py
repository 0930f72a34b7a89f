"""@NAME@: the functions of `wit/world.wit`, which call those of `functions.py`.

All imports must be at the top of the file: they run when the component is built.
"""

from componentize_py_types import Err
from wit_world import Statistics, WitWorld as World

import functions


class WitWorld(World):
    def greet(self, name, language):
        return checked(functions.greet, name, language)

    def describe(self, numbers):
        count, mean = checked(functions.describe, numbers)
        return Statistics(count, mean)


def checked(function, *arguments):
    """Returns the text of an error as the result of the tool, so that a model can try again. Any other exception counts as
    a failure, and its traceback is logged."""
    try:
        return function(*arguments)
    except ValueError as error:
        raise Err(str(error))
