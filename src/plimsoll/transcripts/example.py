"""The example conversation that ships with Plimsoll.

read_example() ──► [Transcript(source="fastapi.json", …)]
"""

from importlib.resources import files

from plimsoll.transcripts.reader import read_stream
from plimsoll.transcripts.transcript import Transcript

EXAMPLE = "fastapi.json"


def read_example() -> list[Transcript]:
    """The bundled conversation, read like any other file."""
    with files("plimsoll").joinpath("examples", EXAMPLE).open("rb") as handle:
        return list(read_stream(handle, EXAMPLE))
