"""Checks of `http`. The web server serves the files of `folder/www`; see `plugins/testing/web_server.py`."""

import json
from urllib.parse import quote

from provider_session import replace, run, variable

IDS = range(1, 26)
LISTS = ["by-cursor", "by-link", "by-number"]
FILES = "records://files/"


async def lists(session):
    expected = ["records://status", *(f"records://{name}/{number}" for name in LISTS for number in IDS)]
    session.check("all pages of all lists", await session.uris(), sorted(expected))
    [entry] = [entry for entry in await session.list() if entry.uri == "records://by-cursor/7"]
    session.check("an item becomes an entry", (entry.title, entry.description), ("Record 7", "text"))
    templates = [*(f"records://{name}/{{id}}" for name in LISTS), FILES + "{+path}{?to,code}"]
    session.check("the templates", await session.templates(), sorted(templates))


async def reads(session, folder):
    session.check("a part of a response", await session.text("records://status"), "open")
    for name in LISTS:
        replace(folder / "www/7.json", '{"id": 7}')
        session.check(f"an item of {name}", json.loads(await session.text(f"records://{name}/7")), {"id": 7})
    session.check("a name with a space", await session.text(FILES + "a%20b.txt"), "a file with a space\n")
    [content] = await session.contents(FILES + "a%20b.txt")
    session.check("the type of the response", content.mime_type, "text/plain")
    echo = json.loads(await session.text(FILES + "deep/echo?to=" + quote("x&y=z#é", safe="")))
    session.check("values are encoded", echo["path"], "/deep/echo?to=x%26y%3Dz%23%C3%A9")
    headers = echo["headers"]
    sent = (headers["authorization"], headers["x-tenant"])
    session.check("the API receives the secret", sent, ("Bearer " + variable("TOKEN"), "seven"))


async def redirects(session):
    def address(to):
        return FILES + "redirect?to=" + quote(to, safe="")

    session.check("a redirect", await session.text(address("/a%20b.txt")), "a file with a space\n")
    echo = json.loads(await session.text(address(variable("ELSEWHERE") + "/echo")))
    headers = echo["headers"]
    session.check("another host receives no secret", "authorization" in headers or "x-tenant" in headers, False)
    await session.refused(address(variable("UNKNOWN") + "/echo"), "is not granted")
    await session.refused(address("file:///etc/passwd"), "invalid or insecure address")
    await session.refused(FILES + "loop", "more than 5 times")


async def errors(session):
    await session.not_found("records://by-cursor/404")
    await session.not_found("records://other")
    await session.refused(FILES + "status?code=401", "check the secrets")
    await session.refused(FILES + "status?code=422", "status 422")
    await session.refused(FILES + "status?code=503", "try again in 7 seconds")
    await session.refused(FILES + "slow", "did not respond in time")
    await session.refused(FILES + "huge", "larger than")
    for path in ["a/../../x", "%2e%2e/x", "a/%2E%2E%2Fx", "..%5Cx"]:
        await session.refused(FILES + path, "path")


async def checks(session, folder):
    replace(folder / "www/7.json", '{"id": 7}')
    await lists(session)
    await reads(session, folder)
    await redirects(session)
    await errors(session)
    session.check("completion", await session.complete("records://by-cursor/{id}", "id", "2"), ["2", *map(str, range(20, 26))])
    found = await session.search("rare words")
    session.check("search", found is None or "records://by-link/17" in found)
    for text, uri in [("Record 25", "records://by-cursor/25"), ("status", "records://status")]:
        found = await session.search(text)
        session.check(f"search of {text} without a search of the API", found is None or uri in found)
    async with session.watching("records://by-link/7") as notifications:
        replace(folder / "www/7.json", json.dumps({"id": session.unique("7")}))
        await notifications.updated("records://by-link/7")


run(checks)
