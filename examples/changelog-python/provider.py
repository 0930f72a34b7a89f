"""The releases of a changelog (keepachangelog.com), as resources: one of the same five providers,
each in another language."""

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

# Where the operator grants a folder: `dirs = [{ host = "docs", guest = "/changelog" }]`.
FOLDER = "/changelog"
RELEASES = "changelog://releases/"
RELEASE = "changelog://releases/{version}"
AS_JSON = "changelog://releases/{version}/json"


class Changelog(Provider):
    # What it is, for people and for the model.
    def describe(self):
        return Description(
            title="Changelog",
            version="0.1.0",
            summary="the releases of a changelog",
            instructions="Read a release before you say what it changed.",
        )

    # What there is, sorted by URI. A version lets the host see what differs without reading it.
    def list(self, query):
        found = sorted(releases(load()), key=lambda release: release.version)
        return paginate(map(entry, found), query)

    # Families of resources. The host matches URIs with them, and hands over the variables.
    def templates(self, cursor):
        return [
            Template(RELEASE, "release", title="A release", mime_type="text/markdown"),
            Template(AS_JSON, "release-json", title="A release as JSON", mime_type="application/json"),
        ]

    # What a URI holds. Not found lets another provider try.
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

    # Suggestions for the variables of the templates.
    def complete(self, request):
        if request.variable != "version":
            raise NotFound
        return Completion.matching([release.version for release in releases(load())], request.prefix)

    # What is current of what somebody watches. Reading would do, but this is cheaper.
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
    """The file in the granted folder, or the sample. Any other trouble is an error, told to whoever asked."""
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
