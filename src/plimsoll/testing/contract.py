"""The engine contract: properties that every context engine must satisfy.

    for verdict in check_engine(lambda case: MyEngine(context_length=case.window)):
        print(verdict)

Each property is checked with generated conversations; a failure shows the smallest
conversation that violates it. The built-in engines pass the same contract.
"""

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from plimsoll.context import ContextEngine
from plimsoll.context.markers import has_note, is_summary, newest_own_request
from plimsoll.messages import (
    Message,
    is_same_speaker,
    repair,
    text_of,
    texts_of,
    validate,
)
from plimsoll.models import estimate_messages_tokens_rough
from plimsoll.testing.strategies import conversations


@dataclass(frozen=True)
class ContractCase:
    """One conversation, the window it must fit, and the tokens that the provider counts besides the messages."""

    messages: list[Message]
    window: int = 8_000
    protect_last_n: int = 20
    overhead: int = 0

    def counted(self, messages: Sequence[Message]) -> int:
        """The provider's token count for these messages and the tool schemas."""
        return estimate_messages_tokens_rough(messages) + self.overhead


EngineFactory = Callable[[ContractCase], ContextEngine]


@dataclass(frozen=True)
class ContractRun:
    """A compacted case; its result was compacted again, once unchanged and once with new messages."""

    case: ContractCase
    engine: ContextEngine
    input_after: list[Message]
    result: list[Message]
    again: list[Message]
    later: list[Message]
    whole: list[Message] = field(repr=False, default_factory=list)
    rests: bool = True  # whether no further compaction was due right after the first

    @property
    def compacted(self) -> bool:
        """Whether the engine removed anything."""
        return estimate_messages_tokens_rough(self.result) < estimate_messages_tokens_rough(self.whole)


@dataclass(frozen=True)
class PropertyResult:
    """One property: satisfied, or violated by the example."""

    name: str
    kept: bool
    reason: str = ""

    def __str__(self) -> str:
        return f"{'kept  ' if self.kept else 'BROKEN'}  {self.name}" + (
            f"\n        {self.reason}" if self.reason else ""
        )


def cases() -> st.SearchStrategy[ContractCase]:
    """Conversations in windows small enough that most of them must be compacted."""
    return st.builds(
        ContractCase,
        messages=conversations(min_turns=4),
        window=st.sampled_from([2_000, 4_000, 8_000, 32_000]),
        protect_last_n=st.integers(1, 20),
        overhead=st.just(0),
    ).flatmap(_with_overhead)


def _with_overhead(case: ContractCase) -> st.SearchStrategy[ContractCase]:
    """The case with tool schemas of up to 45 % of its window, or none."""
    shares = st.sampled_from([0.0, 0.0, 0.1, 0.25, 0.45])
    return shares.map(lambda share: replace(case, overhead=int(case.window * share)))


def run_case(factory: EngineFactory, case: ContractCase) -> ContractRun:
    """Compact a case with a new engine, then its result, then its result with new messages."""
    given_messages = copy.deepcopy(case.messages)
    engine = factory(case)
    whole = repair(case.messages)
    result = engine.compress(given_messages, current_tokens=case.counted(case.messages))
    rests = not engine.should_compress(prompt_tokens=case.counted(result))
    again = engine.compress(copy.deepcopy(result), current_tokens=case.counted(result))
    more = [message for message in case.messages if message.get("role") != "system"]
    extended = copy.deepcopy([*again, *more])
    later = engine.compress(extended, current_tokens=case.counted(extended))
    return ContractRun(case, engine, given_messages, result, again, later, whole, rests)


def result_is_valid(run: ContractRun) -> None:
    """Every call has its result and every result its call, in both wire formats."""
    for messages in (run.result, run.later):
        assert validate(messages, "openai") == []
        if not validate(run.whole, "anthropic"):
            assert validate(messages, "anthropic") == []


def input_is_untouched(run: ContractRun) -> None:
    """The engine does not modify its input."""
    assert run.input_after == run.case.messages


def result_is_smaller_or_unchanged(run: ContractRun) -> None:
    """A compaction makes the conversation smaller or leaves it unchanged."""
    assert run.compacted or run.result == run.whole


def newest_request_stays_word_for_word(run: ContractRun) -> None:
    """The newest user message stays unchanged, and no user message follows it."""
    newest = newest_own_request(run.whole)
    if newest is not None:
        request = run.whole[newest]
        kept = newest_own_request(run.result)
        assert kept is not None, "no user message is left"
        assert run.result[kept] == request


def system_prompt_stays_first(run: ContractRun) -> None:
    """The system prompt keeps its position and text; at most one note follows the text."""
    if run.whole and run.whole[0].get("role") == "system":
        before, after = list(texts_of(run.whole[0])), list(texts_of(run.result[0]))
        assert run.result[0].get("role") == "system"
        assert after[: len(before)] == before
        notes = after[len(before) :]
        assert len(notes) <= 1
        assert all(has_note({"content": note}) for note in notes)
    for messages in (run.again, run.later):
        assert text_of(messages[0]).count("[Note: Some earlier conversation turns") <= 1


def first_request_stays(run: ContractRun) -> None:
    """The first request stays verbatim if there is room."""
    opening = next((m for m in run.whole[:2] if m.get("role") == "user"), None)
    if opening is not None and not _pressed(run):
        assert opening in run.result[:2]


def recent_messages_stay(run: ContractRun) -> None:
    """The last `protect_last_n` messages stay unchanged and in order if they fit."""
    if not _pressed(run):
        count = min(run.case.protect_last_n, len(run.whole))
        assert run.result[-count:] == run.whole[-count:]


def fits_the_threshold(run: ContractRun) -> None:
    """The result, with everything else in the request, is at most the threshold, unless the overhead, the system
    prompt and the newest request exceed it."""
    newest = newest_own_request(run.whole)
    fixed = [m for m in run.whole[:1] if m.get("role") == "system"]
    fixed += [] if newest is None else [run.whole[newest]]
    if run.case.counted(fixed) <= run.engine.threshold_tokens:
        assert run.case.counted(run.result) <= run.engine.threshold_tokens
        assert run.case.counted(run.later) <= run.engine.threshold_tokens


def rests_after_a_compaction(run: ContractRun) -> None:
    """After a compaction below the threshold, none is due until messages are added."""
    if run.case.counted(run.result) < run.engine.threshold_tokens:
        assert run.rests


def second_run_does_not_grow(run: ContractRun) -> None:
    """Compacting a compacted conversation never makes it larger."""
    assert estimate_messages_tokens_rough(run.again) <= estimate_messages_tokens_rough(run.result)
    assert validate(run.again, "openai") == []


def at_most_one_summary(run: ContractRun) -> None:
    """There is never more than one summary message."""
    for messages in (run.result, run.again, run.later):
        assert sum(is_summary(message) for message in messages) <= 1


def summary_fits_between_its_neighbours(run: ContractRun) -> None:
    """The summary never creates two adjacent user or assistant messages."""
    for messages in (run.result, run.again, run.later):
        for index, message in enumerate(messages):
            if is_summary(message):
                neighbours = messages[max(0, index - 1) : index] + messages[index + 1 : index + 2]
                assert not any(is_same_speaker(message["role"], other.get("role")) for other in neighbours)


PROPERTIES: tuple[Callable[[ContractRun], None], ...] = (
    result_is_valid,
    input_is_untouched,
    result_is_smaller_or_unchanged,
    newest_request_stays_word_for_word,
    system_prompt_stays_first,
    first_request_stays,
    recent_messages_stay,
    fits_the_threshold,
    rests_after_a_compaction,
    second_run_does_not_grow,
    at_most_one_summary,
    summary_fits_between_its_neighbours,
)


def check_engine(
    factory: EngineFactory, examples: int = 100, found: Sequence[ContractCase] = ()
) -> list[PropertyResult]:
    """Check every property with `examples` generated cases and those in `found`.

    Every case is compacted once; each result shows the smallest case that violates the property.
    """
    broken: dict[str, tuple[ContractCase, Exception]] = {}
    for case in (*found, *generated_cases(examples)):
        for check, error in _failures(factory, case):
            smallest = broken.get(check)
            if smallest is None or len(case.messages) < len(smallest[0].messages):
                broken[check] = (case, error)
    return [
        PropertyResult(name, name not in broken, _explained(*broken[name]) if name in broken else "")
        for name in map(_name, PROPERTIES)
    ]


@cache
def generated_cases(examples: int) -> tuple[ContractCase, ...]:
    """The same cases every time, so that results are reproducible; cached, because generating them is slow."""
    drawn: list[ContractCase] = []

    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(cases())
    def draw(case: ContractCase) -> None:
        drawn.append(case)

    draw()
    return tuple(drawn)


def _failures(factory: EngineFactory, case: ContractCase) -> Iterator[tuple[str, Exception]]:
    try:
        run = run_case(factory, case)
    except Exception as error:  # an engine is third-party code: any exception violates every property
        yield from ((_name(check), error) for check in PROPERTIES)
        return
    for check in PROPERTIES:
        try:
            check(run)
        except AssertionError as error:
            yield _name(check), error


def _name(check: Callable[[ContractRun], None]) -> str:
    return check.__name__.replace("_", " ")


def _explained(case: ContractCase, error: Exception) -> str:
    roles = " ".join(str(message.get("role")) for message in case.messages)
    reason = " ".join(str(error).split())[:300]
    return (
        f"{type(error).__name__}: {reason} "
        f"(window {case.window}, protect_last_n {case.protect_last_n}, {len(case.messages)} messages: {roles[:300]})"
    )


def _pressed(run: ContractRun) -> bool:
    """Whether the protected parts do not fit, so that the engine had to shorten them."""
    last = run.whole[-(run.case.protect_last_n + 4) :]
    budget = int(run.engine.threshold_tokens * 0.20)
    while len(last) < len(run.whole) and estimate_messages_tokens_rough(last) <= budget:
        last = run.whole[-(len(last) + 4) :]
    summary = min(int(run.engine.context_length * 0.05), 12_000) * 3 // 2 + 300
    return run.case.counted([*run.whole[:6], *last]) + summary > run.engine.threshold_tokens
