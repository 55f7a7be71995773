"""What patches, scripts and build output leave as evidence, and what a file's line says."""

from plimsoll.context.ledger import read_facts
from plimsoll.context.ledger.headings import entries_of
from plimsoll.context.ledger.outcomes import called_in, program_output
from plimsoll.context.ledger.patches import is_about, is_patch, patch_text

PATCH = """*** Begin Patch
*** Update File: /home/me/app/src/cache.rs
@@ fn read_cache()
-    let old_reader = open_quietly(path);
+    let fresh_reader = open_locked(path);
*** End Patch
"""


def called(name, arguments, result, said="", number=1):
    return [
        {
            "role": "assistant",
            "content": said,
            "tool_calls": [
                {"id": f"c{number}", "type": "function", "function": {"name": name, "arguments": arguments}}
            ],
        },
        {"role": "tool", "tool_call_id": f"c{number}", "content": result},
    ]


def lines_under(facts, title):
    return [entry.text for entry in entries_of(facts, {}, 600) if entry.section == title and not entry.parent]


def test_a_patch_is_read_by_its_sides():
    both = patch_text(PATCH)
    assert is_patch(PATCH)
    assert both.removed.strip() == "let old_reader = open_quietly(path);"
    assert "let fresh_reader = open_locked(path);" in both.new.splitlines()[2]
    assert not {"+", "*", "@"} & set(both.new)


def test_a_line_that_a_patch_removes_is_no_longer_evidence():
    shown = called("read", {"path": "src/cache.rs"}, "let old_reader = open_quietly(path);")
    patched = called("apply_patch", {"input": PATCH}, "Success. Updated the following files:", number=2)
    quoted = read_facts([*shown, *patched]).evidence.lines
    assert "let fresh_reader = open_locked(path);" in quoted
    assert not any("old_reader" in line for line in quoted)


def test_lines_of_a_build_that_name_what_it_is_at_are_no_evidence():
    output = (
        "   Compiling serde_json v1.0.150\n   Downloaded adler2 v2.0.1\nerror: cannot find `load_config` here"
    )
    quoted = read_facts(called("bash", {"command": "cargo build"}, output)).evidence.lines
    assert not any("serde_json" in line or "adler2" in line for line in quoted)
    assert any("load_config" in line for line in quoted)


def test_the_lines_of_a_harness_before_the_output_are_no_evidence():
    result = "Chunk ID: bba665\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:\nsrc/a_b.rs"
    assert program_output(result) == "src/a_b.rs"
    assert program_output("Output:\nof a program") == "Output:\nof a program"
    wrapped = (
        'Script completed\nWall time 0.1 seconds\nOutput:\n\n{"chunk_id":"6","exit_code":0,"output":"a\\nb"}'
    )
    assert program_output(wrapped) == "a\nb"


def test_a_tool_that_a_script_calls_is_read_as_a_call_of_that_tool():
    script = 'const r = await tools.update_plan({plan:[{step:"Lock, then: read",status:"pending"}]}); text(r)'
    assert called_in(script) == ("update_plan", {"plan": [{"step": "Lock, then: read", "status": "pending"}]})
    facts = read_facts(called("exec", {"input": script}, "Script completed\nOutput:\n{}"))
    assert facts.todos.items == {"Lock, then: read": "pending"}


def test_a_script_that_waits_for_a_process_is_no_work_done():
    script = (
        'const r = await tools.write_stdin({session_id:38749,chars:"",yield_time_ms:10000}); text(r.output)'
    )
    facts = read_facts(
        called("exec", {"input": script}, "Script completed\nWall time: 1 s\nOutput:\nstill busy")
    )
    assert lines_under(facts, "Done") == []


def test_a_files_line_names_what_was_changed_and_why():
    said = "Now let me read the cache through a locked reader:"
    facts = read_facts(called("apply_patch", {"input": PATCH}, "Success. Updated the following files:", said))
    assert lines_under(facts, "Relevant Files") == [
        "- `/home/me/app/src/cache.rs` — edited 1×: `read_cache`; Read the cache through a locked reader"
    ]


def test_a_files_line_leaves_out_what_was_said_about_something_else():
    said = "Next I'm publishing the release and posting a reply."
    facts = read_facts(called("apply_patch", {"input": PATCH}, "Success. Updated the following files:", said))
    assert lines_under(facts, "Relevant Files") == ["- `/home/me/app/src/cache.rs` — edited 1×: `read_cache`"]
    assert not is_about(said, PATCH)


def test_a_name_in_what_was_said_about_a_file_keeps_its_letters():
    said = "cache.rs - `read_cache` opens a locked reader"
    facts = read_facts(called("apply_patch", {"input": PATCH}, "Success. Updated the following files:", said))
    assert lines_under(facts, "Relevant Files")[0].endswith(f"`read_cache`; {said}")
