"""`/openapi.json` is true: whatever fits it is served as it says, whatever does not is refused, nothing is a 500."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
import requests
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from session_client import Sessions, serving

from plimsoll.testing.scripted_server import ScriptedServer, say

schemathesis = pytest.importorskip("schemathesis")
from schemathesis import GenerationMode, checks  # noqa: E402

pytestmark = pytest.mark.xdist_group("sessions description")
FILLER = "The harbour master wrote down every ship that came in, its draught, its cargo and its line. "
CHECKED = [
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
    checks.response_headers_conformance,
]
BOUNDED = settings(
    max_examples=5,
    database=None,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sessions]:
    options: dict[str, Any] = {"compression": {"protect_last_n": 2}, "model": {"context_length": 40_000}}
    home = tmp_path_factory.mktemp("home")
    with (
        ScriptedServer(lambda request: say("Noted."), window=900_000) as server,
        serving(server, home, **options) as found,
    ):
        yield found


@pytest.fixture(scope="module")
def schema(sessions: Sessions) -> Any:
    return schemathesis.openapi.from_url(f"{sessions.gateway.url}/openapi.json")


def operations(schema: Any) -> list[Any]:
    return [found.ok() for found in schema.get_all_operations()]


def living(sessions: Sessions, operation: Any) -> str:
    """A session in which the operation can succeed."""
    id = sessions.begin()
    if operation.path.endswith(("/undo", "/redo", "/summary", "/compactions/{number}")):
        for number in range(8):
            sessions.say(id, f"Ship {number}? {FILLER * 75}")
        assert sessions.http.post(f"/sessions/{id}/compact").json()["outcome"] == "compacted"
    if operation.path.endswith("/redo"):
        assert sessions.http.post(f"/sessions/{id}/undo").status_code == 200
    if operation.path.endswith("/drop"):
        for said in ("Which ships?", "How many?"):
            sessions.say(id, said)
    return id


class Probe:
    """Sends what the description allows, and what it does not, and counts what comes back."""

    def __init__(self, sessions: Sessions) -> None:
        self.sessions = sessions
        self.seen: Counter[tuple[str, int]] = Counter()
        self.http = requests.Session()

    def fitting(self, operation: Any, id: str) -> None:
        """Whatever fits; the first of it is meant for a session and a message that exist, by luck others are."""
        tried = 0

        @BOUNDED
        @given(st.data())
        def each(data: Any) -> None:
            nonlocal tried
            tried += 1
            case = data.draw(operation.as_strategy(generation_mode=GenerationMode.POSITIVE))
            has_session, has_number = data.draw(st.integers(0, 3)) > 0, data.draw(st.booleans())
            if "id" in (case.path_parameters or {}) and (tried == 1 or has_session):
                case.path_parameters["id"] = id
            if "number" in (case.path_parameters or {}) and (tried == 1 or has_number):
                case.path_parameters["number"] = 1
            if tried == 1 and operation.path.endswith("/summary") and operation.method == "put":
                case.body["node"] = self.sessions.http.get(f"/sessions/{id}/summary").json()["node"]
            if tried == 1 and operation.path.endswith("/drop"):
                case.body["messages"] = self._first_answer(id)
            case.validate_response(self._answer(case), checks=CHECKED)

        each()

    def not_fitting(self, operation: Any) -> None:
        @BOUNDED
        @given(st.data())
        def each(data: Any) -> None:
            case = data.draw(operation.as_strategy(generation_mode=GenerationMode.NEGATIVE))
            case.validate_response(self._answer(case), checks=[*CHECKED, checks.negative_data_rejection])

        each()

    def _first_answer(self, id: str) -> list[int]:
        said = self.sessions.http.get(f"/sessions/{id}/messages").json()["messages"]
        return [next(found["number"] for found in said if found["message"]["role"] == "assistant")]

    def _answer(self, case: Any) -> Any:
        response = case.call(base_url=self.sessions.gateway.url, session=self.http)
        self.seen[name_of(case.operation), response.status_code] += 1
        return response


def name_of(operation: Any) -> str:
    return f"{operation.method.upper()} {operation.path}"


@pytest.mark.rewrites_history("sessions are compacted and undone in all kinds of ways")
def test_every_operation_does_what_the_description_says(sessions: Sessions, schema: Any) -> None:
    probe = Probe(sessions)
    described = operations(schema)
    for operation in described:
        probe.fitting(operation, living(sessions, operation))
        if operation.path_parameters or operation.query or operation.body:
            probe.not_fitting(operation)
    probe.http.close()
    assert not [found for found in probe.seen if found[1] >= 500]
    succeeded = {name for name, status in probe.seen if status < 300}
    assert succeeded == {name_of(operation) for operation in described}, sorted(probe.seen.items())
    assert len(succeeded) == 25


@pytest.mark.parametrize("method", ["PATCH", "PUT", "TRACE"])
def test_a_method_that_is_not_described_is_refused_with_those_that_are(
    sessions: Sessions, method: str
) -> None:
    response = sessions.http.request(method, "/sessions")
    assert response.status_code == 405
    assert response.headers["allow"] == "GET, POST"
