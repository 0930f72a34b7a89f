"""The provider `git`, with the repository of `xtask/src/providers/git.rs`."""

import os
import subprocess

from provider_session import eventually, run

COMMIT = "git://project/{rev}"
FILE = COMMIT + "/{+path}"


async def checks(session, folder):
    repository = folder / "repository"

    def git(*args):
        command = ["git", "-c", "user.name=Ann", "-c", "user.email=ann@example.org", *args]
        # The configuration of the machine does not matter.
        env = os.environ | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        done = subprocess.run(command, cwd=repository, env=env, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    uris = await session.uris()
    for uri in ["git://project", "git://project/main", "git://project/v1.0", "git://project/feature:login"]:
        session.check(f"{uri} is listed", uri in uris)
    session.check("all files are listed", len([uri for uri in uris if "/HEAD/many/" in uri]), 1200)
    templates = [COMMIT, FILE, COMMIT + "{?log,skip}", COMMIT + "{?since,path}"]
    session.check("the templates", await session.templates(), sorted(templates))

    for revision in ["v1.0", "feature:login", "first~0", git("rev-parse", "v1.0^{commit}")]:
        session.check(f"a file of {revision}", await session.text(f"git://project/{revision}/README.md"), "# One\n")
    session.check("a folder", (await session.text("git://project/v1.0/")).split(), ["README.md", "many/", "src/"])
    session.check("an encoded name", await session.text("git://project/v1.0/src/a%20b.txt"), "text\n")
    session.check("a commit", "Second commit" in await session.text("git://project/second"))
    diff = await session.text("git://project/second?since=v1.0&path=README.md")
    session.check("a diff", "-# One\n+# Two\n" in diff)
    session.check("a log", (await session.text("git://project/second?log=5")).count("\n"), 2)
    newest, more = (await session.text("git://project/second?log=1")).splitlines()
    session.check("the newest commit", "Second commit" in newest)
    session.check("the others", "First commit" in await session.text(more.split()[-1]))
    session.check("an overview", "[v1.0](git://project/v1.0)" in await session.text("git://project"))

    session.check("revisions are suggested", await session.complete(FILE, "rev", "fea"), ["feature:login"])
    suggested = await session.complete(FILE, "path", "src/", rev="v1.0")
    session.check("paths are suggested", suggested, ["src/a b.txt"])

    readme = ["git://project/HEAD/README.md"]
    await session.finds("a file is found by its content", "Two", lambda found: found == readme)
    for text, uri in [("0815", "git://project/HEAD/many/0815.txt"), ("login", "git://project/feature:login")]:
        await session.finds("a name is found", text, lambda found, uri=uri: uri in found)

    for missing in ["main/none", "none/README.md", "v1.0~5"]:
        await session.not_found(f"git://project/{missing}")
    await session.not_found("git://other/main")
    await session.refused("git://project/large/large.bin", "max_bytes", "1 MiB")
    await session.refused("git://project/main/../README.md", "..")
    await session.refused("git://project/main?log=0", "log")

    # Update of those who watch a branch, a file that changes and the repository; not of a tag.
    name = session.unique("watched.txt")
    watched = ["git://project/main", f"git://project/main/{name}", "git://project"]
    (repository / name).write_text("before\n")
    git("add", "--all")
    git("commit", "-qm", session.unique("before"))

    async def is_new():
        return session.unique("before") in await session.text("git://project/main")

    await eventually("the new commit", is_new)
    async with session.watching(*watched) as notifications:
        (repository / name).write_text("after\n")
        git("commit", "-qam", session.unique("after"))
        for uri in watched:
            await notifications.updated(uri)
        session.check("the moved branch", session.unique("after") in await session.text("git://project/main"))
        session.check("its file", await session.text(f"git://project/main/{name}"), "after\n")
    git("gc", "--quiet")
    session.check("the same after packing", await session.text(f"git://project/main/{name}"), "after\n")
    await session.finds("a search after packing", "README", lambda found: "git://project/HEAD/README.md" in found)


run(checks)
