"""Checks of `postgres`. The database is created and changed with `psql`, as another program would."""

import json
import subprocess

from provider_session import run, variable

SCHEMAS = "postgres://garden/schemas/{schema}"
TABLES = SCHEMAS + "/tables/{table}{?format,limit,offset}"
ROWS = SCHEMAS + "/tables/{table}/rows/{key}"
ANY = [
    "postgres://garden/schema{?schema}",
    "postgres://garden/table{?schema,table,format,limit,offset}",
    "postgres://garden/row{?schema,table,key}",
]
QUERIES = [
    "connection{?attempt,format}",
    "endless{?rows,format}",
    "slow{?really,format}",
    "summary{?format}",
    "taller-than{?colour,height,format}",
    "write{?name,format}",
]
PUBLIC = "postgres://garden/schemas/public"


def psql(sql):
    """Runs SQL as the owner of the database."""
    subprocess.run(
        ["psql", variable("DATABASE_URL"), "--quiet", "--no-psqlrc", "--set=ON_ERROR_STOP=1", "--output=/dev/null"],
        input=sql.encode(),
        check=True,
    )


async def rows(session):
    schema = await session.text(PUBLIC)
    session.check("the schema", 'CREATE TABLE "public"."plants"' in schema and 'CREATE VIEW "public"."tall"' in schema)
    session.check("constraints and comments", "PRIMARY KEY (id)" in schema and "-- What grows" in schema)
    session.check("other tables are not offered", "hidden" not in schema and "private" not in schema)
    page = json.loads(await session.text(f"{PUBLIC}/tables/plants"))
    columns = ["id", "name", "colour", "height", "data", "photo"]
    session.check("the first rows", (len(page["rows"]), page["columns"]), (100, columns))
    count, uri = 0, f"{PUBLIC}/tables/plants?limit=900"
    while uri:
        page = json.loads(await session.text(uri))
        count, uri = count + len(page["rows"]), page.get("next")
    session.check("all pages of a table", count, 3000)
    csv = await session.text(f"{PUBLIC}/tables/plants?format=csv&limit=1")
    session.check("CSV", csv, "id,name,colour,height,data,photo\n1,Rose 1,red,1.5,,\n")
    row = json.loads(await session.text(f"{PUBLIC}/tables/plants/rows/3000"))
    expected = {
        "id": 3000,
        "name": "Lily",
        "colour": "white",
        "height": 0.4,
        "data": {"petals": 6},
        "photo": {"base64": "/wA="},
    }
    session.check("a row with values of all kinds", row, expected)
    tall = json.loads(await session.text(f"{PUBLIC}/tables/tall?limit=3"))
    session.check("a view", len(tall["rows"]), 3)
    odd = json.loads(await session.text("postgres://garden/schemas/Store%201/tables/odd%20%22%20name/rows/%C3%BC%20%27"))
    session.check("names are quoted", odd["value"], "umlaut")
    uri = "postgres://garden/row?schema=Store%201&table=odd%20%22%20name&key=a%2Fb"
    found = await session.search("Zinnia")
    session.check("a row whose key has a slash is found", found is None or uri in found)
    session.check("and can be read", json.loads(await session.text(uri))["value"], "Zinnia")
    keys = await session.complete(ANY[2], "key", "a", schema="Store 1", table='odd " name')
    session.check("and completed", keys, ["a/b"])
    page = json.loads(await session.text("postgres://garden/table?schema=Store%201&table=odd%20%22%20name&limit=1"))
    session.check("a table by its name in the query", len(page["rows"]), 1)
    schema = await session.text("postgres://garden/schema?schema=Store%201")
    session.check("a schema by its name in the query", 'CREATE TABLE "Store 1"."odd "" name"' in schema)


async def queries(session):
    uri = "postgres://garden/queries"
    found = json.loads(await session.text(f"{uri}/taller-than?colour=white&height=0.1"))
    session.check("a query with parameters", [row["name"] for row in found["rows"]], ["Lily"])
    attack = json.loads(await session.text(f"{uri}/taller-than?colour=%27%20OR%201=1%20--&height=0"))
    session.check("a value is not SQL", attack["rows"], [])
    await session.refused(f"{uri}/taller-than?colour=red&height=tall", "double precision", "tall")
    summary = json.loads(await session.text(f"{uri}/summary"))
    session.check("a query without parameters", {row["colour"] for row in summary["rows"]}, {"red", "white"})
    await session.refused(f"{uri}/slow?really=true", "statement_timeout")
    await session.refused(f"{uri}/endless?rows=9000000000", "max_rows")
    await session.refused(f"{uri}/write?name=Lily", "would change the database")

    async def connection(attempt):
        """The connection that serves a request. Each request has a URI of its own, so no response is cached."""
        return json.loads(await session.text(f"{uri}/connection?attempt={session.unique(attempt)}"))["rows"][0]

    used = [await connection(attempt) for attempt in range(5)]
    ids = {connection["pid"] for connection in used}
    session.check("TLS", all(connection["ssl"] for connection in used))
    session.check("one connection serves many requests", len(ids) < len(used))
    psql("SELECT pg_terminate_backend(pid, 30000) FROM pg_stat_activity WHERE usename = 'reader';")
    new = await connection("new")
    session.check("a closed connection is replaced", new["pid"] not in ids)


async def refusals(session):
    for missing in [
        "schemas/none",
        "schemas/private",
        "schemas/pg_catalog",
        "schemas/public/tables/none",
        "schemas/public/tables/hidden",
        "schemas/private/tables/secret",
        "schemas/pg_catalog/tables/pg_class",
        "schemas/public/tables/plants/rows/9999",
        "schemas/public/tables/plants/rows/word",
        "queries/none",
    ]:
        await session.not_found(f"postgres://garden/{missing}")
    await session.refused(f"{PUBLIC}/tables/plants?limit=many", "`limit` is not a number")
    await session.refused(f"{PUBLIC}/tables/plants?offset=99999999999999999999", "`offset` is not a number")
    await session.refused(f"{PUBLIC}/tables/plants?format=xml", "json", "csv")
    await session.refused(f"{PUBLIC}/tables/tall/rows/1", "no key")


def connections(session, folder):
    """Providers that cannot connect are rejected, with the reason."""
    command = [variable("LARDER"), "check", "--config", folder.parent / "larder.toml"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    report = result.stdout + result.stderr
    reasons = {
        "untrusted": "invalid peer certificate",
        "unauthenticated": "password authentication failed",
        "ungranted": "see the grant `tcp`",
    }
    for name, reason in reasons.items():
        lines = [line for line in report.splitlines() if line.startswith(f"{name}.wasm is rejected") and reason in line]
        session.check(f"{name} is rejected: {reason}", len(lines), 1)


async def checks(session, folder):
    listed = ["queries/summary", "schemas/Store%201", "schemas/Store%201/tables/odd%20%22%20name", "schemas/public"]
    listed += ["schemas/public/tables/plants", "schemas/public/tables/tall"]
    # The table of the previous run may still be in the list.
    uris = [uri for uri in await session.uris("postgres://garden/") if not uri.endswith("/news")]
    session.check("the list", uris, [f"postgres://garden/{path}" for path in listed])
    queries_templates = [f"postgres://garden/queries/{query}" for query in QUERIES]
    templates = [template for template in await session.templates() if "//garden/" in template]
    session.check("the templates", templates, sorted([SCHEMAS, TABLES, ROWS, *ANY, *queries_templates]))
    await rows(session)
    await queries(session)

    plain = await session.uris("postgres://plain/")
    session.check("a connection without TLS", "postgres://plain/schemas/public/tables/plants" in plain)

    session.check("schemas are completed", await session.complete(SCHEMAS, "schema", "St"), ["Store 1"])
    tables = await session.complete(TABLES, "table", "pl", schema="public")
    session.check("tables are completed", tables, ["plants"])
    formats = await session.complete(TABLES, "format", "c", schema="public", table="plants")
    session.check("formats are completed", formats, ["csv"])
    keys = await session.complete(ROWS, "key", "299", schema="public", table="plants")
    session.check("keys are completed", keys, ["299", *(str(key) for key in range(2990, 3000))])
    await refusals(session)
    connections(session, folder)

    name = session.unique("Lilac")
    psql("CREATE TABLE IF NOT EXISTS news (id int PRIMARY KEY, text text); GRANT SELECT ON news TO reader;")
    uri = f"{PUBLIC}/tables/news"
    session.check("a new table", "columns" in await session.text(uri))
    async with session.watching(uri) as notifications:
        psql(f"INSERT INTO news VALUES (1, '{name} blooms 100%');")
        await notifications.updated(uri)
        session.check("the new row", f"{name} blooms" in await session.text(uri))
    found = await session.search(f"{name} blooms")
    session.check("search", found is None or f"{uri}/rows/1" in found)
    psql("DROP TABLE news;")


run(checks)
