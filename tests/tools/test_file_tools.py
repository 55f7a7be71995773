"""Reading, writing and patching files."""

import asyncio
import os
import stat
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from toolkit import call, place, run, text, yes

from plimsoll.tools.files.edits import Edit, EditMismatch, apply, difference
from plimsoll.tools.files.lines import read_page
from plimsoll.tools.files.text import Encoding, decoded, encoding_of

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 40
TEXTS = st.text(alphabet=st.sampled_from("ab \n\r\tüé漢🙂"), max_size=60)


@pytest.fixture
def here(tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    return place(project)


@pytest.fixture
def root(here):
    return here.workplace.root


# --- reading


def test_a_page_says_which_lines_it_is_and_how_to_continue(here, root):
    (root / "a.txt").write_text("".join(f"line {n}\n" for n in range(1, 11)), "utf-8")
    shown = text(here, "read_file", path="a.txt", offset=3, limit=2)
    assert shown == "a.txt: lines 3-4 of 10\nline 3\nline 4\n[next: offset=5]"


def test_a_page_after_the_end_says_how_many_lines_there_are(here, root):
    (root / "a.txt").write_text("one\ntwo", "utf-8")
    assert (
        text(here, "read_file", path="a.txt", offset=9) == "a.txt: there is no line 9; the file has 2 lines"
    )
    (root / "b.txt").touch()
    assert text(here, "read_file", path="b.txt") == "b.txt: the file is empty"


def test_a_page_stays_within_the_limit_and_names_the_next_line(here, root):
    (root / "a.txt").write_text("x" * 99 + "\n" + ("y" * 99 + "\n") * 999, "utf-8")
    shown = text(here, "read_file", path="a.txt")
    assert len(shown) <= here.output_limit
    last = int(shown.split("lines 1-")[1].split(" ")[0])
    assert last < 1000
    assert shown.endswith(f"[next: offset={last + 1}]")


def test_a_long_line_is_cut_and_its_rest_can_be_read(here, root):
    (root / "a.json").write_text("short\n" + "".join(str(n % 10) for n in range(50_000)) + "\nend\n", "utf-8")
    shown = text(here, "read_file", path="a.json")
    assert "[… 48,000 characters more]" in shown
    assert "[the rest of line 2: offset=2 limit=1 column=2001]" in shown
    rest = text(here, "read_file", path="a.json", offset=2, limit=1, column=2001)
    assert len(rest) <= here.output_limit
    assert rest.split("\n")[1].startswith("0123456789")


def test_a_file_of_any_size_is_read_in_bounded_memory(here, root):
    import tracemalloc

    with (root / "big").open("wb") as file:
        for _ in range(200):
            file.write(b"a" * 999 + b"\n" + b"b" * 499_000)
    tracemalloc.start()
    shown = text(here, "read_file", path="big", offset=150, limit=1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "lines 150-150 of 201" in shown
    assert peak < 8_000_000


@settings(max_examples=100, deadline=None)
@given(TEXTS, st.integers(1, 7), st.integers(1, 4))
def test_a_text_can_be_read_to_its_last_character(tmp_path_factory, content, widest, count):
    path = tmp_path_factory.mktemp("pages") / "f"
    path.write_bytes(content.encode("utf-8"))
    lines = [line.removesuffix("\r") for line in content.removesuffix("\n").split("\n")] if content else []
    read, line = [], 1
    while line <= len(lines):
        page = read_page(path, Encoding("utf-8"), line, count, 1, widest, 1000)
        assert page.total == len(lines)
        for number, found in enumerate(page.lines, start=line):
            whole, column = found.text, 1 + len(found.text)
            while len(whole) < found.length:
                part = read_page(path, Encoding("utf-8"), number, 1, column, widest, 1000).lines[0].text
                whole, column = whole + part, column + len(part)
            read.append(whole)
        line += len(page.lines)
    assert read == lines


def test_a_missing_file_is_reported_with_the_names_near_it(here, root):
    (root / "src").mkdir()
    (root / "src" / "model.py").touch()
    (root / "lib").mkdir()
    (root / "lib" / "modle.py").touch()
    shown = text(here, "read_file", path="src/modle.py")
    assert "src/modle.py does not exist" in shown
    assert "Similar names: src/model.py, lib/modle.py" in shown


def test_a_directory_is_listed(here, root):
    (root / "b.txt").write_text("12345", "utf-8")
    (root / "a").mkdir()
    (root / "c").symlink_to("b.txt")
    assert text(here, "read_file", path=".") == "./: 3 entries\na/\nb.txt (5 bytes)\nc -> b.txt"


def test_an_image_is_returned_as_a_part_and_a_large_one_is_refused(here, root):
    (root / "a.png").write_bytes(PNG)
    message = run(here, call("read_file", path="a.png"))[0].message
    assert message["content"][0] == {"type": "text", "text": f"a.png: image/png, {len(PNG)} bytes"}
    assert message["content"][1]["image_url"]["url"].startswith("data:image/png;base64,iVBOR")
    (root / "b.png").write_bytes(PNG + b"\0" * 4_000_000)
    assert "scale it down" in text(here, "read_file", path="b.png")


def test_binary_files_and_things_that_are_no_files_are_reported(here, root):
    (root / "a.bin").write_bytes(b"\0\1\2" * 100)
    assert "binary file of 300 bytes" in text(here, "read_file", path="a.bin")
    os.mkfifo(root / "pipe")
    assert "not a regular file" in text(here, "read_file", path="pipe")
    assert "not a regular file" in text(here, "read_file", path="/dev/zero")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252"])
def test_encodings_are_recognised(here, root, encoding):
    (root / "a.txt").write_bytes("Größe: 3 €\nzwei\n".encode(encoding))
    assert "Größe: 3 €\nzwei" in text(here, "read_file", path="a.txt")


def test_reading_outside_of_the_project_needs_no_approval(here, root):
    (root.parent / "other.txt").write_text("there\n", "utf-8")
    assert "there" in text(here, "read_file", path="../other.txt")
    assert "there" in text(here, "read_file", path="~/other.txt")


# --- writing


def test_a_file_is_created_with_its_directories_and_then_replaced(here, root):
    assert text(here, "write_file", path="a/b/c.txt", content="one\ntwo") == (
        "created a/b/c.txt: 2 lines, 7 bytes"
    )
    assert text(here, "write_file", path="a/b/c.txt", content="é\n") == "replaced a/b/c.txt: 1 line, 3 bytes"
    assert (root / "a/b/c.txt").read_text("utf-8") == "é\n"
    assert [entry.name for entry in (root / "a/b").iterdir()] == ["c.txt"]


def test_a_mode_stays_and_a_new_file_follows_the_umask(here, root):
    (root / "run.sh").write_text("x", "utf-8")
    (root / "run.sh").chmod(0o751)
    text(here, "write_file", path="run.sh", content="y")
    assert stat.S_IMODE((root / "run.sh").stat().st_mode) == 0o751
    before = os.umask(0o027)
    try:
        text(here, "write_file", path="new", content="y")
    finally:
        os.umask(before)
    assert stat.S_IMODE((root / "new").stat().st_mode) == 0o640


def test_a_link_stays_a_link(here, root):
    (root / "real").write_text("x", "utf-8")
    (root / "link").symlink_to("real")
    text(here, "write_file", path="link", content="y")
    assert (root / "link").is_symlink()
    assert (root / "real").read_text("utf-8") == "y"


@pytest.mark.parametrize("path", ["../out.txt", "/tmp/plimsoll-never-written", "link/out.txt", "~/out.txt"])
def test_writing_outside_of_the_project_needs_approval(here, root, path):
    (root / "link").symlink_to(root.parent)
    shown = text(here, "write_file", path=path, content="x")
    assert "was not run because it writes to" in shown
    assert not (root.parent / "out.txt").exists()
    assert not Path("/tmp/plimsoll-never-written").exists()


def test_writing_outside_of_the_project_is_done_with_approval(here, root):
    text(here, "write_file", path="../out.txt", content="x", approve=yes)
    assert (root.parent / "out.txt").read_text("utf-8") == "x"


def test_what_cannot_be_written_is_reported(here, root):
    (root / "d").mkdir()
    (root / "f").touch()
    assert "d is a directory" in text(here, "write_file", path="d", content="x")
    assert "f is a file, not a directory" in text(here, "write_file", path="f/x", content="x")
    assert "half a character" in text(here, "write_file", path="x", content="\ud800")
    assert "cannot" not in text(here, "write_file", path="ok", content="x")


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from(["..", ".", "a", "b", "link", "~", ""]), min_size=1, max_size=6).map("/".join)
)
def test_no_path_reaches_outside_without_approval(tmp_path_factory, path):
    base = tmp_path_factory.mktemp("paths")
    project = base / "project"
    (project / "a").mkdir(parents=True)
    (project / "link").symlink_to(base)
    before = {str(found) for found in base.rglob("*") if project not in found.parents}
    run(place(project), call("write_file", path=path + "/new.txt", content="x"))
    assert {str(found) for found in base.rglob("*") if project not in found.parents} == before


# --- patching


def test_an_edit_is_made_and_the_difference_shown(here, root):
    (root / "a.py").write_text("".join(f"line {n}\n" for n in range(1, 31)), "utf-8")
    shown = text(here, "patch", path="a.py", old_string="line 20\n", new_string="LINE 20\nmore\n")
    assert shown == (
        "--- a.py\n+++ a.py\n@@ -18,5 +18,6 @@\n line 18\n line 19\n-line 20\n+LINE 20\n+more\n line 21\n line 22"
    )
    assert "LINE 20\nmore\nline 21" in (root / "a.py").read_text("utf-8")


def test_a_string_that_is_not_unique_changes_nothing_unless_all_are_meant(here, root):
    (root / "a").write_text("x = 1\ny = 2\nx = 1\n", "utf-8")
    shown = text(here, "patch", path="a", old_string="x = 1", new_string="x = 3")
    assert "nothing was changed: old_string occurs 2 times (lines 1, 3)" in shown
    text(here, "patch", path="a", old_string="x = 1", new_string="x = 3", replace_all=True)
    assert (root / "a").read_text("utf-8") == "x = 3\ny = 2\nx = 3\n"


def test_a_string_that_is_not_there_is_reported_with_the_nearest_place(here, root):
    (root / "a.py").write_text("import os\n\ndef main(args):\n    return run(args)\n", "utf-8")
    shown = text(here, "patch", path="a.py", old_string="def main(arg):\n    return run(arg)", new_string="x")
    assert "The nearest place is at line 3:\ndef main(args):\n    return run(args)" in shown
    shown = text(here, "patch", path="a.py", old_string="def main(args):\n\treturn run(args)", new_string="x")
    assert "lines 3-4 differ from it only in white space" in shown
    assert "nor anything like it" in text(here, "patch", path="a.py", old_string="zzz qqq", new_string="x")


def test_several_edits_are_made_together_or_not_at_all(here, root):
    (root / "a").write_text("one\n", "utf-8")
    (root / "b").write_text("two\n", "utf-8")
    edits = [
        {"path": "a", "old_string": "one", "new_string": "1"},
        {"path": "b", "old_string": "nope", "new_string": "2"},
    ]
    assert "nothing was changed: edit 2: old_string was not found" in text(here, "patch", edits=edits)
    assert (root / "a").read_text("utf-8") == "one\n"
    edits[1]["old_string"] = "two"
    shown = text(here, "patch", edits=[*edits, {"path": "a", "old_string": "1", "new_string": "eins"}])
    assert (root / "a").read_text("utf-8") == "eins\n"
    assert (root / "b").read_text("utf-8") == "2\n"
    assert "--- a" in shown
    assert "--- b" in shown


def test_an_edit_outside_of_the_project_needs_approval(here, root):
    (root.parent / "x").write_text("a", "utf-8")
    assert "was not run" in text(here, "patch", path="../x", old_string="a", new_string="b")
    edits = [{"path": "../x", "old_string": "a", "new_string": "b"}]
    assert "was not run" in text(here, "patch", edits=edits)
    assert (root.parent / "x").read_text("utf-8") == "a"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"path": "a"}, "there is nothing to do"),
        ({"path": "a", "old_string": "x"}, "belong together"),
        ({"old_string": "x", "new_string": "y"}, "path is missing"),
        ({"path": "a", "old_string": "", "new_string": "y"}, "old_string is empty"),
        ({"path": "a", "old_string": "x", "new_string": "x"}, "are the same"),
        ({"path": "aa", "old_string": "x", "new_string": "y"}, "aa does not exist"),
        ({"path": "bin", "old_string": "x", "new_string": "y"}, "not a text file"),
    ],
)
def test_an_edit_that_makes_no_sense_is_explained(here, root, arguments, said):
    (root / "a").write_text("x", "utf-8")
    (root / "bin").write_bytes(b"x\0")
    assert said in text(here, "patch", **arguments)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_patched_file_keeps_its_encoding_and_its_line_ends(here, root, encoding, end):
    before = end.join(["Größe", "alt", "ende", ""])
    (root / "a").write_bytes(before.encode(encoding))
    text(here, "patch", path="a", old_string="Größe\nalt\n", new_string="Größe\nneu\n")
    assert (root / "a").read_bytes() == before.replace("alt", "neu").encode(encoding)


def test_a_character_that_the_encoding_does_not_have_changes_nothing(here, root):
    (root / "a").write_bytes("Größe".encode("cp1252"))
    assert "cannot be written in the file's encoding, cp1252" in text(
        here, "patch", path="a", old_string="Gr", new_string="漢"
    )
    assert (root / "a").read_bytes() == "Größe".encode("cp1252")


@given(TEXTS, TEXTS, TEXTS, TEXTS)
def test_an_edit_of_a_unique_string_changes_that_and_nothing_else(before, old, new, after):
    whole = before + old + after
    assume(old and old != new)
    occurrences = sum(whole.startswith(old, at) for at in range(len(whole)))
    if occurrences == 1:
        assert apply(whole, Edit(old, new)) == before + new + after
    else:
        with pytest.raises(EditMismatch, match=f"occurs {occurrences} times"):
            apply(whole, Edit(old, new))


@given(TEXTS, TEXTS.filter(bool), TEXTS)
def test_a_string_that_is_not_there_never_changes_anything(whole, old, new):
    assume(old not in whole and old != new)
    with pytest.raises(EditMismatch):
        apply(whole, Edit(old, new))


@given(TEXTS, TEXTS)
def test_a_difference_is_reported_for_any_two_texts(before, after):
    assert difference("f", before, after).startswith("--- f\n+++ f")


@given(st.binary(max_size=200) | TEXTS.map(lambda t: t.encode("utf-16")) | TEXTS.map(str.encode))
def test_a_file_that_is_text_comes_back_byte_for_byte(data):
    found = decoded(data)
    if found is not None:
        assert found.encoded(found.text) == data


@given(TEXTS)
def test_utf_8_is_always_recognised_as_utf_8(content):
    assert encoding_of(content.encode("utf-8")) == Encoding("utf-8")


def test_a_long_difference_is_shortened(here, root):
    (root / "a").write_text("".join(f"{n}\n" for n in range(1500)), "utf-8")
    shown = text(here, "patch", path="a", old_string="\n", new_string="!\n", replace_all=True)
    assert len(shown) < 7_000
    assert "characters left out" in shown


def test_a_file_is_never_seen_half_written(here, root):
    (root / "a").write_text("old" * 100_000, "utf-8")
    seen = set()

    async def main():
        from plimsoll.tools import standard_tools

        writing = asyncio.ensure_future(
            standard_tools().run_all([call("write_file", path="a", content="new" * 100_000)], None, here)
        )
        while not writing.done():
            seen.add((root / "a").read_text("utf-8"))
            await asyncio.sleep(0)

    asyncio.run(main())
    assert seen <= {"old" * 100_000, "new" * 100_000}
