"""Native tests of the tools, the prompt and the search of the example `changelog-python`, with its sample."""

import sys
import unittest
from pathlib import Path
from unittest.mock import patch

from larder_provider import ArgumentQuery, Invalid, NeedsInput, NotFound, PromptRequest, SearchQuery, ToolCall, ToolError, answers
from larder_provider.check import call

EXAMPLE = Path(__file__).parents[3] / "examples/changelog-python"


class Example(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with patch.object(sys, "path", [str(EXAMPLE), *sys.path]), patch.object(sys, "dont_write_bytecode", True):
            import provider
        cls.module = provider
        cls.enterClassContext(patch.object(provider, "info"))

    def tool(self, name, **arguments):
        return call(self.module.Changelog(), "call_tool", ToolCall(name, arguments))

    def test_releases_are_compared(self):
        result = self.tool("compare_releases", **{"from": "0.2.0", "to": "Unreleased"})
        self.assertEqual(result.content[0].text, "Unreleased Added: A provider in each language.")
        change = {"version": "Unreleased", "kind": "Added", "item": "A provider in each language."}
        self.assertEqual(result.structured, {"changes": [change]})
        result = self.tool("compare_releases", **{"from": "0.1.0", "to": "Unreleased"})
        self.assertEqual([change["version"] for change in result.structured["changes"]], ["Unreleased"] + ["0.2.0"] * 3)
        result = self.tool("compare_releases", **{"from": "0.2.0", "to": "0.2.0"})
        self.assertEqual((result.content[0].text, result.structured), ("Nothing changed.", {"changes": []}))
        message = "^There is no release `9`. Known releases: Unreleased, 0.2.0, 0.1.0.$"
        self.assertRaisesRegex(ToolError, message, self.tool, "compare_releases", **{"from": "0.1.0", "to": "9"})

    def test_a_release_is_drafted(self):
        with self.assertRaises(NeedsInput) as raised:
            self.tool("draft_release")
        state = raised.exception.state
        self.assertEqual(state, b"0f1eb69b")
        accepted = {"version": {"action": "accept", "content": {"version": "1.0.0"}}}
        for response, text in [
            (accepted, "## [1.0.0]\n\n### Added\n\n- A provider in each language.\n"),
            ({"version": {"action": "cancel"}}, "No release was drafted."),
        ]:
            with answers(response, state):
                self.assertEqual(self.tool("draft_release").content[0].text, text)
        with answers(accepted, b"other"):
            self.assertRaisesRegex(ToolError, "^The changelog has changed: draft again.$", self.tool, "draft_release")
        with patch.object(self.module, "SAMPLE", ""):
            self.assertRaisesRegex(ToolError, "^There is nothing to release.$", self.tool, "draft_release")

    def test_a_release_is_announced(self):
        provider = self.module.Changelog()
        request = PromptRequest("announce_release", {"version": "0.2.0", "tone": "friendly"})
        result = call(provider, "get_prompt", request)
        text, release = [message.content for message in result.messages]
        begin = "Write an announcement of release 0.2.0 for its users, in a friendly tone."
        self.assertEqual(text.text, f"{begin} Name the most important change first.")
        self.assertEqual((release.content.uri, release.content.mime_type), ("changelog://releases/0.2.0", "text/markdown"))
        self.assertEqual(result.description, "Announcement of release 0.2.0")
        self.assertRaisesRegex(Invalid, "^there is no release `9`$", provider.announce_release, "9")

    def test_arguments_are_completed(self):
        for argument, prefix, values in [("version", "0.", ["0.2.0", "0.1.0"]), ("tone", "fr", ["friendly"])]:
            query = ArgumentQuery("announce_release", argument, prefix)
            self.assertEqual(call(self.module.Changelog(), "complete_argument", query).values, values)
        other = ArgumentQuery("announce_release", "other")
        self.assertRaises(NotFound, call, self.module.Changelog(), "complete_argument", other)

    def test_releases_are_found(self):
        def found(text, limit=10):
            hits = call(self.module.Changelog(), "search", SearchQuery(text, limit)).hits
            return [(hit.entry.name, hit.excerpt) for hit in hits]

        self.assertEqual(found("COMPLETION"), [("0.2.0", "- Completion of versions.")])
        self.assertEqual(len(found("e", 2)), 2)
        self.assertEqual(found("nothing"), [])


if __name__ == "__main__":
    unittest.main()
