"""Does what it is asked to do, good or bad: one of the same five, each in another language."""

import sys

from larder_provider import Content, NotFound, Provider, Template, export, http, setting


class Trial(Provider):
    def templates(self, cursor):
        return [Template("trial://{what}", "what it is to do")]

    def read(self, request):
        match request.var("what"):
            case "revision":
                return Content("first")
            case "http":
                return Content(http.get(setting("granted")).accepted().text())
            case "elsewhere":
                return Content(http.get(setting("elsewhere")).accepted().text())
            case "raises":
                raise ValueError("no such luck")
            case "ends":
                print("last words", file=sys.stderr, flush=True)
                sys.exit(3)
            case "eats":
                return Content(str(len(bytearray(256 << 20))))
            case "spins":
                while True:
                    pass
        raise NotFound


export(Trial)
