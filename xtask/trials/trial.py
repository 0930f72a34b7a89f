"""Test provider with correct and faulty behaviour, selected by the URI. The same provider exists in seven languages."""

import os
import socket
import sys
import urllib.request

# Packages such as urllib3 try this when they are imported, while the component is built.
try:
    with socket.socket(socket.AF_INET6) as probe:
        probe.bind(("::1", 0))
except OSError:
    pass

from larder_provider import Content, Failed, NotFound, Provider, Template, http, key_value, setting


class Trial(Provider):
    def templates(self, cursor):
        return [Template("trial://{what}", "the behaviour"), Template("trial:///{path}", "a path")]

    def greedy(self):
        return ["trial:///{path}"]

    def read(self, request):
        if request.template == "trial:///{path}":
            return Content(request.var("path"))
        match request.var("what"):
            case "revision":
                return Content("first")
            case "http":
                return Content(http.get(setting("granted")).accepted().text())
            case "elsewhere":
                return Content(http.get(setting("elsewhere")).accepted().text())
            case "socket":
                with urllib.request.urlopen(setting("granted")) as response:
                    return Content(response.read().decode())
            case "stores":
                return Content(stores(key_value.shared))
            case "stores-own":
                return Content(",".join(key_value.caller.keys()))
            case "long":
                return Content(open("/folder/long.txt", encoding="utf-8").read())
            case "garbled":
                raise Failed(b"no caf\xe9".decode(errors="surrogateescape"))
            case "raises":
                raise ValueError("no such luck")
            case "ends":
                print("last words", file=sys.stderr, flush=True)
                os._exit(3)
            case "eats":
                return Content(str(len(bytearray(256 << 20))))
            case "spins":
                while True:
                    pass
        raise NotFound


def stores(bucket):
    bucket.set("a", "1")
    bucket.set("b", b"2")
    swapped = [bucket.compare_and_swap("b", expected, "3") for expected in ("1", "2", None)]
    keys, b = ",".join(bucket.keys()), bucket.get_text("b")
    bucket.compare_and_swap("b", "3", None)
    bucket.delete("a")
    rest = len(list(bucket.keys())) + len(bucket.get("b") or b"")
    return " ".join([keys, b, *map(str, swapped), str(rest)])
