"""Commands: their output, their end, and that no process of theirs is left."""

import asyncio
import os
import tracemalloc

import pytest
from toolkit import UNASKED, call, place, run, text, until

from plimsoll.tools import CANCELLED
from plimsoll.tools.limits import KEPT_BYTES, BoundedBytes
from plimsoll.tools.process import is_running


@pytest.fixture
def here(tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    return place(project)


def pids(here, *names):
    """The numbers that commands wrote into files."""
    return [int((here.workplace.root / name).read_text("utf-8")) for name in names]


def test_output_comes_in_its_order_with_the_exit_code_at_the_end(here):
    assert text(here, "terminal", command="echo one; echo two >&2; echo three; exit 3") == (
        "one\ntwo\nthree\nexit code: 3"
    )


def test_a_command_without_output_says_its_exit_code(here):
    assert text(here, "terminal", command="true") == "exit code: 0"


def test_a_command_that_a_signal_ended_says_which(here):
    assert text(here, "terminal", command="kill -SEGV $$") == "exit code: 139 (killed by SIGSEGV)"


def test_the_directory_is_remembered_and_other_tools_follow(here):
    root = here.workplace.root
    (root / "sub").mkdir()
    (root / "sub" / "a.txt").write_text("hello\n", "utf-8")
    assert f"[working directory: {root / 'sub'}]" in text(here, "terminal", command="cd sub && false")
    assert text(here, "terminal", command="pwd") == f"{root / 'sub'}\nexit code: 0"
    assert "hello" in text(here, "read_file", path="a.txt")


def test_workdir_applies_to_one_call(here):
    root = here.workplace.root
    (root / "sub").mkdir()
    assert text(here, "terminal", command="pwd", workdir="sub").startswith(str(root / "sub"))
    assert text(here, "terminal", command="pwd").startswith(f"{root}\n")


def test_a_workdir_that_is_not_there_is_reported_with_the_nearest_name(here):
    (here.workplace.root / "source").mkdir()
    assert "Similar names: source" in text(here, "terminal", command="ls", workdir="sourse")


def test_a_remembered_directory_that_is_gone_gives_way_to_the_project(here):
    text(here, "terminal", command="mkdir x && cd x")
    (here.workplace.root / "x").rmdir()
    assert text(here, "terminal", command="pwd").startswith(f"{here.workplace.root}\n")


def test_there_is_no_input_and_no_terminal_to_wait_for(here):
    assert text(here, "terminal", command="cat; test -t 0 || echo none; read x || echo eof") == (
        "none\neof\nexit code: 0"
    )


def test_a_child_in_the_background_does_not_keep_anybody_waiting(here):
    outcome = run(here, call("terminal", command="sleep 60 & echo $! > pid; echo started"))[0]
    assert outcome.result.text == "started\nexit code: 0"
    assert outcome.seconds < 30
    (child,) = pids(here, "pid")
    assert is_running(child)
    os.kill(child, 9)


def test_a_command_that_takes_too_long_is_ended_with_its_children_and_keeps_its_output(here):
    command = "echo before; sleep 300 & echo $! > one; sh -c 'echo $$ > two; sleep 301'; echo never"
    result = run(here, call("terminal", command=command, timeout=3))[0].result
    assert result.is_error
    assert result.text == "before\n[timed out after 3 s; the command and its child processes were terminated]"
    until(lambda: not any(is_running(pid) for pid in pids(here, "one", "two")))


def test_children_that_left_the_group_or_ignore_the_request_are_ended_too(here):
    command = "trap '' TERM; setsid sh -c 'trap \"\" TERM; echo $$ > one; sleep 300; sleep 300' ; sleep 300"
    text(here, "terminal", command=command, timeout=3)
    until(lambda: not is_running(*pids(here, "one")))


def test_a_cancellation_leaves_no_process_behind_and_keeps_the_output(here):
    root = here.workplace.root
    command = "echo working; sleep 300 & echo $! > one; sh -c 'echo $$ > two; touch ready; sleep 301'"

    async def main():
        calls = [call("terminal", "a", command=command), call("terminal", "b", command="touch never")]
        task = asyncio.ensure_future(UNASKED.run_all(calls, None, here))
        while not (root / "ready").exists():
            await asyncio.sleep(0.01)
        task.cancel()
        return await task

    done = asyncio.run(main())
    assert done.cancelled
    assert [outcome.result.text for outcome in done.outcomes] == [f"working\n{CANCELLED}", CANCELLED]
    until(lambda: not any(is_running(pid) for pid in pids(here, "one", "two")))
    assert not (root / "never").exists()


def test_long_output_keeps_its_ends_and_the_whole_is_there_for_the_archive(here):
    result = run(here, call("terminal", command="seq 1 100000; exit 7"))[0].result
    assert len(result.text) <= here.output_limit
    assert result.text.startswith("1\n2\n")
    assert result.text.endswith("\n99999\n100000\nexit code: 7")
    assert "characters left out" in result.text
    assert result.full == "\n".join(map(str, range(1, 100_001))) + "\nexit code: 7"


def test_output_of_hundreds_of_megabytes_stays_bounded_in_memory(here):
    tracemalloc.start()
    result = run(
        here, call("terminal", command="head -c 200000000 /dev/zero | tr '\\0' 'a'; echo; echo end")
    )[0].result
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * KEPT_BYTES
    assert len(result.full) < KEPT_BYTES + 1_000
    assert result.full.endswith("end\nexit code: 0")
    assert "bytes left out" in result.full


def test_a_stream_of_any_chunks_keeps_its_beginning_and_its_end():
    kept = BoundedBytes(max_bytes=100)
    data = bytes(range(256)) * 40
    for start in range(0, len(data), 7):
        kept.take(data[start : start + 7])
    assert kept.total == len(data)
    assert kept.head == data[:50]
    assert data.endswith(kept.tail)
    assert len(kept.tail) == 50
    assert kept.left_out == len(data) - 100


def test_binary_output_is_named_and_not_shown(here):
    assert text(here, "terminal", command="head -c 5000 /dev/urandom") == (
        "[binary output, 5,000 bytes, not shown]\nexit code: 0"
    )


def test_escape_codes_and_overwritten_lines_are_gone(here):
    command = r"printf '\033[31mred\033[0m\n10%%\r50%%\r100%%\r\ndone\n'"
    assert text(here, "terminal", command=command) == "red\n100%\ndone\nexit code: 0"


def test_keys_of_the_environment_are_not_shown_whoever_prints_them(tmp_path):
    here = place(tmp_path, SOME_API_KEY="abc123secret456", HARMLESS="abc-harmless")
    shown = text(here, "terminal", command="env; echo $SOME_API_KEY | cat")
    assert "abc123secret456" not in shown
    assert "SOME_API_KEY=[key]" in shown
    assert "HARMLESS=abc-harmless" in shown


def test_a_syntax_error_is_the_shells_own_message(here):
    shown = text(here, "terminal", command="echo 'oops")
    assert "unexpected EOF" in shown or "Unterminated" in shown
    assert "exit code: 2" in shown


def test_a_command_can_use_here_documents_and_many_lines(here):
    assert text(here, "terminal", command="cat <<EOF\na $((1+1))\nEOF\necho b") == "a 2\nb\nexit code: 0"
