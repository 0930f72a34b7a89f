"""Values that outlive a call, in buckets that the operator grants: `shared` for all callers, and `caller` for the caller
of this call. A value is on the disk when `set` returns.

Outside a component, the values are in the memory of the process, so that a provider can be tested with any Python."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from .errors import Denied, Error, Failed, Unavailable

try:
    from componentize_py_types import Err as _Err
    from wit_world.imports import key_value as _host
except ImportError:
    _host = None

# The number of keys that the host returns at once.
_PAGE = 1000


@dataclass
class Bucket:
    """A bucket of values."""

    _name: str
    _values: dict[str, bytes] = field(default_factory=dict, repr=False)

    def get(self, key: str) -> bytes | None:
        """Returns a value; None if there is no such key."""
        if _host is None:
            return self._values.get(key)
        return self._call(_host.get, key)

    def get_text(self, key: str) -> str | None:
        """Returns a value as text; None if there is no such key."""
        value = self.get(key)
        return None if value is None else value.decode()

    def set(self, key: str, value: bytes | str) -> None:
        """Stores a value."""
        if _host is None:
            self._values[key] = _bytes(value)
        else:
            self._call(_host.set, key, _bytes(value))

    def delete(self, key: str) -> None:
        """Removes a key, if it exists."""
        if _host is None:
            self._values.pop(key, None)
        else:
            self._call(_host.delete, key)

    def compare_and_swap(self, key: str, expected: bytes | str | None, value: bytes | str | None) -> bool:
        """Stores a value, or removes the key if it is None, if the key has the expected value, where None means that it
        does not exist. Returns whether it did so."""
        expected = None if expected is None else _bytes(expected)
        value = None if value is None else _bytes(value)
        if _host is not None:
            return self._call(_host.compare_and_swap, key, expected, value)
        if self._values.get(key) != expected:
            return False
        if value is None:
            self._values.pop(key, None)
        else:
            self._values[key] = value
        return True

    def keys(self, prefix: str = "") -> Iterator[str]:
        """Returns all keys that begin with a prefix, in order."""
        if _host is None:
            yield from sorted(key for key in self._values if key.startswith(prefix))
            return
        cursor = None
        while True:
            page = self._call(_host.list_keys, prefix, cursor, _PAGE)
            yield from page.keys
            cursor = page.next_cursor
            if cursor is None:
                return

    def _call(self, function, *arguments):
        try:
            return function(getattr(_host.Bucket, self._name.upper()), *arguments)
        except _Err as error:
            raise _to_error(error.value) from None


# All callers of the provider read and write the same values. It needs the grant `key_value = ["shared"]`.
shared = Bucket("shared")
# Only calls of the same caller read and write these values. It needs the grant `key_value = ["caller"]`.
caller = Bucket("caller")


def _bytes(value: bytes | str) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(memoryview(value))


def _to_error(failure) -> Error:
    match failure:
        case _host.Failure_NotGranted(reason):
            return Denied(reason)
        case _host.Failure_NoCaller():
            return Denied("values of a caller need a caller with a subject")
        case _host.Failure_TooLarge():
            return Failed("the key or the value is too long to be stored")
        case _host.Failure_TooManyKeys():
            return Failed("too many keys are stored")
        case _host.Failure_Full():
            return Failed("the key-value store is full")
        case _host.Failure_Unavailable(reason):
            return Unavailable(reason)
