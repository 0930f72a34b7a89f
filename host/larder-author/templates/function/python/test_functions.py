"""Tests the functions, then builds the component and tests it with `larder call`.

`python test_functions.py Functions` tests only the functions, which needs neither a component nor `larder`."""

import os
import shutil
import subprocess
import tempfile
import tomllib
import unittest
from pathlib import Path

import functions

HERE = Path(__file__).parent
# The build commands and the component.
PROJECT = tomllib.loads((HERE / "larder-dev.toml").read_text())
LARDER = os.environ.get("LARDER", "larder")


class Functions(unittest.TestCase):
    def test_greet(self):
        self.assertEqual(functions.greet("Ada"), "Hello, Ada!")
        self.assertEqual(functions.greet("Ada", "fr"), "Bonjour, Ada!")
        self.assertRaises(ValueError, functions.greet, "Ada", "xx")

    def test_describe(self):
        self.assertEqual(functions.describe([1, 2, 6]), (3, 3))
        self.assertRaises(ValueError, functions.describe, [])


class Component(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        for words in PROJECT["build"]:
            words = [LARDER if word == "larder" else word for word in words]
            subprocess.run(words, cwd=HERE, check=True)
        (cls.folder / "plugins").mkdir()
        shutil.copy(HERE / PROJECT["component"], cls.folder / "plugins")
        (cls.folder / "larder.toml").write_text("[provider.@NAME@]\ntools = true\n")

    def run_larder(self, *words):
        """Returns the output of a client command, or None if the tool reports an error."""
        server = ["--plugins", self.folder / "plugins", "--config", self.folder / "larder.toml"]
        ran = subprocess.run([LARDER, *words, *server], stdout=subprocess.PIPE, text=True)
        return ran.stdout if ran.returncode == 0 else None

    def test_functions_are_tools(self):
        tools = self.run_larder("tools")
        self.assertIn("greet", tools)
        self.assertIn("describe", tools)
        greeting = self.run_larder("call", "greet", "--arg", "name=Ada", "--arg", "language=de")
        self.assertEqual(greeting.strip(), "Hallo, Ada!")
        self.assertIsNone(self.run_larder("call", "greet", "--arg", "name=Ada", "--arg", "language=xx"))
        self.assertIn('"mean"', self.run_larder("call", "describe", "--arg", "numbers=[1,2,6]"))


if __name__ == "__main__":
    unittest.main()
