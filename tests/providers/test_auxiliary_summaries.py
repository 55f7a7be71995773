"""The auxiliary model over a real wire: whatever goes wrong, a valid compaction comes out in bounded time."""

import threading

import pytest
from auxiliary_conversations import GOOD, KEY, auxiliary, candidate, ships

from plimsoll import ContextCompressor, validate
from plimsoll.errors import SummaryFailed
from plimsoll.models import estimate_tokens
from plimsoll.testing.scripted_server import ScriptedServer, fault, say

BOTH = pytest.mark.parametrize("dialect", ["anthropic", "openai"])
# fault -> whether a second attempt may succeed
PASSING = {
    "rate_limit": fault("rate_limit"),
    "server_error": fault("server_error"),
    "overloaded": fault("overloaded"),
    "unavailable": fault("unavailable"),
    "cut": fault("cut"),
    "malformed": fault("malformed_sse"),
    "truncated": fault("truncated_json"),
    "reset": fault("reset"),
    "html": fault("html"),
    "empty": fault("empty"),
}
LASTING = {
    **{name: fault(one.kind, times=None) for name, one in PASSING.items()},
    "hang": fault("hang", times=None),
    "long": fault("long", times=None),
    "tool_call": fault("tool_call", times=None),
    "quota": fault("quota", times=None),
    "auth": fault(401, times=None),
    "bad request": fault(400, times=None),
}


def compacted(writer, messages=None):
    engine = ContextCompressor(context_length=8_000, protect_last_n=4, summarizer=writer)
    result = engine.compress(messages or ships())
    assert validate(result) == []
    assert engine.last_report.outcome == "compacted"
    return engine.last_report, result


@BOTH
def test_the_model_writes_the_summary(dialect):
    with ScriptedServer([say(GOOD)]) as server, auxiliary(candidate(server, dialect=dialect)) as writer:
        report, _ = compacted(writer)
        assert report.summary_source == "model"
        assert "Ships 0 to 9 are in ships.txt." in report.summary
        assert server.requests[0].request.temperature == 0.2
        assert writer.notes == ()


@BOTH
@pytest.mark.parametrize("broken", PASSING.values(), ids=PASSING.keys())
def test_a_fault_that_passes_is_asked_again(dialect, broken):
    with (
        ScriptedServer([broken, say(GOOD)]) as server,
        auxiliary(candidate(server, dialect=dialect)) as writer,
    ):
        report, _ = compacted(writer)
        assert report.summary_source == "model"
        assert len(server.requests) == 2


@BOTH
@pytest.mark.parametrize("broken", LASTING.values(), ids=LASTING.keys())
def test_a_fault_that_lasts_ends_in_a_deterministic_summary(dialect, broken):
    deadline = 0.5 if broken.kind == "hang" else 60.0
    with (
        ScriptedServer([broken]) as server,
        auxiliary(candidate(server, dialect=dialect), deadline=deadline) as writer,
    ):
        report, _ = compacted(writer)
        assert report.summary_source == "deterministic"
        assert "no model summary" in report.steps[-1]
        assert KEY not in " ".join((*report.steps, *writer.notes))
        assert 1 <= len(server.requests) <= 4


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (say(GOOD).ending("length"), "cut off"),
        (say("## Goal\nx").ending("content_filter"), "refused"),
    ],
)
def test_an_answer_that_is_none_says_why(answer, reason):
    with ScriptedServer([answer]) as server, auxiliary(candidate(server)) as writer:
        report, _ = compacted(writer)
        assert report.summary_source == "deterministic"
        assert reason in report.steps[-1]


def test_where_the_configured_model_fails_the_main_model_is_asked():
    def answer(request):
        return fault(500) if "haiku" in request.model else say(GOOD)

    with ScriptedServer(answer) as server:
        cheap, main = candidate(server), candidate(server, "claude-sonnet-4-5", role="main")
        with auxiliary(cheap, main) as writer:
            report, _ = compacted(writer)
            assert report.summary_source == "model"
            assert server.requests[-1].request.model == "claude-sonnet-4-5"
            assert len(writer.notes) == 1
            assert "claude-haiku-4-5" in writer.notes[0]


@pytest.mark.parametrize("status", [401, 402])
def test_a_model_whose_key_or_account_failed_is_left_alone_for_a_while(status):
    now = [0.0]
    with (
        ScriptedServer([fault(status), say(GOOD)]) as server,
        auxiliary(candidate(server), clock=lambda: now[0]) as writer,
    ):
        assert compacted(writer)[0].summary_source == "deterministic"
        assert compacted(writer)[0].summary_source == "deterministic"
        assert len(server.requests) == 1
        now[0] = 601.0
        assert compacted(writer)[0].summary_source == "model"


def test_the_deadline_is_for_all_pieces_together():
    now = [0.0]

    def slowly(request):
        now[0] += 50.0
        return say(GOOD)

    with (
        ScriptedServer(slowly, window=3_000) as server,
        auxiliary(candidate(server, window=3_000), clock=lambda: now[0], deadline=120.0) as writer,
    ):
        report, _ = compacted(writer, ships(60))
        assert report.summary_source == "deterministic"
        assert "longer than 120 s" in report.steps[-1]
        assert len(server.requests) == 3


@BOTH
def test_a_window_smaller_than_stated_is_learned_and_pieces_shrink_to_it(dialect):
    with (
        ScriptedServer(lambda request: say(GOOD), window=3_000) as server,
        auxiliary(candidate(server, dialect=dialect)) as writer,
    ):
        report, _ = compacted(writer, ships(24))
        assert report.summary_source == "model"
        refused, *answered = server.requests
        assert refused.status == 400
        assert len(answered) > 1
        assert all(one.status == 200 for one in answered)
        assert writer.models[0].window <= 3_000
        compacted(writer, ships(24))
        assert all(one.status == 200 for one in server.requests[len(answered) + 1 :]), "it is remembered"


def test_a_summary_request_with_too_many_bytes_is_sent_in_smaller_pieces():
    with (
        ScriptedServer(lambda request: say(GOOD), max_bytes=20_000) as server,
        auxiliary(candidate(server)) as writer,
    ):
        report, _ = compacted(writer, ships(40))
        assert report.summary_source == "model"
        refused, *answered = server.requests
        assert refused.status == 413
        assert [one.status for one in answered] == [200] * len(answered)
        assert len(answered) > 1


def test_a_fallback_with_a_smaller_window_gets_smaller_pieces():
    def answer(request):
        return fault(400) if "haiku" in request.model else say(GOOD)

    with ScriptedServer(answer) as server:
        small = candidate(server, "claude-sonnet-4-5", role="main", window=3_000)
        with auxiliary(candidate(server), small) as writer:
            report, _ = compacted(writer, ships(24))
            assert report.summary_source == "model"
            prompts = [str(one.request.messages[-1]["content"]) for one in server.requests[1:]]
            assert len(prompts) > 1
            assert all(estimate_tokens(prompt) < 3_000 for prompt in prompts)


SECRETS = [
    "sk-ant-api03-AAAABBBBCCCC0123456789", "ghp_abcdefghijklmnopqrstuvwxyz012345", "hunter2-the-password",
    "postgres://app:tr0ub4dor@db", "MIIEpAIBAAKCAQEA0123456789abcdefghijklmnop",
]  # fmt: skip


def with_secrets():
    messages = ships()
    messages[3] = {"role": "user", "content": f"export ANTHROPIC_API_KEY={SECRETS[0]} and use {SECRETS[1]}"}
    function = {"name": "bash", "arguments": '{"command": "login", "password": "' + SECRETS[2] + '"}'}
    call = {"id": "c1", "type": "function", "function": function}
    output = f"DATABASE_URL={SECRETS[3]}/main\n-----BEGIN PRIVATE KEY-----\n{SECRETS[4]}\n-----END PRIVATE KEY-----"
    messages[4] = {"role": "assistant", "content": "Logging in.", "tool_calls": [call]}
    messages.insert(5, {"role": "tool", "tool_call_id": "c1", "content": output + " x" * 200})
    return messages


@pytest.mark.parametrize("answers", [[say(GOOD + "The key is " + SECRETS[0])], [fault(500, times=None)]])
def test_secrets_reach_neither_the_model_nor_the_summary(answers):
    with ScriptedServer(answers) as server, auxiliary(candidate(server)) as writer:
        report, _ = compacted(writer, with_secrets())
        sent = b"".join(one.raw for one in server.requests).decode()
        for secret in (*SECRETS, "tr0ub4dor"):
            assert secret not in sent
            assert secret not in report.summary
            assert secret not in " ".join(report.steps)
        assert "ANTHROPIC_API_KEY=[redacted]" in sent


def test_models_that_think_get_room_for_it_and_no_temperature():
    with (
        ScriptedServer([say(GOOD)], model="gpt-5-mini") as server,
        auxiliary(candidate(server, "gpt-5-mini", "openai")) as writer,
    ):
        compacted(writer)
        body = server.requests[0].body
        assert body["max_completion_tokens"] > 4_000
        assert body["reasoning_effort"] == "low"
        assert "temperature" not in body


def test_a_model_that_refuses_a_temperature_is_asked_without():
    refused = fault(400, message="Unsupported value: 'temperature' does not support 0.2 with this model.")
    with (
        ScriptedServer([refused, say(GOOD), say(GOOD)]) as server,
        auxiliary(candidate(server, "some-model", "openai")) as writer,
    ):
        assert compacted(writer)[0].summary_source == "model"
        assert compacted(writer)[0].summary_source == "model"
        assert ["temperature" in one.body for one in server.requests] == [True, False, False]


def test_several_threads_share_one_auxiliary_and_its_connections():
    with ScriptedServer(lambda request: say(GOOD)) as server, auxiliary(candidate(server)) as writer:
        reports = []
        threads = [threading.Thread(target=lambda: reports.append(compacted(writer)[0])) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [report.summary_source for report in reports] == ["model"] * 6
        assert threading.active_count() < 20


def test_closing_gives_up_what_is_being_written():
    with ScriptedServer([fault("hang", times=None)]) as server:
        writer = auxiliary(candidate(server))
        reports = []
        thread = threading.Thread(target=lambda: reports.append(compacted(writer)[0]))
        thread.start()
        assert server.wait_until(lambda: len(server._requests) == 1)
        writer.close()
        thread.join(10)
        assert reports[0].summary_source == "deterministic"
        with pytest.raises(RuntimeError, match="closed"):
            writer.begin().summarize("x", 10)


def test_without_candidates_it_fails_like_any_other_model():
    with auxiliary() as writer, pytest.raises(SummaryFailed):
        writer.begin().summarize("x", 10)
