"""The component of `larder dev`. It contains the interpreter, this SDK and the packages that the program imports, and
loads the modules of the project when a guest starts, so that a save needs no new component. Never deploy it."""

import contextlib
import errno
import importlib
import os
import sys
import traceback
from importlib.machinery import PathFinder

from . import errors, host

try:
    import componentize_py_runtime as runtime
    from wit_world import exports

    from .convert import guarded
    from .guest import out
except ImportError:
    # Outside of a component.
    exports = None

# Where `larder dev` puts the modules of the project.
PROGRAM = "/larder-dev"

# `larder dev` builds this component again after an error with this text.
INCOMPLETE = "the development component has to be built again"

# Functions without errors in the contract, and what they return if the program cannot be loaded. The next function
# that the host calls returns the error.
_WITHOUT_ERRORS = {"describe": lambda problem: out.Description(None, None, problem, None, []), "settings": lambda _: []}


def load_at_start(main: str) -> None:
    """Exports what the module `main` exports. The module runs when the component is built, so that the component contains
    what it imports, and again when a guest starts."""
    here = sys._getframe(1).f_globals
    with _missing_modules() as missing:
        module = importlib.import_module(main)
    folder = os.path.dirname(here["__file__"])
    program = _Program(main, folder, missing)
    protocols = [value for value in vars(exports).values() if getattr(value, "_is_protocol", False)]
    names = [protocol.__name__ for protocol in protocols if protocol.__abstractmethods__]
    here.update({name: _forwarding(name, program) for name in names if hasattr(module, name)})
    _forget_modules(folder, here["__name__"])


class _Program:
    """The modules of the project."""

    def __init__(self, main: str, folder: str, missing: set[str]):
        self._main = main
        self._folder = folder
        # Modules that did not exist when the component was built.
        self._missing = missing
        self._module = None
        self._problem = None
        # Until it is logged.
        self._failure = None
        self._instances = {}

    def exported(self, name: str, logs: bool = True):
        """An instance of an exported class. A program that cannot be loaded is not loaded again."""
        if not (self._module or self._problem):
            try:
                self._module = self._load()
            except errors.Failed as error:
                self._problem = error
        if self._problem:
            if logs and self._failure:
                _log(self._failure, self._main)
                self._failure = None
            raise self._problem
        if name not in self._instances:
            if not hasattr(self._module, name):
                raise errors.Failed(f"{self._main} has no {name}: call `export` with a class that extends Provider")
            self._instances[name] = getattr(self._module, name)()
        return self._instances[name]

    def _load(self):
        if not os.path.isdir(PROGRAM):
            raise errors.Failed("this is the component of `larder dev`: deploy the one that `larder dev --once` builds")
        sys.dont_write_bytecode = True
        sys.path[:] = [PROGRAM if path == self._folder else path for path in sys.path]
        failure = None
        with _missing_modules() as missing, _without_host():
            try:
                module = importlib.import_module(self._main)
            except BaseException as error:
                failure = error
        # Modules of packages and of the standard library can be loaded only when the component is built.
        if lacking := sorted(missing - self._missing):
            names = ", ".join(f"`{name}`" for name in lacking)
            why = f"{_describe(failure)}; " if failure else ""
            raise errors.Failed(f"{why}{INCOMPLETE}, because it does not contain {names}")
        if failure:
            self._failure = failure
            raise errors.Failed(_describe(failure))
        self._seal()
        return module

    def _seal(self) -> None:
        """From now on, the modules of the project are as invisible as in the component that is deployed: there is nothing
        to import from, and no file beside them."""
        sys.path.remove(PROGRAM)
        sys.meta_path[:] = [finder for finder in sys.meta_path if finder is not PathFinder]
        sys.addaudithook(_hide_program)


def _hide_program(event: str, arguments: tuple) -> None:
    if event in ("open", "os.listdir", "os.scandir") and str(arguments[0]).startswith(f"{PROGRAM}/"):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), arguments[0])


def _forwarding(name: str, program: _Program) -> type:
    """A class of the contract whose methods call those of the program."""
    protocol = getattr(exports, name)
    methods = {method: _method(name, method, program) for method in protocol.__abstractmethods__}
    return type(name, (protocol,), methods)


def _method(name: str, method: str, program: _Program):
    if method not in _WITHOUT_ERRORS and method != "match_uri":
        get = guarded(method)(lambda self, _: program.exported(name))
        return lambda self, argument: getattr(get(self, None), method)(argument)

    def call(self, *arguments):
        try:
            exported = program.exported(name, logs=False)
        except errors.Failed as problem:
            return _WITHOUT_ERRORS[method](str(problem)) if method in _WITHOUT_ERRORS else None
        return getattr(exported, method)(*arguments)

    return call


@contextlib.contextmanager
def _missing_modules():
    """Records the names of the modules that are not found, also if the program catches the error."""

    class Finder:
        names = set()

        @classmethod
        def find_spec(cls, name, path=None, target=None):
            cls.names.add(name)

    sys.meta_path.append(Finder)
    try:
        yield Finder.names
    finally:
        sys.meta_path.remove(Finder)


@contextlib.contextmanager
def _without_host():
    """There is no host when a component is built, so the top level of a module cannot call it."""

    def refuse(*_):
        raise RuntimeError("the top level of a module cannot call the host: it runs when the component is built")

    call = runtime.call_import
    runtime.call_import = refuse
    try:
        yield
    finally:
        runtime.call_import = call


def _forget_modules(folder: str, main: str) -> None:
    """Removes the modules of the project, so that a guest loads the current ones. This SDK and `main` stay."""
    kept = {main, __package__}
    for name, module in list(sys.modules.items()):
        paths = [getattr(module, "__file__", None), *getattr(module, "__path__", ())]
        is_project = any(path and path.startswith(f"{folder}/") for path in paths)
        if is_project and name not in kept and not name.startswith(f"{__package__}."):
            del sys.modules[name]


def _describe(error: BaseException) -> str:
    text = ": ".join(filter(None, [type(error).__name__, errors.message(error)]))
    return text.replace(f"{PROGRAM}/", "") + errors.raised_at(error)


def _log(error: BaseException, main: str) -> None:
    """Logs why a program cannot be loaded: a traceback with paths in the project."""
    frames = error.__traceback__
    while frames and not frames.tb_frame.f_code.co_filename.startswith(f"{PROGRAM}/"):
        frames = frames.tb_next
    lines = traceback.format_exception(type(error), error, frames)
    host.error(f"cannot load {main}:\n" + "".join(lines).replace(f"{PROGRAM}/", ""))
