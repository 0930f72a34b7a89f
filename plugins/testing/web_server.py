"""A web server for the tests of providers: `web_server.py FOLDER` serves the files of `FOLDER/www`.

Files have an ETag, and conditional requests are answered with 304. Other paths, below any folder:

- `records?after=N`, `numbered?page=N` and `linked?page=N` are pages of the list in `www/records.json`: with a cursor in
  the response, with numbers, and with a header `Link`.
- `echo` returns the request, `redirect?to=URL` redirects, `loop` redirects to itself, `status?code=N` responds with a
  status, `slow` never responds, and `huge` has 50 MB.

Two servers run with the same content, so that one can redirect to the other. Their URLs are the only output. The program
ends when its standard input ends.
"""

import hashlib
import json
import mimetypes
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

PAGE = 10
ROOT = Path(sys.argv[1]).resolve() / "www"

mimetypes.add_type("application/yaml", ".yaml")


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Head and body are sent together: otherwise the kernel delays the second packet.
    wbufsize = 64 << 10

    def do_GET(self):
        parts = urlsplit(self.path)
        query = {name: values[-1] for name, values in parse_qs(parts.query, keep_blank_values=True).items()}
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = {"method": self.command, "path": self.path, "headers": headers, "body": body.decode(errors="replace")}
        special = getattr(self, "on_" + parts.path.rpartition("/")[2], None)
        if special:
            special(query, request)
        else:
            self.file(ROOT / unquote(parts.path).lstrip("/"))

    do_HEAD = do_POST = do_PUT = do_DELETE = do_PATCH = do_GET

    def on_echo(self, _query, request):
        self.reply(200, json.dumps(request).encode(), {"content-type": "application/json", "cache-control": "no-store"})

    def on_redirect(self, query, _request):
        self.reply(302, b"", {"location": query["to"]})

    def on_loop(self, _query, _request):
        self.reply(302, b"", {"location": "loop"})

    def on_status(self, query, _request):
        self.reply(int(query["code"]), b"an explanation", {"content-type": "text/plain", "retry-after": "7"})

    def on_slow(self, _query, _request):
        time.sleep(600)

    def on_huge(self, _query, _request):
        self.reply(200, b"x" * 50_000_000)

    def on_records(self, query, _request):
        page, rest = self.page(int(query.get("after") or 0), query)
        self.json({"data": page, "next": rest and str(rest)})

    def on_numbered(self, query, _request):
        page, _ = self.page((int(query.get("page") or 1) - 1) * PAGE, query)
        self.json(page)

    def on_linked(self, query, _request):
        number = int(query.get("page") or 1)
        page, rest = self.page((number - 1) * PAGE, query)
        link = f'</other/path?page={number + 1}>; rel="next", <?page=1>; rel=first' if rest else "<?page=1>; rel=first"
        self.json(page, {"link": link})

    def page(self, start, query):
        records = json.loads((ROOT / "records.json").read_text())
        found = [record for record in records if query.get("q", "") in json.dumps(record)]
        return found[start : start + PAGE], start + PAGE if start + PAGE < len(found) else None

    def json(self, value, headers=None):
        self.conditional(json.dumps(value).encode(), {"content-type": "application/json", **(headers or {})})

    def file(self, path):
        if not path.resolve().is_relative_to(ROOT) or not path.is_file():
            return self.reply(404, b"no such file", {"content-type": "text/plain"})
        mime = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
        self.conditional(path.read_bytes(), {"content-type": mime})

    def conditional(self, body, headers):
        tag = f'"{hashlib.sha256(body).hexdigest()[:16]}"'
        headers |= {"etag": tag, "cache-control": "max-age=1"}
        is_current = self.headers.get("if-none-match") == tag
        self.reply(304 if is_current else 200, b"" if is_current else body, headers)

    def reply(self, status, body, headers=None):
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        try:
            self.wfile.write(b"" if self.command == "HEAD" else body)
        except OSError:
            # The client has read enough of a huge response.
            self.close_connection = True

    def log_message(self, *_):
        pass


def start():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_address[1]}"


print(start(), start(), flush=True)
sys.stdin.read()
