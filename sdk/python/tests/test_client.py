"""Native tests of the functions for the client, with bindings like those of a component."""

import contextlib
import io
import unittest
from enum import Enum
from types import SimpleNamespace
from unittest.mock import patch

from larder_provider import client, client_log_level, client_supports, log_to_client, prompts_changed, tools_changed

Severity = Enum("Severity", ["DEBUG", "WARNING"])


class Client(unittest.TestCase):
    def test_calls_reach_the_host(self):
        calls = []
        bindings = SimpleNamespace(
            Severity=Severity,
            client_supports=lambda capability: capability == "/elicitation",
            client_log_level=lambda: Severity.WARNING,
            log_to_client=lambda *arguments: calls.append(arguments),
            tools_changed=lambda: calls.append("tools"),
            prompts_changed=lambda: calls.append("prompts"),
        )
        with patch.object(client, "_client", bindings):
            self.assertEqual((client_supports("/elicitation"), client_supports("/roots")), (True, False))
            self.assertEqual(client_log_level(), "warning")
            log_to_client("debug", {"caf\udce9": "é"}, "me")
            tools_changed()
            prompts_changed()
        self.assertEqual(calls, [(Severity.DEBUG, "me", '{"caf?": "é"}'), "tools", "prompts"])

    def test_there_may_be_no_client(self):
        with contextlib.redirect_stderr(io.StringIO()) as printed:
            log_to_client("info", "x")
        self.assertEqual(printed.getvalue(), 'INFO to the client: "x"\n')
        self.assertEqual((client_supports("/roots"), client_log_level()), (False, None))
        tools_changed()
        prompts_changed()


if __name__ == "__main__":
    unittest.main()
