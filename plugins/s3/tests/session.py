"""Checks of `s3`. The bucket is served by s3rver, which checks signatures; curl signs the changes of the test."""

import json
import subprocess

from provider_session import eventually, run, variable

TEMPLATE = "s3://team/{+key}"


def put(key, content):
    """Stores an object with a request that curl signs."""
    url = f"{variable('STORE')}/team/{key}"
    user = f"S3RVER:{variable('SECRET')}"
    command = ["curl", "--fail", "--silent", "--show-error", "--aws-sigv4", "aws:amz:us-east-1:s3", "--user", user]
    command += ["--header", "x-amz-content-sha256: UNSIGNED-PAYLOAD"]
    command += ["--request", "PUT", "--data-binary", "@-", "--header", "Content-Type: application/octet-stream", url]
    subprocess.run(command, input=content.encode(), check=True, stdout=subprocess.DEVNULL)


async def checks(session, folder):
    entries = {entry.uri: entry for entry in await session.list()}
    many = [uri for uri in entries if uri.startswith("s3://team/docs/many/")]
    session.check("all pages of the list", len(many), 1100)
    session.check("an object", entries["s3://team/docs/plan.md"].mime_type, "text/markdown")
    session.check("a name with a space", "s3://team/docs/a%20b.txt" in entries)
    session.check("other prefixes are not listed", not any("private" in uri for uri in entries))
    session.check("the template", await session.templates(), [TEMPLATE])

    session.check("a read", await session.text("s3://team/docs/plan.md"), "# Plan\n\nRoses.\n")
    session.check("an encoded key", await session.text("s3://team/docs/a%20b.txt"), "space\n")
    [image] = await session.contents("s3://team/docs/logo.png")
    session.check("a binary object", (image.mime_type, hasattr(image, "blob")), ("image/png", True))
    listed = json.loads(await session.text("s3://team/docs/"))
    session.check("a folder", listed["folders"], ["s3://team/docs/deep/", "s3://team/docs/many/"])
    session.check("the folder is complete", listed["isComplete"])
    session.check("the objects of a folder", "s3://team/docs/plan.md" in [it["uri"] for it in listed["objects"]])
    above = json.loads(await session.text("s3://team/"))
    session.check("above the prefix is the prefix", above["uri"], "s3://team/docs/")

    session.check("keys are completed", await session.complete(TEMPLATE, "key", "docs/pl"), ["docs/plan.md"])
    folders = ["docs/deep/"]
    session.check("folders are completed", await session.complete(TEMPLATE, "key", "docs/de"), folders)
    session.check("keys outside the prefix are not", await session.complete(TEMPLATE, "key", "priv"), [])

    for missing in ["s3://team/docs/none", "s3://team/private/key", "s3://team/docs/none/", "s3://other/docs/plan.md"]:
        await session.not_found(missing)
    await session.refused("s3://team/docs/large.txt", "max_bytes")

    name = session.unique("watched.txt")
    uri = f"s3://team/docs/deep/{name}"
    put(f"docs/deep/{name}", "before")
    await eventually("the new object is there", lambda: is_text(session, uri, "before"))
    async with session.watching(uri) as notifications:
        put(f"docs/deep/{name}", "after")
        await notifications.updated(uri)
        await eventually("the new content", lambda: is_text(session, uri, "after"))
    await session.finds("a key is found", "plan", lambda found: "s3://team/docs/plan.md" in found[:2])


async def is_text(session, uri, expected):
    return await session.text(uri) == expected


run(checks)
