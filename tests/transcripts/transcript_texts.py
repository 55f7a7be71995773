"""Reading a transcript from a text of the test itself."""

import io

import pytest

from plimsoll.errors import TranscriptError
from plimsoll.transcripts import Transcript, read_stream

HELLO = [{"role": "user", "content": "hello"}]


def read(data: bytes | str) -> list[Transcript]:
    raw = data.encode() if isinstance(data, str) else data
    return list(read_stream(io.BytesIO(raw), "it.json"))


def refusal(data: bytes | str) -> str:
    with pytest.raises(TranscriptError) as caught:
        read(data)
    return str(caught.value)
