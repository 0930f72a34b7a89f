"""The provider `notes`, with the folder of `xtask/src/providers/notes.rs`."""

from provider_session import run

PAGE = "notes:///{+page}{?section}"


async def checks(session, folder):
    entries = {entry.uri: entry for entry in await session.list()}
    expected = {"notes:///garden/plan", "notes:///garden/roses", "notes:///index", "notes:///large", "notes://tags"}
    session.check("the notes are listed", expected <= set(entries) and not any(".hidden" in uri for uri in entries))
    session.check("many notes are listed", len([uri for uri in entries if uri.startswith("notes:///many/")]), 250)
    index = entries["notes:///index"]
    session.check("the front matter", (index.title, index.description), ("Start", "where to begin"))
    session.check("the priority", index.annotations.priority, 0.9)
    templates = [PAGE, "notes://backlinks/{+page}", "notes://links/{+page}", "notes://tags/{+tag}"]
    session.check("the templates", await session.templates(), templates)

    text = (folder / "garden/plan.md").read_text()
    session.check("a note", await session.text("notes:///garden/plan"), text)
    section = await session.text("notes:///garden/plan?section=spring")
    session.check("a section", section, "## Spring\n\nPlant roses.\n\n")
    links = await session.text("notes://links/index")
    session.check("links", "(notes:///garden/plan)" in links and "lost (there is no such note)" in links)
    session.check("backlinks", "(notes:///garden/roses)" in await session.text("notes://backlinks/index"))
    session.check("tags", "[idea](notes://tags/idea) (1)" in await session.text("notes://tags"))
    session.check("a tag", "(notes:///garden/plan)" in await session.text("notes://tags/idea"))

    session.check("paths are suggested", await session.complete(PAGE, "page", "garden/"), ["garden/plan", "garden/roses"])
    session.check("sections are suggested", await session.complete(PAGE, "section", "s", page="garden/plan"), ["spring"])
    session.check("tags are suggested", await session.complete("notes://tags/{+tag}", "tag", "id"), ["idea"])

    for missing in ["notes:///none", "notes:///.hidden", "notes:///index?section=none", "notes://tags/none", "notes://x/y"]:
        await session.not_found(missing)
    await session.refused("notes:///large", "max_bytes", "64 KiB")
    await session.refused("notes:///garden/../index", "..")

    name = session.unique("watched")
    uri = f"notes:///{name}"
    (folder / f"{name}.md").write_text("# One\n\nbefore\n\n# Two\n\nlast\n")
    session.check("a new note", await session.text(f"{uri}?section=one"), "# One\n\nbefore\n\n")
    async with session.watching(uri, f"{uri}?section=one", "notes://backlinks/index") as notifications:
        (folder / f"{name}.md").write_text("# One\n\nafter the [[index]]\n\n# Two\n\nlast\n")
        await notifications.updated(uri)
        await notifications.updated(f"{uri}?section=one")
        await notifications.updated("notes://backlinks/index")
        session.check("the changed backlinks", f"({uri})" in await session.text("notes://backlinks/index"))
    (folder / f"{name}.md").unlink()
    found = await session.search("roses")
    session.check("search", found is None or found[:1] == ["notes:///garden/roses"])
    session.check("search in the text", found is None or "notes:///garden/plan" in found)


run(checks)
