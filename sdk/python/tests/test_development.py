"""Native tests of the component of `larder dev`, each in a process of its own: a program cannot be loaded twice."""

import subprocess
import sys
import tempfile
import textwrap
import unittest
from pathlib import Path

HERE = Path(__file__).parent

# Imports the component as componentize-py does, and calls it as the server does.
RUN = """
import sys
from abc import abstractmethod
from types import SimpleNamespace
from typing import Protocol

from test_guest import bindings, module

class ResourceProvider(Protocol):
    @abstractmethod
    def describe(self): ...
    @abstractmethod
    def list_resources(self, query): ...

modules = bindings(False)
vars(modules["wit_world.exports"])["ResourceProvider"] = ResourceProvider
logged = []
modules["componentize_py_runtime"] = module("componentize_py_runtime", call_import=lambda *_: "called")
sys.modules.update(modules)

from larder_provider import development, host
host._log = lambda level, text: logged.append(text)
development.PROGRAM = sys.argv[2]
sys.path.insert(0, sys.argv[1])
import component
guest = component.ResourceProvider()
print(guest.describe())
try:
    print(guest.list_resources("query"))
except modules["componentize_py_types"].Err as error:
    print(error.value.value)
print(*logged, sep="", end="")
"""

MAIN = """
import helper
class ResourceProvider:
    def describe(self):
        return helper.NAME
    def list_resources(self, query):
        return query
"""


class Development(unittest.TestCase):
    def run_program(self, **changed):
        """Builds the component from a project, changes the files, and returns the output of a guest."""
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as program:
            built = {"component": "from larder_provider.development import load_at_start\nload_at_start('main')"}
            for name, text in (built | {"main": MAIN, "helper": "NAME = 'built'"}).items():
                Path(folder, f"{name}.py").write_text(textwrap.dedent(text))
            for name, text in ({"main": MAIN, "helper": "NAME = 'saved'"} | changed).items():
                if text is not None:
                    Path(program, f"{name}.py").write_text(textwrap.dedent(text))
            words = [sys.executable, "-B", "-c", RUN, folder, program]
            path = {"PYTHONPATH": f"{HERE}:{HERE.parent}"}
            ran = subprocess.run(words, env=path, stdout=subprocess.PIPE, text=True, check=True)
            return ran.stdout.replace(program, "PROGRAM")

    def test_a_guest_loads_the_program(self):
        self.assertEqual(self.run_program(), "saved\nquery\n")

    def test_a_program_that_fails(self):
        output = self.run_program(helper="NAME = 'saved'\n1 / 0")
        problem = "ZeroDivisionError: division by zero (PROGRAM/helper.py:2)"
        self.assertIn(f"problem or summary={problem!r}", output.replace("summary", "problem or summary"))
        self.assertIn(f"\n{problem}\n", output)
        # Once, by the function that returns the error.
        self.assertEqual(output.count("cannot load main:\n"), 1)

    def test_the_top_of_a_module_cannot_call_the_host(self):
        call = "import componentize_py_runtime\nNAME = componentize_py_runtime.call_import(0, [])"
        self.assertIn("RuntimeError: the top level of a module cannot call the host", self.run_program(helper=call))

    def test_a_program_that_imports_something_new(self):
        incomplete = "the development component has to be built again, because it does not contain `unknown_module`"
        output = self.run_program(helper="import unknown_module")
        self.assertIn(f"No module named 'unknown_module' (PROGRAM/helper.py:1); {incomplete}", output)
        # The program catches the error, and would behave differently.
        caught = "NAME = 'saved'\ntry:\n    import unknown_module\nexcept ImportError:\n    pass"
        self.assertIn(incomplete, self.run_program(helper=caught))

    def test_nothing_can_be_imported_or_read_later(self):
        late = "from pathlib import Path\nclass Late:\n    def __str__(self):\n        {}\nNAME = Late()"
        for action in ["import other", "return Path(__file__).read_text()"]:
            guarded = f"try:\n            {action}\n        except OSError as error: return type(error).__name__\n"
            guarded += "        except ImportError as error: return type(error).__name__"
            output = self.run_program(helper=late.format(guarded), other="")
            self.assertRegex(output, "^(ModuleNotFoundError|FileNotFoundError)\nquery\n$")

    def test_a_program_without_export(self):
        output = self.run_program(main="import helper")
        self.assertIn("main has no ResourceProvider: call `export` with a class that extends Provider", output)


if __name__ == "__main__":
    unittest.main()
