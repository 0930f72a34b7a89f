"""The provider `files`, with the folder of `xtask/src/providers/files.rs`."""

import base64

from provider_session import replace, run

TEMPLATE = "file:///docs/{+path}"


async def checks(session, folder):
    docs = folder / "docs"
    entries = {entry.uri.removeprefix("file:///docs/"): entry for entry in await session.list()}
    session.check("all files are listed", len([uri for uri in entries if uri.startswith("many/")]), 2500)
    others = sorted(uri for uri in entries if not uri.startswith(("many/", "auto-", "legacy-")))
    expected = ["guide/%C3%BCber%20uns.txt", "guide/first.txt", "image", "large.bin", "notes.md"]
    session.check("nothing else is listed", others, expected)
    session.check("a media type by content", entries["image"].mime_type, "image/png")
    session.check("a size", entries["notes.md"].size, 8)
    session.check("the templates", await session.templates(), [TEMPLATE])

    session.check("a file", await session.text("file:///docs/notes.md"), "# Notes\n")
    session.check("an encoded name", await session.text("file:///docs/guide/%C3%BCber%20uns.txt"), "Über uns\n")
    [image] = await session.contents("file:///docs/image")
    session.check("bytes", base64.b64decode(image.blob)[:4], b"\x89PNG")
    session.check("a folder", await session.text("file:///docs/guide/"), "über uns.txt\nfirst.txt\n")
    root = await session.text("file:///docs/")
    session.check("a name that is not UTF-8 is counted", "1 whose names are not UTF-8" in root)
    listed, next_uri = (await session.text("file:///docs/many/")).rsplit("\n… and 1500 more: ")
    session.check("the first names of a large folder", listed.split("\n")[-1], "0999.txt")
    session.check("the next names", (await session.text(next_uri.strip())).split("\n")[0], "1000.txt")

    session.check("a folder is suggested", await session.complete(TEMPLATE, "path", "gu"), ["guide/"])
    session.check("a file is suggested", await session.complete(TEMPLATE, "path", "guide/f"), ["guide/first.txt"])
    session.check("nothing is suggested", await session.complete(TEMPLATE, "path", "private/"), [])

    for hidden in [".hidden/secret.txt", ".gitignore", "build/output.txt", "draft.tmp", "private/key.pem", "none"]:
        await session.not_found(f"file:///docs/{hidden}")
    await session.refused("file:///docs/large.bin", "max_bytes", "64 KiB")
    await session.refused("file:///docs/link.txt", "out of the granted folder")
    await session.refused("file:///docs/guide/%2e%2e/notes.md", "..")
    await session.refused("file:///docs/guide%2Ffirst.txt", "%2F")

    name = session.unique("watched.txt")
    (docs / name).write_text("before")
    uri = f"file:///docs/{name}"
    session.check("a new file", await session.text(uri), "before")
    below = docs / session.unique("folder")
    below.mkdir()
    folder_uri = f"file:///docs/{below.name}/"
    async with session.watching(uri, folder_uri) as notifications:
        replace(docs / name, "after the change")
        await notifications.updated(uri)
        session.check("the changed file", await session.text(uri), "after the change")
        (below / "new.txt").write_text("new")
        await notifications.updated(folder_uri)
        session.check("the changed folder", await session.text(folder_uri), "new.txt\n")
    first = "file:///docs/guide/first.txt"
    await session.finds("a file is found by its name", "first", lambda found: first in found)
    await session.finds("and by its content", "STEPS", lambda found: found == [first])
    for hidden in ["secret", "generated", "draft", "key"]:
        found, _ = await session.search_once(hidden)
        session.check(f"what is not visible is not found: {hidden}", found, [])


run(checks)
