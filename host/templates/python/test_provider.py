"""Builds the component and asks it as its users will: through `larder read`."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).parent
BUILD = "componentize-py -w provider componentize app -o".split()


class Greetings(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.plugins = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.plugins.cleanup)
        subprocess.run([*BUILD, f"{cls.plugins.name}/@NAME@.wasm"], cwd=HERE, check=True)

    def read(self, uri):
        """What a URI holds; None if nobody has it."""
        larder = os.environ.get("LARDER", "larder")
        words = [larder, "read", uri, "--plugins", self.plugins.name]
        ran = subprocess.run(words, stdout=subprocess.PIPE, text=True)
        return ran.stdout if ran.returncode == 0 else None

    def test_it_greets(self):
        self.assertEqual(self.read("@NAME@://hello"), "Hello, world!\n")
        self.assertEqual(self.read("@NAME@://hello/Ada"), "Hello, Ada!\n")
        self.assertIsNone(self.read("@NAME@://nothing"))


if __name__ == "__main__":
    unittest.main()
