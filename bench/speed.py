"""How fast the compressor is without a model, against hermes-agent 0.19.0 in the same run.

Bars: 20 000 messages in one pass take at most half of the peer's time, time grows linearly with the
messages, peak memory is at most three times the input. The peer is installed into an environment of
its own under `.local/peers` on first use.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
import tomllib
import tracemalloc
from pathlib import Path

from rich.console import Console
from rich.table import Table

from conversations import long_conversation
from figures import report
from plimsoll import ContextCompressor

ROOT = Path(__file__).parents[1]
PEER = tomllib.loads((ROOT / "tests" / "peers" / "peers.toml").read_text("utf-8"))["hermes"]["packages"][0]
SIZES = (5_000, 10_000, 20_000, 40_000)
REPEATS = 9
MAX_OF_PEER, MAX_GROWTH, MAX_MEMORY = 0.5, 1.35, 3.0


def ours(messages: list, repeats: int = REPEATS) -> list[float]:
    """Seconds of processor time of each of several passes: another program on the machine does not count."""
    seconds = []
    for _ in range(repeats):
        engine = ContextCompressor(context_length=200_000)
        started = time.process_time()
        engine.compress(messages)
        seconds.append(time.process_time() - started)
        assert engine.last_report is not None
        assert engine.last_report.outcome == "compacted"
    return seconds


def peer_python() -> Path:
    """The interpreter of the peer's own environment, installed on first use."""
    install = [sys.executable, str(ROOT / "tests" / "peers" / "install.py"), "hermes"]
    subprocess.run(install, check=True, stdout=sys.stderr)
    return ROOT / ".local" / "peers" / "hermes" / "bin" / "python"


def peer(messages: list) -> list[float]:
    """The peer's seconds for the same conversation, in a process of its own."""
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "conversation.json"
        path.write_text(json.dumps(messages), "utf-8")
        command = [
            str(peer_python()),
            str(Path(__file__).with_name("hermes_speed.py")),
            str(path),
            str(REPEATS),
        ]
        environment = {**os.environ, "HOME": scratch, "HERMES_HOME": scratch}
        done = subprocess.run(
            command, capture_output=True, text=True, check=True, env=environment, cwd=scratch
        )
    return json.loads(done.stdout.splitlines()[-1])["seconds"]


def yielding(size: int) -> float:
    """Best seconds of a pass in which the whole conversation is protected and must yield."""
    messages = long_conversation(size)
    seconds = []
    for _ in range(3):
        engine = ContextCompressor(context_length=32_000, protect_last_n=size)
        started = time.process_time()
        engine.compress(messages)
        seconds.append(time.process_time() - started)
    return min(seconds)


def memory_ratio(messages: list) -> float:
    """Peak memory of a pass, the input included, in units of the input."""
    text = json.dumps(messages)
    tracemalloc.start()
    copy = json.loads(text)
    size = tracemalloc.get_traced_memory()[0]
    tracemalloc.reset_peak()
    ContextCompressor(context_length=200_000).compress(copy)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / size


def main() -> int:
    """Measure, print a table, and say which bars hold."""
    table = Table("messages", "seconds (best)", "µs per message", title="Compaction without a model")
    best = {}
    for size in SIZES:
        best[size] = min(ours(long_conversation(size)))
        table.add_row(f"{size:,}", f"{best[size]:.3f}", f"{best[size] / size * 1e6:.2f}")
        report("speed", f"{size:,} messages", best[size] / size * 1e6, "µs per message")
    Console().print(table)
    messages = long_conversation(20_000)
    # Turn by turn, and the best of each: what else the machine does meets both alike.
    rounds = [(ours(messages), peer(messages)) for _ in range(3)]
    of_peer = min(min(us) for us, _ in rounds) / min(min(them) for _, them in rounds)
    growth = (best[40_000] / 40_000) / (best[10_000] / 10_000)
    memory = memory_ratio(messages)
    bars = [
        (f"time of {PEER} at 20 000 messages", of_peer, MAX_OF_PEER),
        ("time per message, 40 000 against 10 000 messages", growth, MAX_GROWTH),
        (
            "time per message where all must yield, 16 000 against 4 000",
            yielding(16_000) / 4 / yielding(4_000),
            1.5,
        ),
        ("peak memory in inputs", memory, MAX_MEMORY),
    ]
    verdicts = Table("bar", "measured", "at most", "", title="Bars")
    for name, measured, most in bars:
        verdicts.add_row(name, f"{measured:.2f}x", f"{most:.2f}x", "held" if measured <= most else "MISSED")
        report("speed", name, measured, "x")
    Console().print(verdicts)
    return 0 if all(measured <= most for _, measured, most in bars) else 1


if __name__ == "__main__":
    sys.exit(main())
