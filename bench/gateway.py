"""The gateway under load: what it adds to a request, how many it takes, whether its memory stays flat.

python bench/gateway.py            everything (several minutes)
python bench/gateway.py --quick    less of it
python bench/gateway.py --alone    without the peer, which is slow to start
python bench/gateway.py --dialects only the comparison of all dialects' endpoints (--quick: under a minute)
python bench/run.py gateway --save before -- --alone      saved, for --against before

Compared in one run on one machine, because machines differ: the same load straight to the upstream, and
LiteLLM's proxy at its best (Granian, two workers) in `.local/peers/litellm-proxy`, where that is installed:
`python -m venv .local/peers/litellm-proxy`, then there `pip install "litellm[proxy]" granian opentelemetry-sdk
opentelemetry-exporter-otlp` and `python -m compileall`.
"""

import argparse
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import uvloop

from dialect_load import NEW, OLD, addresses, dialect_request
from figures import report
from load import KEY, PAUSE, PIECES, Measured, load, streams

HERE = Path(__file__).parent
PEER = HERE.parent / ".local" / "peers" / "litellm-proxy" / "bin" / "litellm"
INSTALL = "`python tests/peers/install.py litellm-proxy`"
STREAMS, CONNECTIONS, WORKERS = 200, 50, 2
MEDIAN_BAR, P99_BAR, RATE_BAR, GROWTH_BAR = 5.0, 20.0, 5.0, 1.10
DIALECT_BAR = 1.3  # newer dialects against the slower of the older ones
# Milliseconds by which medians and p99 of the same code differ from run to run on a machine with other work.
MEDIAN_RESOLUTION, P99_RESOLUTION = 0.3, 5.0
PORT = "PORT"  # where a command gets the port
_PATIENCE = 120.0  # seconds for a server to listen


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as held:
        return int(held.getsockname()[1])


@contextmanager
def running(command: list[str], port: int, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    """A server in a process of its own, until it listens and to its end."""
    quiet = subprocess.DEVNULL  # a line for each request would be measured too
    process = subprocess.Popen(command, env={**os.environ, **environment}, stdout=quiet, stderr=quiet)
    try:
        ends = time.monotonic() + _PATIENCE
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                if time.monotonic() > ends or process.poll() is not None:
                    raise RuntimeError(f"{command[0]} does not listen on {port}") from None
                time.sleep(0.1)
        yield process
    finally:
        process.terminate()
        try:
            process.wait(40)
        except subprocess.TimeoutExpired:
            process.kill()


def resident(process: subprocess.Popen[bytes]) -> int:
    """Bytes in memory of a process and its children."""
    total = 0
    for pid in [process.pid, *_children(process.pid)]:
        fields = Path(f"/proc/{pid}/statm").read_text().split()
        total += int(fields[1]) * os.sysconf("SC_PAGE_SIZE")
    return total


def _children(pid: int) -> list[int]:
    try:
        found = [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []
    return [*found, *(below for child in found for below in _children(child))]


def percentile(seconds: list[float], share: float) -> float:
    """In milliseconds."""
    ordered = sorted(seconds)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] * 1_000


def row(name: str, direct: float, ours: float, bar: float) -> bool:
    """One line of the table; whether the bar was held."""
    held = ours - direct <= bar
    verdict = "ok" if held else "MISSED"
    print(
        f"  {name:<42} {direct:>8.2f} {ours:>8.2f} {ours - direct:>8.2f}   < {bar:g} ms  {verdict}",
        flush=True,
    )
    return held


def added(upstream: int, gateway: int, ours: subprocess.Popen[bytes], quick: bool) -> bool:
    """What the gateway adds: alone, and with many streams under way."""
    print(f"\n  {'milliseconds':<42} {'direct':>8} {'gateway':>8} {'added':>8}")
    number, held = 100 if quick else 400, True
    for name, size in (
        ("one after the other, whole", 1_500),
        ("one after the other, 100 KB of history", 100_000),
    ):
        uvloop.run(load(gateway, 1, 20, size=size))  # warm
        parts: dict[int, list[Measured]] = {upstream: [], gateway: []}
        for turn in range(3):  # by turns, as the machine may be busy with other work
            for port in parts:
                parts[port].append(uvloop.run(load(port, 1, number, start=turn * 100_000, size=size)))
        held &= compared(name, [[part.first for part in parts[port]] for port in (upstream, gateway)])
    return streaming(upstream, gateway, ours, quick) and held


def streaming(upstream: int, gateway: int, ours: subprocess.Popen[bytes], quick: bool) -> bool:
    """The same with many streams under way, and what they cost."""
    parts: dict[int, list[Measured]] = {upstream: [], gateway: []}
    used = 0.0
    uvloop.run(streams(gateway, STREAMS, 1.0))  # warm: its connections are open, and every process has begun
    for turn in range(2 if quick else 5):
        for port in parts:
            before = cpu_seconds(ours)
            parts[port].append(
                uvloop.run(streams(port, STREAMS, 5.0 if quick else 10.0, start=turn * 100_000))
            )
            used += cpu_seconds(ours) - before
    both = [parts[upstream], parts[gateway]]
    held = compared(f"{STREAMS} streams, first event", [[part.first for part in side] for side in both])
    held &= compared(
        f"{STREAMS} streams, each later event", [[part.events for part in side] for side in both]
    )
    begun = sum(len(part.whole) * (1 + PIECES * PAUSE / part.seconds) for part in parts[gateway])
    print(f"  CPU of the gateway: {used / begun * 1_000:.2f} ms for a stream of {PIECES} events", flush=True)
    report("gateway", f"CPU for a stream of {PIECES} events", used / begun * 1_000, "ms")
    return held and not sum(part.failed for side in both for part in side)


def compared(name: str, both: list[list[list[float]]]) -> bool:
    """Median and p99 of the turns of either side; whether the bars were held."""
    held = True
    for word, share, bar in (("median", 0.5, MEDIAN_BAR), ("p99", 0.99, P99_BAR)):
        direct, ours = (statistics.median(percentile(turn, share) for turn in side) for side in both)
        held &= row(f"{name}, {word}", direct, ours, bar)
        resolution = MEDIAN_RESOLUTION if word == "median" else P99_RESOLUTION
        report("gateway", f"{name}, {word}, added", ours - direct, "ms", resolution=resolution)
    return held


def cpu_seconds(process: subprocess.Popen[bytes]) -> float:
    """Processor time of a process and its children so far."""
    total = 0
    for pid in [process.pid, *_children(process.pid)]:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        total += int(fields[11]) + int(fields[12])
    return total / os.sysconf("SC_CLK_TCK")


def throughput(name: str, port: int, seconds: float, ours: subprocess.Popen[bytes] | None = None) -> float:
    """Requests per second with keep-alive connections, in the best of three runs; of `ours` also the CPU for one."""
    uvloop.run(load(port, CONNECTIONS, 2))
    rates, each, failed, served = [], 10, 0, 0
    before = cpu_seconds(ours) if ours else 0.0
    ends = time.monotonic() + seconds
    while time.monotonic() < ends or len(rates) < 3:
        measured = uvloop.run(load(port, CONNECTIONS, each))
        rates.append(measured.rate)
        failed += measured.failed
        served += len(measured.whole)
        each = max(5, int(measured.rate * seconds / 4 / CONNECTIONS))
    best, middle = max(rates), statistics.median(rates)
    print(f"  {name:<42} {best:>8.0f} best {middle:>8.0f} median   {failed} failed", flush=True)
    if ours is not None:
        used = (cpu_seconds(ours) - before) / served * 1_000
        print(f"  CPU of the gateway: {used:.3f} ms for a request", flush=True)
        report("gateway", "CPU for a request", used, "ms")
        report("gateway", "requests a second", best, "a second", "higher")
    return best


def memory(name: str, process: subprocess.Popen[bytes], port: int, requests: int, size: int) -> bool:
    """Whether memory grows in the second half."""
    tenth = requests // 10
    sizes = []
    for part in range(10):
        uvloop.run(load(port, CONNECTIONS, tenth // CONNECTIONS, start=1_000_000 + part * tenth, size=size))
        sizes.append(resident(process) / 1e6)
    growth = sizes[-1] / sizes[4]
    held = growth <= GROWTH_BAR
    report("gateway", f"memory after {tenth * 10:,} {name}", sizes[-1], "MB")
    print(f"\n  memory over {tenth * 10:,} {name}, MB: {' '.join(f'{size:.0f}' for size in sizes)}")
    print(
        f"  last to fifth tenth: {growth:.3f}   <= {GROWTH_BAR:g}  {'ok' if held else 'MISSED'}", flush=True
    )
    return held


def every_dialect(command: list[str], home: str, quick: bool) -> bool:
    """The endpoints of all dialects, each on an upstream of its own dialect; whether the newer ones are as fast."""
    upstream, gateway = free_port(), free_port()
    served = [str(gateway) if one == PORT else one for one in command]
    unset = dict.fromkeys(("PLIMSOLL_MODEL__BASE_URL", "PLIMSOLL_MODEL__PROVIDER"), "")
    environment = {**unset, "PLIMSOLL_HOME": home, **addresses(upstream)}
    held = True
    with (
        running([sys.executable, str(HERE / "dialect_load.py"), str(upstream)], upstream),
        running(served, gateway, **environment),
    ):
        for name, size, stream in (
            ("whole", 1_500, False),
            ("streamed", 1_500, True),
            ("100 KB of history", 100_000, False),
        ):
            print(f"\n  {name:<28} {'added, ms':>10} {'a second':>10}")
            held &= within_bars(name, measured_dialects(upstream, gateway, size, stream, quick))
    return held


def measured_dialects(
    upstream: int, gateway: int, size: int, stream: bool, quick: bool
) -> dict[str, tuple[float, float]]:
    """Added milliseconds at the median, and requests a second, of each dialect; measured by turns."""
    times: dict[tuple[str, int], list[float]] = {}
    rates: dict[str, list[float]] = {}
    each, turns = (25, 4) if quick else (100, 8)
    for turn in range(turns + 1):
        for name in (*OLD, *NEW):
            make = partial(dialect_request, name, stream)
            for port in (upstream, gateway):
                one = uvloop.run(load(port, 1, each, start=turn * each, size=size, make=make))
                assert not one.failed, f"{name}: {one.failed} of {each} failed"
                if turn:  # the first is for warming up
                    times.setdefault((name, port), []).append(percentile(one.first, 0.5))
            many = uvloop.run(load(gateway, CONNECTIONS, max(2, each // 10), size=size, make=make))
            if turn:
                rates.setdefault(name, []).append(many.rate)
    return {
        name: (
            statistics.median(times[name, gateway]) - statistics.median(times[name, upstream]),
            statistics.median(rates[name]),
        )
        for name in rates
    }


def within_bars(name: str, found: dict[str, tuple[float, float]]) -> bool:
    """A line for each dialect; whether the newer ones are within the bar."""
    slowest, lowest = max(found[old][0] for old in OLD), min(found[old][1] for old in OLD)
    held = True
    for dialect, (added_ms, rate) in found.items():
        is_held = dialect in OLD or (added_ms <= slowest * DIALECT_BAR and rate >= lowest / DIALECT_BAR)
        held &= is_held
        verdict = "" if dialect in OLD else f"within {DIALECT_BAR:g}x  ok" if is_held else "MISSED"
        print(f"  {dialect:<28} {added_ms:>10.2f} {rate:>10.0f}   {verdict}", flush=True)
        report("gateway", f"{dialect}, {name}, median, added", added_ms, "ms", resolution=MEDIAN_RESOLUTION)
        report("gateway", f"{dialect}, {name}, requests a second", rate, "a second", "higher")
    return held


def main() -> int:
    """Measure; 1 where a bar is missed or the peer is not there."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--alone", action="store_true", help="leave the peer out")
    parser.add_argument(
        "--dialects", action="store_true", help="compare the dialects' endpoints, and nothing else"
    )
    options = parser.parse_args()
    quick: bool = options.quick
    command = [sys.executable, "-m", "plimsoll.gateway", "--port", PORT, "--workers", str(WORKERS)]
    with tempfile.TemporaryDirectory() as apart:
        dialects_held = every_dialect(command, apart, quick)
    if options.dialects:
        return 0 if dialects_held else 1
    with ExitStack() as stack:
        home = stack.enter_context(tempfile.TemporaryDirectory())
        upstream, gateway = free_port(), free_port()
        stack.enter_context(running([sys.executable, str(HERE / "load.py"), str(upstream)], upstream))
        settings = {
            "PLIMSOLL_HOME": home,
            "PLIMSOLL_MODEL__BASE_URL": f"http://127.0.0.1:{upstream}/v1",
            "PLIMSOLL_MODEL__PROVIDER": "bench",
        }
        command[command.index(PORT)] = str(gateway)
        ours = stack.enter_context(running(command, gateway, **settings))
        held = added(upstream, gateway, ours, quick) and dialects_held
        print("\n  requests per second, 50 kept connections")
        throughput("straight to the upstream", upstream, 3 if quick else 6)
        rate = throughput("gateway, two processes", gateway, 5 if quick else 15, ours)
        if PEER.exists() and not options.alone:
            theirs = peer_rate(upstream, Path(home), 5 if quick else 15)
            ratio = rate / theirs
            ok = ratio >= RATE_BAR
            print(f"  ratio: {ratio:.1f}   >= {RATE_BAR:g}  {'ok' if ok else 'MISSED'}", flush=True)
            held &= ok
        else:
            print(f"  LiteLLM's proxy is not measured{'' if PEER.exists() else f'; {INSTALL} installs it'}")
            held = held and options.alone
        held &= memory("requests", ours, gateway, 10_000 if quick else 100_000, 1_500)
        # A window so small that every conversation is looked at, and none is near its threshold.
        small = free_port()
        command[command.index(str(gateway))] = str(small)
        narrow = {**settings, "PLIMSOLL_MODEL__CONTEXT_LENGTH": "8192"}
        looked_at = stack.enter_context(running(command, small, **narrow))
        number = 20_000 if quick else 100_000
        held &= memory("conversations that are recognised", looked_at, small, number, 4_000)
    return 0 if held else 1


def peer_rate(upstream: int, home: Path, seconds: float) -> float:
    """The same load on LiteLLM's proxy."""
    port, config = free_port(), home / "litellm.yaml"
    config.write_text(
        "model_list:\n  - model_name: gpt-4.1\n    litellm_params:\n      model: openai/gpt-4.1\n"
        f"      api_base: http://127.0.0.1:{upstream}/v1\n      api_key: {KEY}\n"
        f"general_settings:\n  master_key: {KEY}\n"
        "litellm_settings:\n  telemetry: false\n  set_verbose: false\n"
    )
    command = [str(PEER), "--config", str(config), "--host", "127.0.0.1", "--port", str(port)]
    command += ["--num_workers", str(WORKERS), "--run_granian", "--telemetry", "False"]
    quiet = {"LITELLM_LOG": "ERROR", "LITELLM_LOCAL_MODEL_COST_MAP": "True", "NO_DOCS": "True"}
    with running(command, port, **quiet):
        time.sleep(5)  # it listens before its application is ready
        return throughput("LiteLLM's proxy, Granian, two workers", port, seconds)


if __name__ == "__main__":
    sys.exit(main())
