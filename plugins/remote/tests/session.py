"""Checks of `remote`. It is installed twice: for `server-everything`, a server in TypeScript with a handshake, and for
another Larder, which serves the folder with `files`."""

import base64
import hashlib
import json
import sys
import urllib.request

from provider_session import eventually, replace, run, variable

STATIC = "demo://resource/static/document/"
TEXT = "demo://resource/dynamic/text/{resourceId}"


async def legacy_server(session):
    entries = await session.uris(STATIC)
    session.check("the resources", f"{STATIC}features.md" in entries and len(entries) >= 5)
    templates = await session.templates()
    session.check("the templates", TEXT in templates)
    text = await session.text(f"{STATIC}features.md")
    session.check("a read", "Everything" in text)
    session.check("a template", (await session.text(TEXT.format(resourceId=1))).startswith("Resource 1:"))
    [blob] = await session.contents("demo://resource/dynamic/blob/1")
    session.check("bytes", hasattr(blob, "blob"))
    session.check("completion", await session.complete(TEXT, "resourceId", "7"), ["7"])
    await session.not_found(f"{STATIC}none.md")
    await session.finds("a search in the list", "features document", lambda found: f"{STATIC}features.md" in found)


async def tools_and_prompts(session):
    names = sorted(tool.name for tool in (await session.client.list_tools()).tools)
    granted = ["get-structured-content", "get-sum", "get-tiny-image"]
    session.check("only the granted tools", [name for name in names if name.startswith("get-")], granted)
    result = await session.client.call_tool("get-sum", {"a": 2, "b": 40})
    session.check("a tool", (result.is_error or False, result.content[0].text), (False, "The sum of 2 and 40 is 42."))
    result = await session.client.call_tool("get-structured-content", {"location": "Chicago"})
    session.check("a structured result", set(result.structured_content), {"temperature", "conditions", "humidity"})
    result = await session.client.call_tool("get-tiny-image", {})
    session.check("an image", any(block.type == "image" for block in result.content))
    prompts = {prompt.name: prompt for prompt in (await session.client.list_prompts()).prompts}
    session.check("the prompts", {"simple-prompt", "args-prompt"} <= set(prompts))
    prompt = await session.client.get_prompt("args-prompt", {"city": "Oslo"})
    session.check("a prompt", "Oslo" in prompt.messages[0].content.text)


async def modern_server(session, folder):
    many = await session.uris("file:///data/many/")
    session.check("all pages of the other server", len(many), 1500)
    session.check("a read through two servers", await session.text("file:///data/note.md"), "# Note\n")
    template = next(it for it in await session.templates() if it.startswith("file:///"))
    variable = template.split("{")[1].strip("}+*")
    suggested = await session.complete(template, variable, "no")
    session.check("completion through two servers", suggested, ["note.md"])
    await session.not_found("file:///data/none")
    await session.refused("file:///data/large.txt", "max_bytes")
    name = session.unique("watched.txt")
    (folder / "data" / name).write_text("before")
    uri = f"file:///data/{name}"
    session.check("a new file", await session.text(uri), "before")
    async with session.watching(uri) as notifications:
        replace(folder / "data" / name, "after")
        await notifications.updated(uri)
        session.check("the new content", await session.text(uri), "after")
    (folder / "data" / name).write_text(f"content {session.unique('pelargonium')}")
    label = "a search in contents through two servers"
    await session.finds(label, "pelargonium", lambda found: found[:1] != [] and found[0].startswith("file:///data/"))


def listed_skills(url):
    """The result of `skills/list`, which the Python SDK does not have."""
    meta = {f"io.modelcontextprotocol/{key}": value for key, value in [
        ("protocolVersion", "2026-07-28"), ("clientCapabilities", {}), ("clientInfo", {"name": "test", "version": "1"})]}
    body = {"jsonrpc": "2.0", "id": 1, "method": "skills/list", "params": {"_meta": meta}}
    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream",
               "mcp-protocol-version": "2026-07-28", "mcp-method": "skills/list"}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=30) as response:
        return json.load(response)["result"]["skills"]


async def skills(session, folder):
    """The skills of the other server have the same digests here, and each digest is that of the bytes that are read."""
    async def is_passed_on():
        here, there = listed_skills(sys.argv[1]), listed_skills(variable("LARDER_URL"))
        return here == there != []

    await eventually("the skill is passed on", is_passed_on)
    [skill] = listed_skills(sys.argv[1])
    session.check("the skill", skill["uri"], "file:///data/greet/SKILL.md")
    session.check("its files", len(skill["resources"]), 2)
    for file in skill["resources"]:
        [content] = await session.contents(file["uri"])
        data = content.text.encode() if hasattr(content, "text") else base64.b64decode(content.blob)
        session.check(f"the digest of {file['uri']}", "sha256:" + hashlib.sha256(data).hexdigest(), file["digest"])
    await skill_changes(folder / "data/greet")


async def skill_changes(skill):
    """What changes in a skill of the other server changes here."""
    def files_here():
        [found] = listed_skills(sys.argv[1])
        return {file["uri"].rsplit("/", 1)[-1]: file["digest"] for file in found["resources"]}

    async def has(name, text):
        return files_here().get(name) == "sha256:" + hashlib.sha256(text).hexdigest()

    for text in [b"one", b"two and more"]:
        (skill / "added.md").write_bytes(text)
        await eventually(f"the file with {text}", lambda: has("added.md", text))

    async def is_removed():
        return "added.md" not in files_here()

    (skill / "added.md").unlink()
    await eventually("the file is removed", is_removed)


async def checks(session, folder):
    await legacy_server(session)
    await tools_and_prompts(session)
    await modern_server(session, folder)
    await skills(session, folder)


run(checks)
