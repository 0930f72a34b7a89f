"""Checks of `feeds`. The web server serves the feeds in `folder/www`."""

import asyncio
import re
import time

from provider_session import replace, run

ENTRY = "feeds://{feed}/{entry}"
# The number of entries of each feed.
COUNTS = {"news": 2, "moved": 2, "notes": 1, "podcast": 1, "bomb": 0, "gone": 0, "slow": 0}
# Feeds in other encodings than UTF-8, and their titles. One of an unknown encoding takes away only itself.
TITLES = {"greek": "Νέα της Αθήνας", "western": "“Café” – 10 €", "chinese": "中文新聞", "japanese": "日本語のソース"}
COUNTS |= {"unknown": 0, **dict.fromkeys(TITLES, 1)}


def slugs(uris, feed):
    return [uri for uri in uris if uri.startswith(f"feeds://{feed}/")]


async def loaded(session):
    """Waits until the component is compiled, which takes longer than the server waits before it accepts requests, and
    until no feed was too slow."""
    deadline = time.monotonic() + 300
    while len(await session.uris()) < len(COUNTS) + sum(COUNTS.values()):
        assert time.monotonic() < deadline, "the feeds were not loaded"
        await asyncio.sleep(0.5)


async def resources(session):
    uris = await session.uris()
    session.check("the entries of all feeds", {feed: len(slugs(uris, feed)) for feed in COUNTS}, COUNTS)
    session.check("the templates", await session.templates(), sorted([ENTRY, "feeds://{feed}"]))
    feed = await session.text("feeds://news")
    session.check("a feed", re.search(r"- \[A long way\]\(feeds://news/\w+\) \(1994-11-06\)", feed) is not None)
    texts = [await session.text(uri) for uri in slugs(uris, "news")]
    [text] = [text for text in texts if "A long way" in text]
    session.check("an entry of RSS", text.endswith("The **first** step.\n"))
    session.check("an entry of Atom", "Remember the milk." in await session.text(slugs(uris, "notes")[0]))
    session.check("an entry of JSON Feed", "With a guest." in await session.text(slugs(uris, "podcast")[0]))
    session.check("completion of feeds", await session.complete(ENTRY, "feed", "n"), ["news", "notes"])
    slug = slugs(uris, "notes")[0].rpartition("/")[2]
    session.check("completion of entries", await session.complete(ENTRY, "entry", slug[:4], feed="notes"), [slug])
    for feed, title in TITLES.items():
        session.check(f"the title of {feed}", (await session.text(f"feeds://{feed}")).startswith(f"# {title}\n"))
        found = await session.search(title.split()[0])
        session.check(f"search in {feed}", found is None or found == slugs(uris, feed))
    found = await session.search("milk")
    session.check("search", found is None or found == slugs(uris, "notes"))


async def refusals(session):
    await session.not_found("feeds://other")
    await session.not_found("feeds://news/nothing")
    await session.not_found("feeds://gone")
    await session.refused("feeds://bomb", "declares entities")
    await session.refused("feeds://unknown", "encoding `x-unknown` is not known")
    await session.refused("feeds://slow", "did not respond in time")
    await session.refused("feeds://..%2Fx", "")


async def changes(session, folder):
    file = folder / "www/news.xml"
    async with session.watching("feeds://news") as notifications:
        title = session.unique("The news")
        replace(file, re.sub("<title>[^<]*news</title>", f"<title>{title}</title>", file.read_text()))
        await notifications.updated("feeds://news")
    session.check("the new title", (await session.text("feeds://news")).startswith(f"# {title}\n"))


async def checks(session, folder):
    await loaded(session)
    await resources(session)
    await refusals(session)
    await changes(session, folder)


run(checks)
