"""Tests the functions of the provider, then builds the component and tests it with `larder read`.

`python test_provider.py Functions` tests only the functions, which takes less than a second and needs no `larder`."""

import os
import shutil
import subprocess
import tempfile
import tomllib
import unittest
from pathlib import Path

from larder_provider import Match, NotFound, Request

import app

HERE = Path(__file__).parent
# The build commands and the component.
PROJECT = tomllib.loads((HERE / "larder-dev.toml").read_text())


class Functions(unittest.TestCase):
    def read(self, uri, template=None, **values):
        """Calls the function as a server does, which also finds the template and the values of its variables."""
        matched = Match(template, list(values.items())) if template else None
        return app.Greetings().read(Request(uri, matched)).body

    def test_greetings(self):
        self.assertEqual(self.read("@NAME@://hello"), "Hello, world!\n")
        self.assertEqual(self.read("@NAME@://hello/Ada", "@NAME@://hello/{who}", who="Ada"), "Hello, Ada!\n")
        self.assertRaises(NotFound, self.read, "@NAME@://nothing")


class Component(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.plugins = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.plugins.cleanup)
        for words in PROJECT["build"]:
            subprocess.run(words, cwd=HERE, check=True)
        shutil.copy(HERE / PROJECT["component"], cls.plugins.name)

    def read(self, uri):
        """Returns the content of a URI, or None if it does not exist."""
        larder = os.environ.get("LARDER", "larder")
        words = [larder, "read", uri, "--plugins", self.plugins.name]
        ran = subprocess.run(words, stdout=subprocess.PIPE, text=True)
        return ran.stdout if ran.returncode == 0 else None

    def test_greetings(self):
        self.assertEqual(self.read("@NAME@://hello"), "Hello, world!\n")
        self.assertEqual(self.read("@NAME@://hello/Ada"), "Hello, Ada!\n")
        self.assertIsNone(self.read("@NAME@://nothing"))


if __name__ == "__main__":
    unittest.main()
