"""Provides the releases of a changelog (keepachangelog.com) as resources, with tools, a prompt and a search. The same
provider exists in seven languages."""

import os
import string
from dataclasses import dataclass
from typing import Annotated

from changelog import SAMPLE, Release, releases
from larder_provider import (
    Completion,
    Content,
    Description,
    Details,
    Embedded,
    Entry,
    Failed,
    Hit,
    Invalid,
    NotFound,
    PromptResult,
    Provider,
    Reading,
    Setting,
    Template,
    ToolError,
    ToolResult,
    ask,
    export,
    info,
    paginate,
    prompt,
    tool,
)

# The guest path of the granted folder: `dirs = [{ host = "docs", guest = "/changelog" }]`.
FOLDER = "/changelog"
RELEASES = "changelog://releases/"
RELEASE = "changelog://releases/{version}"
AS_JSON = "changelog://releases/{version}/json"
LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


@dataclass
class Change:
    version: str
    kind: str
    item: str


@dataclass
class Changes:
    changes: list[Change]


@dataclass
class NewVersion:
    version: Annotated[str, "Such as 1.2.0"]


class Changelog(Provider):
    # A setting of the operator. `larder check` knows its name and its type.
    file = Setting(str, "Name of the file in the folder that is granted as `/changelog`.", default="CHANGELOG.md")

    # Describes the provider for people and for the model.
    def describe(self):
        return Description(
            title="Changelog",
            version="0.1.0",
            summary="the releases of a changelog",
            instructions="Read a release before you say what it changed.",
        )

    # Lists the releases, sorted by URI. With a version, the host detects changes without a read.
    def list(self, query):
        found = sorted(self.releases(), key=lambda release: release.version)
        return paginate(map(entry, found), query)

    # Lists the templates. The host matches URIs with them and passes on the variables.
    def templates(self, cursor):
        return [
            Template(RELEASE, "release", title="A release", mime_type="text/markdown"),
            Template(AS_JSON, "release-json", title="A release as JSON", mime_type="application/json"),
        ]

    # Reads a release. After a "not found" error, the host tries other providers.
    def read(self, request):
        release = self.find(request.var("version"))
        if release is None:
            raise NotFound
        request.unless_known(release.digest())
        if request.template == AS_JSON:
            content = Content(release.json(), mime_type="application/json")
        else:
            content = Content(release.text, mime_type="text/markdown")
        return Reading(content, version=release.digest())

    # Suggests values for the variables of the templates.
    def complete(self, request):
        if request.variable != "version":
            raise NotFound
        return Completion.matching(self.versions_in_order(), request.prefix)

    # Returns the current versions of resources with subscribers. Optional, but cheaper than reading them.
    def versions(self, uris):
        digests = {release.version: release.digest() for release in self.releases()}
        return [digests.get(uri.removeprefix(RELEASES).removesuffix("/json")) for uri in uris]

    # Searches the texts of the releases. The host merges the results of all providers.
    def search(self, query):
        found = ((release, excerpt(release, query.text)) for release in self.releases())
        hits = [Hit(entry(release), line) for release, line in found if line is not None]
        return [hit for hit in hits if query.wants(hit.entry)][: query.limit]

    # A tool: the parameters, the docstring and the type of the result become its schemas. `from_` is `from` in JSON.
    @tool(title="Compare releases", read_only=True, idempotent=True, open_world=False)
    def compare_releases(
        self, from_: Annotated[str, "The older version."], to: Annotated[str, "The newer version."]
    ) -> ToolResult[Changes]:
        """Lists what changed after one release, up to and including another."""
        found = self.releases()
        versions = [release.version for release in found]
        for version in (from_, to):
            if version not in versions:
                raise ToolError(f"There is no release `{version}`. Known releases: {', '.join(versions)}.")
        newer = found[versions.index(to) : versions.index(from_)]
        changes = [change for release in newer for change in changes_in(release)]
        lines = [f"{change.version} {change.kind}: {change.item}" for change in changes]
        return ToolResult("\n".join(lines) or "Nothing changed.", Changes(changes))

    # A tool that asks the user. `ask` ends the call, and the host calls the tool again with the answer.
    @tool(title="Draft a release", read_only=True, idempotent=True, open_world=False)
    def draft_release(self) -> str:
        """Turns the unreleased changes into a release, after asking for its version."""
        release = self.find("Unreleased")
        if release is None:
            raise ToolError("There is nothing to release.")
        digest = release.digest().encode()
        answer = ask("version", "Which version is released?", NewVersion, state=digest)
        if not answer.accepted:
            return "No release was drafted."
        if answer.state != digest:
            raise ToolError("The changelog has changed: draft again.")
        _, changes = release.text.split("\n", 1)
        return f"## [{answer.content.version}]\n{changes}"

    # A prompt, which a user selects.
    @prompt(title="Announce a release")
    def announce_release(
        self,
        version: Annotated[str, "The version to announce."],
        tone: Annotated[str | None, "Such as friendly or formal."] = None,
    ):
        """Writes an announcement of a release."""
        release = self.find(version)
        if release is None:
            raise Invalid(f"there is no release `{version}`")
        manner = f", in a {tone} tone" if tone else ""
        text = f"Write an announcement of release {version} for its users{manner}. Name the most important change first."
        content = Content(release.text, mime_type="text/markdown", uri=RELEASES + version)
        return PromptResult([text, Embedded(content)], description=f"Announcement of release {version}")

    # The values that are suggested for an argument: those that begin with the text that was typed.
    @announce_release.complete("version")
    def versions_in_order(self, query=None):
        return [release.version for release in self.releases()]

    @announce_release.complete("tone")
    def tones(self, query):
        return ["friendly", "formal"]

    def releases(self):
        return releases(load(self.file))

    def find(self, version: str) -> Release | None:
        return next((release for release in self.releases() if release.version == version), None)


def entry(release: Release) -> Entry:
    modified = release.date and f"{release.date}T00:00:00Z"
    return Entry(
        RELEASES + release.version,
        release.version,
        title=f"Release {release.version}",
        mime_type="text/markdown",
        size=len(release.text.encode()),
        version=release.digest(),
        details=Details(kind="release", last_modified=modified),
    )


def changes_in(release: Release) -> list[Change]:
    return [Change(release.version, each["kind"], item) for each in release.changes() for item in each["items"]]


def excerpt(release: Release, text: str) -> str | None:
    """The first line that contains a text. Only ASCII letters are compared without regard to case."""
    wanted = text.translate(LOWER)
    return next((line.strip() for line in release.text.split("\n") if wanted in line.translate(LOWER)), None)


def load(name: str) -> str:
    """Loads this file in the granted folder, or the sample if no folder is granted. Other problems are returned as errors."""
    path = f"{FOLDER}/{name}"
    if not os.path.exists(FOLDER):
        info(f"{FOLDER} is not granted: showing the sample")
        return SAMPLE
    try:
        with open(path, "rb") as file:
            return file.read().decode()
    except OSError as error:
        raise Failed(f"cannot read {path}: {error}") from error
    except UnicodeDecodeError as error:
        raise Failed(f"{path} is not UTF-8") from error


export(Changelog)
