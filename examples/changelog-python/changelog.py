"""Parses a changelog. This file does not depend on Larder."""

import json
import re
from dataclasses import dataclass

# Used if no folder is granted.
SAMPLE = """\
# Changelog

## [Unreleased]

### Added

- A provider in each language.

## [0.2.0] - 2026-06-30

### Added

- Completion of versions.
- Each release as JSON,
  for programs.

### Fixed

- A release without a date is no longer left out.

## [0.1.0] - 2026-05-12

### Added

- The releases of a changelog, as resources.

[0.2.0]: https://example.org/changelog/compare/0.1.0...0.2.0
"""

# Matches `[1.0.0] - 2026-05-12` or `1.0.0`. The version must not need percent-encoding in a URI.
TITLE = re.compile(r"(?:\[([A-Za-z0-9._~-]+)\]|([A-Za-z0-9._~-]+)(?= |$))[ -]*(\d{4}-\d\d-\d\d(?= |$))?", re.ASCII)


@dataclass
class Release:
    version: str
    date: str | None
    text: str = ""

    def changes(self) -> list[dict]:
        """The kind and the items of each list below a `### ` line."""
        changes = []
        for line in self.text.splitlines():
            if line.startswith("### "):
                changes.append({"kind": line[4:].strip(), "items": []})
            elif changes and line.startswith("- "):
                changes[-1]["items"].append(line[2:].strip())
            elif changes and changes[-1]["items"] and line.startswith("  "):
                # An indented line continues the item above.
                changes[-1]["items"][-1] += " " + line.strip()
        return changes

    def json(self) -> str:
        """Formats version, date and changes as JSON."""
        fields = {"version": self.version, "date": self.date, "changes": self.changes()}
        return json.dumps(fields, ensure_ascii=False)

    def digest(self) -> str:
        """A hash of the text (32-bit FNV-1a, which is short to implement in every language)."""
        digest = 0x811C9DC5
        for byte in self.text.encode():
            digest = (digest ^ byte) * 0x01000193 & 0xFFFFFFFF
        return f"{digest:08x}"


def releases(text: str) -> list[Release]:
    """Returns the releases in the order of the text. Each release extends from its `## ` line to the next one."""
    found: list[Release] = []
    inside = False
    for line in text.replace("\r\n", "\n").split("\n"):
        if line.startswith("## "):
            title = TITLE.match(line[3:].strip())
            version = title and (title[1] or title[2])
            inside = title is not None and all(old.version != version for old in found)
            if inside:
                found.append(Release(version, title[3]))
        elif line.startswith("[") and "]: " in line:
            # Link definitions are not part of a release.
            inside = False
        if inside:
            found[-1].text += line + "\n"
    for release in found:
        release.text = release.text.rstrip() + "\n"
    return found
