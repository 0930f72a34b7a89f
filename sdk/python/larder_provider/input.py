"""Asks the client for input during a tool call or a prompt. The call ends, the client answers, and the host makes the
call again, possibly in a different guest. `ask` then returns the answer."""

import base64
import contextlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from .annotations import Codecs
from .checks import Mismatch, expected, items, record, show, text
from .codec import Definitions, SchemaOptions
from .errors import ToolError, WrongValue
from .interaction_results import json_value
from .location import raised_at

T = TypeVar("T")

# The beginning of a state that contains the answers to earlier questions as well.
_EARLIER = b"larder-answers:"


@dataclass
class InputRequest:
    """A request that the client must answer: `elicitation/create`, or for legacy clients `sampling/createMessage` and
    `roots/list`."""

    # Identifies the answer.
    key: str
    method: str
    params: dict[str, Any] = field(default_factory=dict)


def _params(value) -> None:
    if not isinstance(value, dict):
        raise expected("a dict", value)
    json_value(value)


@dataclass
class InputResponse:
    """The response to a request: the result, or the error of a client that could not answer. Both are JSON values."""

    result: Any = None
    error: Any = None


@dataclass
class ProvidedInput:
    """The responses for a repeated call, by key, and the state that the first call returned."""

    responses: dict[str, InputResponse] = field(default_factory=dict)
    state: bytes | None = None


_request = record(InputRequest, key=text, method=text, params=_params)


class NeedsInput(BaseException):
    """Ends a call that needs input. The host makes it again with the responses. Not an `Exception`, so that `except
    Exception` in a provider does not catch it."""

    def __init__(self, requests: Iterable[InputRequest], state: bytes | str | None = None):
        self.requests = list(requests)
        self.state = state.encode() if isinstance(state, str) else state
        keys = ", ".join(show(getattr(request, "key", request)) for request in self.requests)
        super().__init__(f"input is needed for {keys}, which only tools and prompts can request")


def checked_requests(name: str, needed: NeedsInput) -> list[InputRequest]:
    """The requests, if they have the documented types."""
    try:
        if needed.state is not None and not isinstance(needed.state, (bytes, bytearray)):
            raise expected("bytes or a str", needed.state).within("state")
        return items(needed.requests, "a list of requests", "request", _request, "key")
    except Mismatch as mismatch:
        raise WrongValue(f"{name} raised NeedsInput with a wrong value: {mismatch}{raised_at(needed)}") from None


@dataclass
class Answer(Generic[T]):
    """The answer to a question."""

    # "accept", "decline", "cancel", or "error" if the client could not ask.
    action: str
    # The values of the form, if they were accepted.
    content: T | None = None
    # The state that was passed to `ask` in the first call.
    state: bytes | None = None

    @property
    def accepted(self) -> bool:
        return self.action == "accept"


_current = ProvidedInput()


def provided_input() -> ProvidedInput:
    """The responses for the current call, and its state. Empty in a first call."""
    return _current


@contextlib.contextmanager
def answers(responses: dict[str, Any] | None = None, state: bytes | None = None):
    """Provides responses for the calls in a `with` block, in place of a client. For tests: the responses are results,
    such as `{"action": "accept", "content": {…}}`, or `InputResponse`s, by key."""
    found = (responses or {}).items()
    provided = {key: value if isinstance(value, InputResponse) else InputResponse(value) for key, value in found}
    with providing(ProvidedInput(provided, state)):
        yield


@contextlib.contextmanager
def providing(provided: ProvidedInput):
    """Sets the input of a call."""
    global _current
    before, _current = _current, _unpack(provided)
    try:
        yield
    finally:
        _current = before


def question(key: str, message: str, form: type) -> InputRequest:
    """A question with a form: a dataclass or a TypedDict with texts, numbers, booleans and choices."""
    schema = Definitions(SchemaOptions(nulls=False)).root(Codecs().of(form))
    return InputRequest(key, "elicitation/create", {"mode": "form", "message": message, "requestedSchema": schema})


def ask(key: str, message: str, form: type[T], *, state: bytes | str | None = None) -> Answer[T]:
    """Asks the user to fill in a form, and returns the answer. The method is called again from its beginning with the
    answer, so do not change anything before. Each question of a call has a different key."""
    response = _current.responses.get(key)
    if response is None:
        needed = NeedsInput([question(key, message, form)], state)
        needed.state = _pack(needed.state)
        raise needed
    if response.error is not None or not isinstance(response.result, dict):
        return Answer("error", state=_current.state)
    answer = Answer(str(response.result.get("action")), state=_current.state)
    if answer.accepted:
        answer.content = _decode(form, response.result.get("content"))
    return answer


def _decode(form: type[T], content) -> T:
    try:
        return Codecs().of(form).decode({} if content is None else content)
    except Mismatch as mismatch:
        raise ToolError(f"the answer is wrong: {mismatch}") from None


def _pack(state: bytes | None) -> bytes | None:
    """A further question of a call: the earlier answers become part of the state."""
    if not _current.responses:
        return state
    state = _current.state if state is None else state
    earlier = {key: [response.result, response.error] for key, response in _current.responses.items()}
    packed = {"answers": earlier, "state": state and base64.b64encode(state).decode()}
    return _EARLIER + json.dumps(packed).encode()


def _unpack(provided: ProvidedInput) -> ProvidedInput:
    if not (provided.state or b"").startswith(_EARLIER):
        return provided
    packed = json.loads(provided.state.removeprefix(_EARLIER))
    earlier = {key: InputResponse(*response) for key, response in packed["answers"].items()}
    state = packed["state"]
    return ProvidedInput({**earlier, **provided.responses}, state and base64.b64decode(state))
