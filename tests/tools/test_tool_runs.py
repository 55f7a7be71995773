"""Every call is answered: in order, side by side where that is safe, whatever happens."""

import asyncio
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toolkit import call, place, run

from plimsoll.messages import validate
from plimsoll.tools import (
    CANCELLED,
    Approval,
    ApprovalAnswer,
    Definition,
    FunctionTool,
    Tool,
    ToolBox,
    ToolResult,
    standard_tools,
)

ANY = {"type": "object", "properties": {}}


def tool(name, function, parameters=ANY, safe=False):
    return FunctionTool(Definition(name, f"The {name} tool.", parameters), function, safe)


async def echo(arguments, context):
    return json.dumps(arguments)


async def crash(arguments, context):
    raise RuntimeError("the disk is on fire")


async def leave(arguments, context):
    raise SystemExit(3)


async def stop_inside(arguments, context):
    raise asyncio.CancelledError


class Asking(Tool):
    async def needs_approval(self, arguments, context):
        return Approval("costs money")

    async def run(self, arguments, context):
        return ToolResult("paid")


@pytest.fixture
def here(tmp_path):
    return place(tmp_path)


def answer(here, function, **kwargs):
    return run(here, call("it"), box=ToolBox((tool("it", function),)), **kwargs)[0]


def test_a_crash_in_a_tool_is_a_result_and_the_host_can_see_the_exception(here):
    outcome = answer(here, crash)
    assert outcome.result.text == "Error: it failed: RuntimeError: the disk is on fire"
    assert outcome.message["is_error"] is True
    assert isinstance(outcome.crash, RuntimeError)


@pytest.mark.parametrize("function", [leave, stop_inside])
def test_a_tool_that_tries_to_end_the_program_or_its_task_is_a_result(here, function):
    assert answer(here, function).result.is_error


def test_an_unknown_tool_is_reported_with_the_nearest_name(here):
    said = run(here, call("read_files", path="x"))[0].result.text
    assert "no tool named 'read_files'. Did you mean read_file?" in said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ('{"path": ', "not valid JSON"),
        ("[1]", "must be a JSON object, not a list"),
        ("null", "must be a JSON object, not null"),
        ('{"path": 3}', "path: 3 is not of type 'string'"),
        ('{"path": "x", "limit": "ten"}', "limit: 'ten' is not of type 'integer'"),
        ('{"file": "x"}', "The tool takes: path (required), offset, limit, column"),
        ("", "'path' is a required property"),
    ],
)
def test_arguments_that_do_not_fit_are_explained(here, arguments, said):
    broken = {"id": "c", "type": "function", "function": {"name": "read_file", "arguments": arguments}}
    outcome = run(here, broken)[0]
    assert outcome.result.is_error
    assert said in outcome.result.text


def test_null_for_an_optional_argument_counts_as_left_out(here, tmp_path):
    (tmp_path / "a").write_text("one\n", "utf-8")
    assert "lines 1-1 of 1" in run(here, call("read_file", path="a", offset=None, limit=None))[0].result.text


def test_a_line_break_inside_a_json_string_is_understood(here):
    raw = {"id": "c", "function": {"name": "it", "arguments": '{"a": "x\ny"}'}}
    assert run(here, raw, box=ToolBox((tool("it", echo),)))[0].result.text == '{"a": "x\\ny"}'


@pytest.mark.parametrize(
    "schema",
    [{"type": "nonsense"}, {"$ref": "http://127.0.0.1:9/x.json"}, {"properties": {"a": {"pattern": "("}}}],
)
def test_a_schema_that_is_broken_or_elsewhere_checks_nothing(here, schema):
    box = ToolBox((tool("it", echo, schema),))
    assert run(here, call("it", a="1"), box=box)[0].result.text == '{"a": "1"}'


def test_safe_calls_run_side_by_side_and_others_alone_and_in_order(here):
    running, most, order = set(), {}, []

    def watched(name):
        async def work(arguments, context):
            running.add(name)
            order.append(name)
            for _ in range(5):
                await asyncio.sleep(0)
                most[name] = max(most.get(name, 0), len(running))
            running.discard(name)
            return name

        return work

    names = ["a", "b", "c", "d", "e"]
    safe = {"a", "b", "d", "e"}
    box = ToolBox(tuple(tool(name, watched(name), safe=name in safe) for name in names))
    outcomes = run(here, *(call(name, name) for name in names), box=box)
    assert [outcome.result.text for outcome in outcomes] == names
    assert order.index("c") == 2
    assert most == {"a": 2, "b": 2, "c": 1, "d": 2, "e": 2}


def test_results_come_in_the_order_of_the_calls_whoever_is_ready_first(here):
    async def slow(arguments, context):
        for _ in range(50):
            await asyncio.sleep(0)
        return "slow"

    box = ToolBox((tool("slow", slow, safe=True), tool("fast", echo, safe=True)))
    finished = []
    outcomes = run(
        here,
        call("slow", "1"),
        call("fast", "2"),
        box=box,
        on_finished=lambda o: finished.append(o.call["id"]),
    )
    assert [outcome.message["tool_call_id"] for outcome in outcomes] == ["1", "2"]
    assert finished == ["2", "1"]


def test_what_needs_approval_is_refused_where_nobody_can_be_asked(here):
    said = run(here, call("pay"), box=ToolBox((Asking(Definition("pay", "", ANY)),)))[0].result.text
    assert "was not run because it costs money, and that was refused: no user is present" in said


def test_a_person_is_asked_with_the_reason_and_their_remark_is_passed_to_the_model(here):
    asked = []

    async def approve(question):
        asked.append((question.tool, question.reason, question.call_id))
        return ApprovalAnswer(len(asked) == 1, "use the test account")

    box = ToolBox((Asking(Definition("pay", "", ANY)),))
    first, second = run(here, call("pay", "c1"), call("pay", "c2"), box=box, approve=approve)
    assert asked == [("pay", "costs money", "c1"), ("pay", "costs money", "c2")]
    assert first.result.text == "paid"
    assert "refused: use the test account" in second.result.text


def test_a_host_that_crashes_while_asking_is_a_result(here):
    async def approve(question):
        raise KeyError("no window")

    outcome = run(here, call("pay"), box=ToolBox((Asking(Definition("pay", "", ANY)),)), approve=approve)[0]
    assert outcome.result.is_error
    assert "KeyError" in outcome.result.text


def test_a_long_result_keeps_its_ends_and_the_host_gets_the_whole(here):
    async def long(arguments, context):
        return "begin" + "x" * 100_000 + "end"

    result = answer(here, long).result
    assert len(result.text) <= here.output_limit
    assert result.text.startswith("begin")
    assert result.text.endswith("end")
    assert "characters left out" in result.text
    assert len(result.full) == 100_008


def test_an_empty_result_and_half_characters_can_be_sent(here):
    async def odd(arguments, context):
        return "\ud800"

    async def nothing(arguments, context):
        return ""

    assert answer(here, odd).result.text.encode("utf-8")
    assert answer(here, nothing).result.text == "(no output)"


async def cancelled_after(start, work):
    task = asyncio.ensure_future(work)
    await start.wait()
    task.cancel()
    return await task


def test_a_cancellation_answers_every_call_and_says_so(here):
    async def main():
        started = asyncio.Event()

        async def wait(arguments, context):
            started.set()
            await asyncio.Event().wait()

        box = ToolBox((tool("echo", echo), tool("wait", wait)))
        calls = [call("echo", "1"), call("wait", "2"), call("echo", "3")]
        return calls, await cancelled_after(started, box.run_all(calls, None, here))

    calls, done = asyncio.run(main())
    assert done.cancelled
    assert [outcome.result.text for outcome in done.outcomes] == ["{}", CANCELLED, CANCELLED]
    history = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": None, "tool_calls": calls},
        *done.messages,
    ]
    assert validate(history, "openai") == []
    assert validate(history, "anthropic") == []


def test_a_cancellation_while_a_person_is_asked_answers_the_call(here):
    async def main():
        started = asyncio.Event()

        async def approve(question):
            started.set()
            await asyncio.Event().wait()

        box = ToolBox((Asking(Definition("pay", "", ANY)),))
        return await cancelled_after(started, box.run_all([call("pay")], approve, here))

    assert asyncio.run(main()).outcomes[0].result.text == CANCELLED


def test_a_second_cancellation_does_not_cut_the_cleaning_up_short(here):
    async def main():
        started, cleaned = asyncio.Event(), []

        async def careful(arguments, context):
            started.set()
            try:
                await asyncio.Event().wait()
            finally:
                for _ in range(20):
                    await asyncio.sleep(0)
                cleaned.append(True)

        task = asyncio.ensure_future(ToolBox((tool("it", careful),)).run_all([call("it")], None, here))
        await started.wait()
        for _ in range(3):
            task.cancel()
            await asyncio.sleep(0)
        return await task, cleaned

    done, cleaned = asyncio.run(main())
    assert done.cancelled
    assert cleaned == [True]


def test_two_tools_of_one_name_are_refused():
    with pytest.raises(ValueError, match="two tools are called 'it'"):
        ToolBox((tool("it", echo), tool("it", crash)))


def test_schemas_are_the_same_bytes_every_time_and_in_openai_form():
    first, second = (json.dumps(standard_tools().schemas()) for _ in range(2))
    assert first == second
    schemas = json.loads(first)
    names = ["terminal", "read_file", "write_file", "patch", "search_files"]
    assert [schema["function"]["name"] for schema in schemas] == names
    assert json.dumps(schemas[0]["function"]["parameters"], sort_keys=True) == json.dumps(
        schemas[0]["function"]["parameters"]
    )


def test_the_order_of_keys_in_a_definition_does_not_show():
    one = tool("it", echo, {"type": "object", "properties": {"b": {"type": "string"}, "a": {}}})
    other = tool("it", echo, {"properties": {"a": {}, "b": {"type": "string"}}, "type": "object"})
    assert json.dumps(ToolBox((one,)).schemas()) == json.dumps(ToolBox((other,)).schemas())


def test_nothing_that_a_model_sees_of_the_tools_speaks_of_its_window():
    shown = json.dumps(standard_tools().schemas()).lower()
    assert not any(word in shown for word in ("context window", "token", "context is", "remaining"))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["read_file", "patch", "write_file", "nope"]), st.text()), max_size=6)
)
def test_any_calls_with_any_arguments_get_one_result_each(tmp_path_factory, calls):
    here = place(tmp_path_factory.mktemp("any"))
    given_calls = [
        {"id": f"c{n}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for n, (name, arguments) in enumerate(calls)
    ]
    outcomes = run(here, *given_calls)
    assert [outcome.message["tool_call_id"] for outcome in outcomes] == [c["id"] for c in given_calls]
    assert all(outcome.crash is None for outcome in outcomes)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
PARAMETERS = ["path", "content", "old_string", "new_string", "offset", "edits", "pattern"]


@settings(max_examples=80, deadline=None)
@given(
    st.sampled_from(["read_file", "write_file", "patch"]),
    st.dictionaries(st.sampled_from(PARAMETERS), JSON, max_size=4),
)
def test_arguments_of_any_shape_never_crash_a_file_tool(tmp_path_factory, name, arguments):
    here = place(tmp_path_factory.mktemp("shape"))
    assert run(here, call(name, **arguments))[0].crash is None
