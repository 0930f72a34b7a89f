"""Checks of `openapi`. The document is `folder/www/api.yaml`, and the web server is its API."""

import asyncio
import json
import subprocess

from provider_session import run, variable

PREFIX = "openapi://shop/"
OPERATION, SCHEMA = PREFIX + "operations/{operation}", PREFIX + "schemas/{schema}"
OPERATIONS = ["change_pet", "elsewhere", "listPets", "patch_orders_id_echo", "removeOrder", "status", "uploadPet"]
REMOVES = "Removes an order."
FROM_URL = """
plugins = "plugins"
[provider.openapi]
hosts = [{{ host = "{web}", private = true }}]
settings = {{ document = "{web}/api.yaml", name = "other" }}
"""


async def resources(session):
    pages = ["", "document.json", *(f"operations/{name}" for name in OPERATIONS), "schemas/Kind", "schemas/Pet"]
    session.check("the list", await session.uris(), sorted(PREFIX + page for page in pages))
    templates = [OPERATION, OPERATION + "/json", SCHEMA, SCHEMA + "/json"]
    session.check("the templates", await session.templates(), sorted(templates))
    overview = await session.text(PREFIX)
    session.check("the overview", f"- [GET /numbered]({PREFIX}operations/listPets): Lists the pets" in overview)
    operation = await session.text(PREFIX + "operations/listPets")
    session.check("an operation", f"list of [Pet]({PREFIX}schemas/Pet)" in operation)
    as_json = json.loads(await session.text(PREFIX + "operations/change_pet/json"))
    session.check("an operation with its components", "/components/schemas/Pet" in as_json["components"])
    schema = await session.text(PREFIX + "schemas/Pet")
    session.check("a schema", "- `name` (string, required): What it is called." in schema)
    schema = json.loads(await session.text(PREFIX + "schemas/Kind/json"))
    session.check("a schema as JSON", schema["schema"]["enum"], ["cat", "dog"])
    document = json.loads(await session.text(PREFIX + "document.json"))
    session.check("the document", document["info"]["title"], "Pet shop")
    session.check("completion", await session.complete(OPERATION, "operation", "l"), ["listPets"])
    session.check("completion of schemas", await session.complete(SCHEMA, "schema", ""), ["Kind", "Pet"])
    found = await session.search("changes pet")
    session.check("search", found is None or found[0] == PREFIX + "operations/change_pet")
    for path in ["operations/gone", "schemas/gone", "nothing"]:
        await session.not_found(PREFIX + path)


async def listed_tools(session):
    """The tools, once the server has their list again: the previous session changed the documents, and a list that could
    not be read is read again after some seconds."""
    expected = ["change_pet", "listPets", "removeOrder", "status"]
    for _ in range(600):
        listed = {tool.name: tool for tool in (await session.client.list_tools()).tools}
        is_current = "removeOrder" in listed and listed["removeOrder"].description == REMOVES
        if is_current and sorted(set(listed) & {*OPERATIONS}) == expected:
            break
        await asyncio.sleep(0.1)
    session.check("the tools", sorted(set(listed) & {*OPERATIONS}), expected)
    return listed


async def tools(session):
    listed = await listed_tools(session)
    session.check("a tool that reads", listed["listPets"].annotations.read_only_hint)
    schema = listed["change_pet"].input_schema
    session.check("the arguments", sorted(schema["properties"]), ["X-Trace", "body", "id", "tags"])
    found = await session.client.call_tool("listPets", {"q": "Rex"})
    body = [{"id": 1, "name": "Rex"}]
    session.check("a result", (found.is_error, found.structured_content), (False, {"status": 200, "body": body}))
    arguments = {"id": "a/b", "tags": ["x", "y,z"], "X-Trace": "7", "body": {"name": "Rex"}}
    echo = await session.client.call_tool("change_pet", arguments)
    request = json.loads(echo.content[0].text)
    session.check("the path", request["path"], "/pets/a%2Fb/echo?tags=x,y%2Cz")
    session.check("the body", (request["method"], json.loads(request["body"])), ("POST", {"name": "Rex"}))
    headers = request["headers"]
    sent = (headers["authorization"], headers["x-trace"], headers["content-type"])
    session.check("the headers", sent, ("Bearer " + variable("TOKEN"), "7", "application/json"))
    failed = await session.client.call_tool("status", {"code": 422})
    session.check("an error of the API", failed.is_error and "an explanation" in failed.content[0].text)
    for arguments, part in [({**arguments, "id": "../admin"}, "`id`"), ({"id": "1"}, "body")]:
        refused = await session.client.call_tool("change_pet", arguments)
        session.check(f"refused: {part}", refused.is_error and part in refused.content[0].text)


async def other_files(session, folder):
    """Operations in other files of the folder, and of a file that is missing."""
    listed = {tool.name: tool for tool in (await session.client.list_tools()).tools}
    removes = listed["removeOrder"]
    session.check("the description of a tool in another file", removes.description, REMOVES)
    session.check("it is destructive", removes.annotations.destructive_hint)
    session.check("its arguments", removes.input_schema["required"], ["id", "body"])
    reason = removes.input_schema["$defs"]["reason"]
    session.check("its body", (reason["required"], sorted(reason["properties"])), (["why"], ["pet", "why"]))
    echo = await session.client.call_tool("removeOrder", {"id": "7", "body": {"why": "sold"}})
    request = json.loads(echo.content[0].text)
    session.check("a call of it", (request["method"], request["path"], json.loads(request["body"])), ("DELETE", "/orders/7/echo", {"why": "sold"}))
    page = await session.text(PREFIX + "operations/patch_orders_id_echo")
    session.check("an operation that cannot be followed", "No tool can call this operation: " in page and "`gone.yaml`" in page)
    file = folder / "www/orders.yaml"
    text = file.read_text()
    async with session.watching(PREFIX + "operations/removeOrder") as notifications:
        file.write_text(text.replace(REMOVES, session.unique(REMOVES)))
        await notifications.updated(PREFIX + "operations/removeOrder")
    file.write_text(text)


async def changes(session, document):
    text = document.read_text()
    async with session.watching(PREFIX) as notifications:
        document.write_text(text.replace("Sells pets.", session.unique("Sells pets.")))
        await notifications.updated(PREFIX)
    bomb = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12))
    for hostile, part in [
        ("openapi: 3.0.0\na0: &a0 [x]\n" + bomb, "not valid"),
        ("openapi: 3.0.0\nx: " + "[" * 10_000, "not valid"),
        ("swagger: '2.0'", "convert it to OpenAPI 3"),
        ("x" * 200_000, "larger than the limit of 100 KiB"),
    ]:
        document.write_text(hostile)
        await session.refused(PREFIX, part)
    document.write_text(text)


def from_url(session, folder):
    """The same document from a URL."""
    config = folder.parent / "from-url.toml"
    config.write_text(FROM_URL.format(web=variable("WEB")))
    command = [variable("LARDER"), "read", "openapi://other/schemas/Kind", "--in-process", "--config", config]
    read = subprocess.run(command, capture_output=True, text=True)
    session.check("a document from a URL", '"cat", "dog"' in read.stdout or read.stderr)


async def checks(session, folder):
    await resources(session)
    await tools(session)
    await other_files(session, folder)
    await changes(session, folder / "www/api.yaml")
    from_url(session, folder)


run(checks)
