"""Test provider with correct and faulty behaviour, selected by the URI. The same provider exists in seven languages."""

import os
import sys

from larder_provider import Content, Failed, NotFound, Provider, Template, http, setting


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

