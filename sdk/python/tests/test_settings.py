"""Native tests of declared settings: their values, and the messages about mistakes."""

import os
import unittest
from datetime import timedelta
from unittest.mock import patch

from larder_provider import Failed, Provider, Setting, Size, export
from larder_provider.settings import declared_settings


class Configured(Provider):
    name = Setting(str, "A name.")
    count = Setting(int, "How many.", default=3)
    ratio = Setting(float, "A ratio.", default=1)
    deep = Setting(bool, "Whether.", default=False)
    limit = Setting(Size, "How large.", default="64MiB", name="max_bytes")
    wait = Setting(timedelta, "How long.", default=timedelta(seconds=90))
    token = Setting(int, "A secret.", required=True, secret=True)


def value(name, text):
    with patch.dict(os.environ, {f"LARDER_SETTING_{name.upper().replace('-', '_')}": text}):
        return getattr(Configured(), "limit" if name == "max_bytes" else name)


class Settings(unittest.TestCase):
    def test_settings_are_declared_in_order(self):
        declared = [(each.name, each.kind, each.default_text) for each in declared_settings(Configured)]
        expected = [
            ("name", "text", None),
            ("count", "number", "3"),
            ("ratio", "number", "1.0"),
            ("deep", "boolean", "false"),
            ("max_bytes", "size", "64MiB"),
            ("wait", "duration", "90s"),
            ("token", "number", None),
        ]
        self.assertEqual(declared, expected)

    def test_values_have_the_declared_types(self):
        for name, text, expected in [
            ("name", "x", "x"),
            ("count", "-5", -5),
            ("ratio", "1e3", 1000.0),
            ("deep", "true", True),
            ("max_bytes", "512 KiB", 512 << 10),
            ("max_bytes", "1GB", 10**9),
            ("max_bytes", "7", 7),
            ("wait", "250ms", timedelta(milliseconds=250)),
            ("wait", "1m 30s", timedelta(seconds=90)),
            ("wait", "2hours", timedelta(hours=2)),
        ]:
            with self.subTest(text):
                self.assertEqual(value(name, text), expected)

    def test_absent_settings_have_the_default(self):
        found = Configured()
        self.assertEqual((found.name, found.count, found.ratio, found.deep), (None, 3, 1.0, False))
        self.assertEqual((found.limit, found.wait), (64 << 20, timedelta(seconds=90)))
        with self.assertRaises(Failed) as raised:
            found.token
        self.assertEqual(str(raised.exception), "the setting `token` is required")

    def test_tests_can_set_values(self):
        found = Configured()
        found.count = 9
        self.assertEqual(found.count, 9)

    def test_wrong_values_are_named(self):
        for name, text, expected in [
            ("count", "x", "a whole number, but is 'x'"),
            ("count", "1_0", "a whole number, but is '1_0'"),
            ("ratio", "inf", "a number, but is 'inf'"),
            ("deep", "yes", "true or false, but is 'yes'"),
            ("max_bytes", "1mb", "a size such as 64MiB, but is '1mb'"),
            ("wait", "5", "a duration such as 10s or 1m 30s, but is '5'"),
            ("wait", "5 parsecs", "a duration such as 10s or 1m 30s, but is '5 parsecs'"),
            # The value of a secret is not shown.
            ("token", "x", "a whole number"),
        ]:
            with self.subTest(text), self.assertRaises(Failed) as raised:
                value(name, text)
            self.assertEqual(str(raised.exception), f"the setting `{name}` must be {expected}")

    def test_defaults_are_written_as_in_the_configuration(self):
        for kind, default, text in [
            (str, "", ""),
            (float, 0.5, "0.5"),
            (bool, True, "true"),
            (Size, 1536, "1536B"),
            (Size, Size(2 << 30), "2GiB"),
            (Size, 0, "0B"),
            (timedelta, timedelta(), "0s"),
            (timedelta, timedelta(days=2), "2d"),
            (timedelta, timedelta(milliseconds=1500), "1500ms"),
        ]:
            self.assertEqual(Setting(kind, default=default).default_text, text)

    def test_wrong_declarations_are_rejected(self):
        kinds = "str, int, float, bool, Size or timedelta"
        for arguments, message in [
            ({"type": list}, f"the type of a setting must be {kinds}, but is the class list"),
            ({"type": int, "default": "5"}, "`default` of a setting must be a whole number, but is '5'"),
            ({"type": int, "default": True}, "`default` of a setting must be a whole number, but is True"),
            ({"type": bool, "default": 1}, "`default` of a setting must be true or false, but is 1"),
            ({"type": Size, "default": "big"}, "`default` of a setting must be a size such as 64MiB, but is 'big'"),
            ({"type": Size, "default": -1}, "`default` of a setting must be a size such as 64MiB, but is -1"),
            ({"type": float, "default": float("inf")}, "`default` of a setting must be a number, but is inf"),
            ({"type": timedelta, "default": timedelta(-1)}, "`default` of a setting must be a duration such as 10s or 1m 30s, but is a timedelta"),
            ({"type": str, "description": None}, "`description` of a setting must be a str, but is None"),
            ({"type": str, "secret": 1}, "`secret` of a setting must be a bool, but is 1"),
            ({"type": str, "name": 5}, "`name` of a setting must be a str, but is 5"),
            ({"type": str, "default": "a", "required": True}, "a setting cannot be required and have a default"),
        ]:
            with self.subTest(message), self.assertRaises(TypeError) as raised:
                Setting(**arguments)
            self.assertEqual(str(raised.exception), message)

    def test_two_settings_with_one_name_are_rejected(self):
        class Twice(Provider):
            a = Setting(str)
            b = Setting(str, name="a")

        with self.assertRaises(TypeError) as raised:
            export(Twice)
        self.assertEqual(str(raised.exception), "Twice has two settings with the name 'a'")
        export(Configured)


if __name__ == "__main__":
    unittest.main()
