"""What is looked for behind each cut, worked out once and kept under `.local/bench-cache`.

Reading a conversation for its facts takes longer than compacting it, and does not depend on the engine: a run that
follows a change of the engine starts at the compactions.
"""

import hashlib
import pickle
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from pathlib import Path

from corpus import ROOT, Cut, generic_terms
from peer_runs import CACHE

from plimsoll.quality import MeasurementCase, prepare


def prepared(
    cuts: Sequence[Cut], data: Path, pool: Executor, tick: Callable[[], None]
) -> dict[str, MeasurementCase]:
    """By the cut's name; from the cache where the measures are the same as then."""
    generic = generic_terms(data)
    place = CACHE / f"prepared-{_digest(generic)}.pickle"
    known: dict[str, MeasurementCase] = pickle.loads(place.read_bytes()) if place.exists() else {}
    missing = [cut for cut in cuts if cut.name not in known]
    jobs = ((cut.history, cut.continuation, generic) for cut in missing)
    for cut, found in zip(missing, pool.map(_prepare, jobs, chunksize=2), strict=True):
        known[cut.name] = found
        tick()
    if missing:
        CACHE.mkdir(parents=True, exist_ok=True)
        place.write_bytes(pickle.dumps(known))
    return {cut.name: known[cut.name] for cut in cuts}


def _prepare(job: tuple[list, list, frozenset[str]]) -> MeasurementCase:
    return prepare(*job)


def _digest(generic: frozenset[str]) -> str:
    digest = hashlib.sha256(repr(sorted(generic)).encode())
    for path in sorted((ROOT / "src" / "plimsoll" / "quality").glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
