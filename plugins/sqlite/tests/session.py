"""Checks of `sqlite`. The database is created and changed with the shell of SQLite."""

import json
import subprocess

from provider_session import run

TABLES = "sqlite://garden/tables/{table}{?format,limit,offset,after}"
ROWS = "sqlite://garden/tables/{table}/rows/{key}"
ANY_TABLE = "sqlite://garden/table{?table,format,limit,offset,after}"
ANY_ROW = "sqlite://garden/row{?table,key}"
PAGE = "ui://sqlite/garden/table.html"
SUMMARY = "sqlite://garden/queries/summary{?format}"
QUERY = "sqlite://garden/queries/by-colour{?colour,format}"

# What other programs leave in databases: a view of a table that is gone, a virtual table of a module that is missing, and
# a large value.
BROKEN = """DROP VIEW IF EXISTS broken;
CREATE VIEW broken AS SELECT * FROM gone;
CREATE TABLE IF NOT EXISTS large (id INTEGER PRIMARY KEY, data BLOB);
REPLACE INTO large VALUES (1, zeroblob(5000000)), (2, x'ff00');
PRAGMA writable_schema = ON;
DELETE FROM sqlite_schema WHERE name = 'vectors';
INSERT INTO sqlite_schema VALUES ('table', 'vectors', 'vectors', 0, 'CREATE VIRTUAL TABLE vectors USING vec0(a)');
"""


def sqlite(folder, sql):
    """Changes the database as another program would."""
    subprocess.run(["sqlite3", folder / "garden.db"], input=sql.encode(), check=True)


async def rows(session):
    schema = await session.text("sqlite://garden/schema")
    session.check("the schema", "CREATE TABLE plants" in schema and "CREATE VIEW tall" in schema)
    page = json.loads(await session.text("sqlite://garden/tables/plants"))
    session.check("the first rows", (len(page["rows"]), page["columns"]), (100, ["id", "name", "colour", "height"]))
    count, uri = 0, "sqlite://garden/tables/plants?limit=900"
    while uri:
        page = json.loads(await session.text(uri))
        count, uri = count + len(page["rows"]), page.get("next")
    session.check("all pages of a table", count, 3000)
    csv = await session.text("sqlite://garden/tables/plants?format=csv&limit=1")
    session.check("CSV", csv, "id,name,colour,height\n1,Rose 1,red,1.5\n")
    row = json.loads(await session.text("sqlite://garden/tables/plants/rows/7"))
    session.check("a row", row["name"], "Rose 7")
    tall = json.loads(await session.text("sqlite://garden/tables/tall?limit=3"))
    session.check("a view", len(tall["rows"]), 3)


async def broken(session):
    """What cannot be used is omitted, is named by a read, and takes away nothing else."""
    for name, why in [("broken", "no such table: main.gone"), ("vectors", "no such module: vec0")]:
        await session.refused(f"sqlite://garden/tables/{name}", f"`{name}` cannot be used: {why}")
    page = json.loads(await session.text("sqlite://garden/tables/large"))
    session.check("a large value is omitted", page["rows"][0], {"id": 1, "data": {"omittedBytes": 5_000_000}})
    session.check("the others are not", page["rows"][1], {"id": 2, "data": {"base64": "/wA="}})


async def names_with_slashes(session):
    """The host refuses an encoded slash in a path, so such names are in the query."""
    page = json.loads(await session.text("sqlite://garden/table?table=in%2Fout&limit=1"))
    session.check("a table whose name has a slash", page["rows"], [{"code": "a/b", "meaning": "Zinnia"}])
    page = json.loads(await session.text(page["next"]))
    session.check("its next rows", page["rows"], [{"code": "..", "meaning": "upwards"}])
    for word, key in [("Zinnia", "a%2Fb"), ("upwards", "..")]:
        uri = f"sqlite://garden/row?table=in%2Fout&key={key}"
        found = await session.search(word)
        session.check(f"{word} is found", found is None or found[0] == uri)
        session.check(f"{uri} can be read", json.loads(await session.text(uri))["meaning"], word)
    session.check("names with a slash are completed", await session.complete(ANY_TABLE, "table", "in"), ["in/out"])
    keys = await session.complete(ANY_ROW, "key", "a", table="in/out")
    session.check("keys with a slash are completed", keys, ["a/b"])
    session.check("they are not completed in a path", await session.complete(TABLES, "table", "in"), [])
    await session.refused("sqlite://garden/tables/in%2Fout", "encoded `/`")


async def tool(session):
    """The tool `query`, and the page with which clients show its rows."""
    [listed] = [tool for tool in (await session.client.list_tools()).tools if tool.name == "query"]
    session.check("the tool names its page", listed.meta["ui"], {"resourceUri": PAGE})
    session.check("it names the saved queries", "`by-colour`: The plants of a colour." in listed.description)
    arguments = {"name": "by-colour", "parameters": {"colour": "white"}}
    answer = await session.client.call_tool("query", arguments)
    lily = {"columns": ["name", "height"], "rows": [["Lily", 0.4]], "more": False}
    session.check("rows of a saved query", answer.structured_content, lily)
    answer = await session.client.call_tool("query", {"name": "in/out", "limit": 1})
    session.check("rows of a table", answer.structured_content["rows"], [["a/b", "Zinnia"]])
    session.check("there are more", answer.structured_content["more"])
    wrong = await session.client.call_tool("query", {"name": "none"})
    session.check("a wrong name", wrong.is_error and "no saved query, table or view `none`" in wrong.content[0].text)
    [page] = await session.contents(PAGE)
    session.check("the page", page.mime_type, "text/html;profile=mcp-app")
    session.check("it requests nothing", "ui" not in (page.meta or {}))


async def checks(session, folder):
    listed = ["queries/summary", "schema", "table?table=in%2Fout", "tables/plants", "tables/tall"]
    sqlite(folder, BROKEN)
    # A table that is new, or that of the previous run, may be in the list already.
    uris = [uri for uri in await session.uris() if not uri.endswith(("/news", "/large"))]
    session.check("the list", uris, [*(f"sqlite://garden/{path}" for path in listed), PAGE])
    session.check("the templates", await session.templates(), sorted([TABLES, ROWS, ANY_TABLE, ANY_ROW, QUERY, SUMMARY]))
    await rows(session)
    await names_with_slashes(session)
    await broken(session)
    await tool(session)

    found = json.loads(await session.text("sqlite://garden/queries/by-colour?colour=white"))
    session.check("a query with a parameter", [row["name"] for row in found["rows"]], ["Lily"])
    attack = json.loads(await session.text("sqlite://garden/queries/by-colour?colour=%27%20OR%201%20--"))
    session.check("a value is not SQL", attack["rows"], [])
    summary = json.loads(await session.text("sqlite://garden/queries/summary"))
    session.check("a query without parameters", {row["colour"] for row in summary["rows"]}, {"red", "white"})

    session.check("tables are completed", await session.complete(TABLES, "table", "pl"), ["plants"])
    session.check("formats are completed", await session.complete(TABLES, "format", "c", table="plants"), ["csv"])
    keys = await session.complete(ROWS, "key", "299", table="plants")
    session.check("keys are completed", keys, ["299", *(str(key) for key in range(2990, 3000))])

    for missing in ["schemas", "tables/none", "tables/plants/rows/9999", "tables/sqlite_schema", "queries/none"]:
        await session.not_found(f"sqlite://garden/{missing}")
    await session.refused("sqlite://garden/tables/plants?limit=many", "`limit` is not a number")
    await session.refused("sqlite://garden/tables/plants?format=xml", "json", "csv")
    await session.refused("sqlite://garden/tables/tall/rows/1", "no key")

    name = session.unique("Lilac")
    sqlite(folder, "CREATE TABLE IF NOT EXISTS news (id INTEGER PRIMARY KEY, text TEXT);")
    uri = "sqlite://garden/tables/news"
    session.check("a new table", "columns" in await session.text(uri))
    async with session.watching(uri) as notifications:
        sqlite(folder, f"INSERT INTO news (text) VALUES ('{name} blooms');")
        await notifications.updated(uri)
        session.check("the new row", f"{name} blooms" in await session.text(uri))
    found = await session.search(f"{name} blooms")
    session.check("search", found is None or any(uri.startswith("sqlite://garden/tables/news/rows/") for uri in found))
    sqlite(folder, "DROP TABLE news;")


run(checks)
