"""How a tool call ended is read from its exit code where that counts, and from known programs' closing lines."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll import ContextCompressor
from plimsoll.context.ledger import outcome_of, read_facts
from plimsoll.context.ledger.outcomes import command_of, covers, parsed, process_asked
from plimsoll.context.ledger.outcomes.rules import rules


def ran(command, name="terminal"):
    return {
        "id": "c",
        "type": "function",
        "function": {"name": name, "arguments": json.dumps({"command": command})},
    }


def called(name, **arguments):
    return {"id": "c", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}


GO_FAILED = (
    "--- FAIL: TestSlice (0.00s)\n    slice_test.go:12: got 1\nFAIL\nFAIL\texample.org/slice\t0.2s\nFAIL"
)
GO_PASSED = "ok  \texample.org/slice\t0.2s\nok  \texample.org/text\t0.1s"
CODEX = (
    "Chunk ID: 1f\nWall time: 0.1 seconds\nProcess exited with code {}\nOriginal token count: 9\nOutput:\n{}"
)

EXIT_CODES = {
    "a code at the end": (ran("make deploy"), "copying\nexit code: 2", "exit 2"),
    "a code before the output": (
        ran("make deploy"),
        "Exit code: 0\nWall time: 1 seconds\nOutput:\nerror: old log",
        "ok",
    ),
    "a code in a header": (
        ran("cargo build"),
        CODEX.format(101, "error: could not compile `app`"),
        "exit 101",
    ),
    "a code in tags": (ran("make deploy"), "<returncode>3</returncode>\n<output>\nno\n</output>", "exit 3"),
    "a code in an object": (ran("make"), '{"output": "no rule", "metadata": {"exit_code": 2}}', "exit 2"),
    "a code that only the text speaks of": (
        ran("./notes.sh"),
        "the runbook: exit code 137 means out of memory",
        "ran",
    ),
    "Claude Code marks failures": (
        ran("make", "Bash"),
        "[error] Exit code 2\nmake: *** [all] Error 1",
        "exit 2",
    ),
    "Claude Code marks nothing": (ran("./deploy.sh", "Bash"), "error: (retried, fine)", "ok"),
}
HIDDEN = {
    "head hides a failed run": (ran("go test ./... 2>&1 | head -30", "Bash"), GO_FAILED, "error"),
    "tail shows a passed run": (ran("go test ./... 2>&1 | tail -5", "Bash"), GO_PASSED, "ok"),
    "echo after it": (
        ran("pytest -q; echo finished"),
        "1 failed, 3 passed in 0.2s\nfinished\nexit code: 0",
        "error",
    ),
    "or true": (ran("npm run lint || true"), "✖ 3 problems (2 errors, 1 warning)\nexit code: 0", "error"),
    "a search that shows nothing": (ran("make check 2>&1 | grep -c FAIL"), "0\nexit code: 1", "ran"),
    "a chain that ended well": (ran("make && make install"), "done\nexit code: 0", "ok"),
    "pipefail": (ran("set -o pipefail; make check | tail -3"), "error: seen before\nexit code: 0", "ok"),
}
CLOSING_LINES = {
    "pytest": (ran("pytest"), "== 1 failed, 8 passed in 0.1s ==", "error"),
    "pytest that passed": (ran("pytest"), "== 8 passed in 0.1s ==", "ok"),
    "a failure above a pass": (
        ran("npx vitest run"),
        " Test Files  1 failed | 1 passed (2)\n      Tests  1 failed | 1 passed (2)",
        "error",
    ),
    "the last of two runs": (
        ran("pytest a; pytest a"),
        "== 1 failed in 0.1s ==\n== 1 passed in 0.1s ==",
        "ok",
    ),
    "one failed package of many": (ran("go test ./..."), f"{GO_FAILED}\n{GO_PASSED}", "error"),
    "cargo": (ran("cargo test"), "test result: FAILED. 1 passed; 1 failed; 0 ignored", "error"),
    "jest": (ran("npm test"), "Tests:       3 passed, 3 total", "ok"),
    "unittest": (ran("python -m unittest"), "Ran 3 tests in 0.1s\n\nFAILED (failures=1)", "error"),
    "golangci-lint": (
        ran("mise run lint 2>&1 | tail -4"),
        "[lint:go] 6 issues:\n[lint:go] ERROR task failed",
        "error",
    ),
    "no issues": (ran("golangci-lint run | tail -1"), "0 issues.", "ok"),
    "tsc": (ran("npx tsc --noEmit"), "src/a.ts(3,1): error TS2322: Type 'x' is not assignable", "error"),
    "ruff": (ran("ruff check ."), "All checks passed!", "ok"),
    "maven": (ran("mvn test"), "[INFO] BUILD FAILURE", "error"),
    "make": (ran("make"), "make: *** [Makefile:3: all] Error 1", "error"),
    "git push refused": (
        ran("git push"),
        " ! [rejected]        main -> main (fetch first)\nerror: failed to push",
        "error",
    ),
    "git commit": (ran("git commit -m x"), "[main 1a2b3c4] x\n 1 file changed", "ok"),
    "npm install": (ran("npm ci | tail -2"), "added 312 packages in 9s", "ok"),
    "a traceback": (ran("python app.py"), "Traceback (most recent call last):\nValueError: no", "error"),
    "an unknown program": (ran("frobnicate"), "frobnicate: command not found", "error"),
    "in colour": (ran("pytest"), "\x1b[31m== 1 failed in 0.1s ==\x1b[0m", "error"),
    "a progress bar": (ran("npm ci"), "10%\r60%\radded 3 packages in 1s", "ok"),
}
LOOKUPS = {
    "a search for the word error": (ran("grep -rn error src"), "src/a.py:3: raise error\nexit code: 0", "ok"),
    "a search that finds nothing": (ran("rg TODO src"), "exit code: 1", "ok"),
    "no such file": (ran("ls build"), "ls: build: No such file or directory\nexit code: 2", "ok"),
    "no such program": (ran("command -v rustup"), "exit code: 1", "ok"),
    "a log with a failure": (
        ran("gh run view 12 --log | tail -40"),
        "1 failed, 3 passed in 2s\nexit code: 0",
        "ok",
    ),
    "a file that names failures": (ran("cat notes.md"), "FAILED tests/test_a.py::test_b\nerror: old", "ok"),
    "checks that have not passed": (ran("gh pr checks 7"), "build\tfail\t2m\nexit code: 8", "ok"),
    "a difference": (ran("git diff --exit-code"), "diff --git a/x b/x\nexit code: 1", "ok"),
    "a request that failed": (
        ran("gh pr view 7"),
        "GraphQL: Could not resolve to a PullRequest\nexit code: 1",
        "exit 1",
    ),
    "a search tool that is missing": (ran("rg x"), "bash: rg: command not found\nexit code: 127", "exit 127"),
}
OTHER_TOOLS = {
    "a file that tells of codes": (called("read", path="a"), "exit code 137 means out of memory", "ok"),
    "a changelog": (called("read", path="a"), "changelog: fixed the 3 errors", "ok"),
    "the end of a log": (called("read", path="a"), "starting\nProcess exited with code 1", "ok"),
    "an error of the harness": (
        called("Read", file_path="a"),
        "<tool_use_error>File does not exist.</tool_use_error>",
        "error",
    ),
    "a patch that does not fit": (
        called("apply_patch", input="x"),
        "apply_patch verification failed: Failed to find",
        "error",
    ),
    "an edit": (called("edit", path="a", old_string="x"), "Edit applied successfully.", "ok"),
    "a refusal": (
        ran("rm -r x", "Bash"),
        "[error] The user doesn't want to proceed with this tool use.",
        "interrupted",
    ),
    "no result": (ran("make"), "[no result recorded: interrupted]", "interrupted"),
    "an object with an error": (called("book", id=1), '{"error": "no such flight"}', "error"),
    "still at work": (
        ran("make"),
        "Wall time: 1 seconds\nProcess running with session ID 7\nOutput:\n",
        "running",
    ),
}
GEMINI = "Output: {}\nProcess Group PGID: 75548"
NOT_KNOWN = {
    "words of an unknown program without an exit code": (ran("./provision"), "3 hosts\n", "ran"),
    "silence of an unknown program": (ran("./provision"), "(no output)", "ran"),
    "silence of a program that prints only failures": (ran("cp a b && git add b"), "", "ok"),
    "an exit code that a loop hides": (
        ran('for f in *.json; do ./check "$f"; done'),
        CODEX.format(0, "b.json: INVALID"),
        "ran",
    ),
    "a loop that ends at the first failure": (
        ran('set -e; for f in *.json; do ./check "$f"; done'),
        CODEX.format(0, "b.json"),
        "ok",
    ),
    "a pipe on another machine": (
        ran("ssh web01 './unpack | tail -1; uptime'"),
        CODEX.format(0, "up 3 days"),
        "ran",
    ),
    "a second attempt that passed": (
        ran("make lint || (make fmt && make lint)"),
        CODEX.format(0, "make: *** [lint] Error 1\nformatted\nno findings"),
        "ok",
    ),
    "a program whose exit code is always 0": (
        ran("curl -sS -X DELETE -w '%{http_code}' https://api/keys/1", "Bash"),
        '{"message":"key is in use"}\nHTTP 409',
        "error",
    ),
    "the same program with the option that makes its code count": (
        ran("curl -fsS -X DELETE https://api/keys/1", "Bash"),
        "removed",
        "ok",
    ),
    "an exit code above 0 that means success": (
        ran("robocopy a b /MIR"),
        "Files: 3\n<exited with exit code 1>",
        "ok",
    ),
    "what a lookup printed last proves nothing": (
        ran("./build.sh > log; cat log"),
        "[ci] ✓ fetched\nexit code: 0",
        "ran",
    ),
    "a line that the command echoes proves nothing": (ran("./build.sh | tail -2; echo Done"), "Done", "ran"),
    "a failure in the shape of other programs": (ran("./ci.sh"), "[ci]  ❌  Failure - npm ci", "error"),
    "a number that is no notice of an exit": (ran("./ci.sh"), "exit code 137 is out of memory", "ran"),
    "Gemini's lines around a failure": (
        ran("aws s3 cp a s3://b"),
        GEMINI.format("upload failed: ./a to s3://b An error occurred"),
        "error",
    ),
    "a PowerShell error record": (
        ran("Copy-Item a b"),
        "Copy-Item : denied\n    + CategoryInfo          : PermissionDenied\n<exited with exit code 0>",
        "error",
    ),
    "a PowerShell lookup": (ran("Get-EventLog -Newest 2 | Format-List"), "Message : error 5", "ok"),
    "a query that could not run": (
        ran("psql -c 'select * from gone'"),
        'ERROR:  relation "gone" does not exist',
        "error",
    ),
    "a cell that raised": (called("execute_code", code="d['x']"), "KeyError: 'x'", "error"),
    "an answer with an error in its second field": (
        called("create_issue", title="x"),
        '{"status": 422, "errors": [{"field": "title"}]}',
        "error",
    ),
    "an answer without an error": (
        called("create_issue", title="x"),
        '{"ok": true, "error": null, "id": 3}',
        "ok",
    ),
    "the state of something that was asked for": (
        called("get_application", id="x"),
        '{"name": "x", "status": "failed"}',
        "ok",
    ),
}
TABLE = {**EXIT_CODES, **HIDDEN, **CLOSING_LINES, **LOOKUPS, **OTHER_TOOLS, **NOT_KNOWN}


@pytest.mark.parametrize(("call", "result", "status"), TABLE.values(), ids=TABLE.keys())
def test_how_a_call_ended_is_read_from_its_command_and_its_result(call, result, status):
    assert outcome_of(call, result).status == status


def test_the_line_shown_says_what_failed():
    assert outcome_of(ran("go test ./... | head"), GO_FAILED).line == "--- FAIL: TestSlice (0.00s)"
    assert (
        outcome_of(ran("pytest; true"), "E   boom\n1 failed, 2 passed in 1.2s").line
        == "1 failed, 2 passed in 1.2s"
    )


def test_a_command_in_a_script_is_read_as_a_command():
    script = 'const r = await tools.exec_command({cmd:"cargo test\\nrg \\"x\\" src"}); text(r.output)'
    call = called("exec", input=script)
    assert (
        outcome_of(call, "Script completed\nWall time 1\nOutput:\n\nerror: test failed, to rerun").status
        == "error"
    )
    assert outcome_of(call, 'Script completed\nOutput:\n{"exit_code":101,"output":"no"}').status == "exit 101"


@pytest.mark.parametrize("key", ["cmd", '"cmd"', "'cmd'"])
def test_a_command_in_a_script_is_read_however_its_name_is_quoted(key):
    script = f'const r = await tools.exec_command({{{key}:"cargo test","workdir":"/w"}}); text(r.output)'
    assert command_of({"input": script}) == "cargo test"
    assert process_asked({"input": f'tools.write_stdin({{"session_id":77,{key}:""}})'}) == "77"


def test_a_process_that_ends_in_a_later_call_is_one_command_with_its_last_outcome():
    started = "Wall time: 1 seconds\nProcess running with session ID 7\nOutput:\ncompiling\n"
    ended = CODEX.format(1, "test result: FAILED. 3 passed; 1 failed")
    facts = read_facts(
        [
            {"role": "assistant", "tool_calls": [{**called("exec_command", cmd="cargo test"), "id": "a"}]},
            {"role": "tool", "tool_call_id": "a", "content": started},
            {
                "role": "assistant",
                "tool_calls": [{**called("write_stdin", session_id=7, chars=""), "id": "b"}],
            },
            {"role": "tool", "tool_call_id": "b", "content": ended},
        ]
    )
    assert {line: event.outcome.status for line, event in facts.commands.items()} == {"cargo test": "exit 1"}


def test_a_summary_does_not_call_a_search_that_found_nothing_a_failure():
    talk = [{"role": "system", "content": "You help."}, {"role": "user", "content": "Find the todo in src"}]
    for n in range(40):
        talk += [
            {"role": "assistant", "tool_calls": [{**ran(f"rg 'todo {n}' src"), "id": f"c{n}"}]},
            {"role": "tool", "tool_call_id": f"c{n}", "content": "exit code: 1\n" + "noise words here " * 60},
        ]
    engine = ContextCompressor(context_length=16_000, protect_last_n=2)
    engine.compress(talk)
    assert "→ exit" not in engine.last_report.summary


COMMANDS = st.lists(
    st.tuples(
        st.sampled_from(
            ["go test ./...", "rg x src", "ls", "make", "git push", "cd a", "cat 'a;b' \"$(x|y)\"", "x=1 y"]
        ),
        st.sampled_from([" && ", " || ", "; ", " | ", " & ", "\n", " 2>&1 | "]),
    ),
    min_size=1,
    max_size=5,
).map(lambda pairs: "".join(a + b for a, b in pairs)[: -len(pairs[-1][1])])


@given(st.text(max_size=200))
def test_an_unknown_program_whose_exit_code_is_not_shown_is_never_reported_as_ok_without_a_sign_of_success(
    text,
):
    outcome = outcome_of(ran("./provision --env staging"), text)
    signs = rules().success.found_in
    shown = [line for line in text.split("\n") if line.strip()]
    assert outcome.status != "ok" or any(map(signs, shown)) or "}" in text or outcome.check


@given(st.text(max_size=60) | COMMANDS, st.text(max_size=300))
def test_any_command_with_any_result_has_an_outcome(command, result):
    outcome = outcome_of(ran(command), result)
    assert outcome.status in ("ok", "ran", "running", "error", "interrupted") or outcome.status.startswith(
        "exit "
    )
    assert "\n" not in outcome.line


@given(st.sampled_from(sorted(rules().lookups - {"env", "command"})), st.integers(1, 2))
def test_a_lookup_that_finds_nothing_never_failed(program, code):
    assert not outcome_of(ran(f"{program} something"), f"exit code: {code}").failed


@given(st.integers(1, 255), st.text("abc \n", max_size=80))
def test_a_plain_command_with_an_exit_code_failed(code, said):
    assert outcome_of(ran("frobnicate --now"), f"{said}\nexit code: {code}").status == f"exit {code}"


@given(COMMANDS)
def test_quotes_and_substitutions_are_never_taken_apart(command):
    steps = parsed(f"echo '{command.replace(chr(39), '')}'").steps
    assert len(steps) == 1


COVERED = {
    "the same check with another pipe": ("go build ./... | tail -5", "go build ./... 2>&1 | head -50", True),
    "everything covers a part": ("go test ./...", "go test ./parser -run TestSlice", True),
    "a folder covers what is in it": ("go test ./cmd/...", "go test ./cmd/app", True),
    "a part does not cover everything": ("go test ./parser", "go test ./...", False),
    "a chosen test covers only itself": ("pytest -k slice", "pytest", False),
    "the same chosen test": ("pytest -q -k slice", "pytest -k slice -x", True),
    "another check": ("go vet ./...", "go build ./...", False),
    "another script": ("npm run lint", "npm run build", False),
    "a chain covers each of its checks": ("make fmt && make lint && make test", "make lint", True),
    "a check does not cover a chain": ("make lint", "make fmt && make lint && make test", False),
}


@pytest.mark.parametrize(("later", "earlier", "expected"), COVERED.values(), ids=COVERED.keys())
def test_a_later_run_covers_an_earlier_one_when_it_contains_it(later, earlier, expected):
    assert covers(later, earlier) is expected


def test_a_check_that_passed_again_is_no_longer_reported_as_failed():
    said = []
    for number, (command, result) in enumerate(
        [
            ("go test ./parser -run TestSlice | head -40", GO_FAILED),
            ("go vet ./...", "vet: broken\nexit code: 1"),
            ("go test ./... 2>&1 | tail -5", GO_PASSED),
        ]
    ):
        said += [
            {"role": "assistant", "tool_calls": [{**ran(command), "id": f"c{number}"}]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": result},
        ]
    failed = [line for line, event in read_facts(said).commands.items() if event.outcome.failed]
    assert failed == ["go vet ./..."]
