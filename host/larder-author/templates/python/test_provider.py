"""Builds the component and tests it with `larder read`."""

import os
import shutil
import subprocess
import tempfile
import tomllib
import unittest
from pathlib import Path

HERE = Path(__file__).parent
# The build commands and the component.
PROJECT = tomllib.loads((HERE / "larder-dev.toml").read_text())


class Greetings(unittest.TestCase):
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
