"""A command in a process that has loaded Plimsoll already does what the installed program does."""

import os
import subprocess

import pytest

from preloaded import PLIMSOLL, run_plimsoll


@pytest.mark.parametrize(
    ("arguments", "said", "code"),
    [
        (["config", "path"], "", 0),
        (["compress", "-", "--no-model", "-o", "-"], '[{"role": "user", "content": "Hé?"}]', 0),
        (["compress", "-", "--no-model"], '[{"role": ', 2),
    ],
)
def test_a_preloaded_command_answers_as_the_program_does(arguments, said, code, tmp_path):
    environment = {**os.environ, "PLIMSOLL_HOME": "home", "NO_COLOR": "1"}  # a path relative to the directory
    ours = run_plimsoll(*arguments, said=said, env=environment, cwd=tmp_path)
    theirs = subprocess.run(
        [PLIMSOLL, *arguments], input=said, env=environment, cwd=tmp_path, capture_output=True, text=True
    )
    assert ours.returncode == theirs.returncode == code, ours.stderr
    assert (ours.stdout, ours.stderr) == (theirs.stdout, theirs.stderr)
