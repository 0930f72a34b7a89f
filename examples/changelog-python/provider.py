"""Provides the releases of a changelog (keepachangelog.com) as resources. The same provider exists in five languages."""

import os

from changelog import SAMPLE, Release, releases
from larder_provider import (
    Completion,
    Content,
    Description,
    Details,
    Entry,
    Failed,
    NotFound,
    Provider,
    Reading,
    Template,
    export,
    info,
    paginate,
    setting,
)

# The guest path of the granted folder: `dirs = [{ host = "docs", guest = "/changelog" }]`.
FOLDER = "/changelog"
RELEASES = "changelog://releases/"
RELEASE = "changelog://releases/{version}"
AS_JSON = "changelog://releases/{version}/json"


class Changelog(Provider):
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
        found = sorted(releases(load()), key=lambda release: release.version)
        return paginate(map(entry, found), query)

    # Lists the templates. The host matches URIs with them and passes on the variables.
    def templates(self, cursor):
        return [
            Template(RELEASE, "release", title="A release", mime_type="text/markdown"),
            Template(AS_JSON, "release-json", title="A release as JSON", mime_type="application/json"),
        ]

    # Reads a release. After a "not found" error, the host tries other providers.
    def read(self, request):
        version = request.var("version")
        release = next((release for release in releases(load()) if release.version == version), None)
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
        return Completion.matching([release.version for release in releases(load())], request.prefix)

    # Returns the current versions of resources with subscribers. Optional, but cheaper than reading them.
    def versions(self, uris):
        digests = {release.version: release.digest() for release in releases(load())}
        return [digests.get(uri.removeprefix(RELEASES).removesuffix("/json")) for uri in uris]


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


def load() -> str:
    """Loads the file in the granted folder, or the sample if no folder is granted. Other problems are returned as errors."""
    path = f"{FOLDER}/{setting('file', 'CHANGELOG.md')}"
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
