"""Conversations of every size in windows of every size, with tool schemas beside them, and what holds for each."""

from dataclasses import dataclass, field

from hypothesis import strategies as st

from plimsoll import ContextCompressor
from plimsoll.context.budget import USEFUL_SUMMARY
from plimsoll.context.ledger import SECTIONS
from plimsoll.context.markers import newest_own_request
from plimsoll.errors import SummaryFailed
from plimsoll.models import estimate_messages_tokens_rough as weigh
from plimsoll.models import estimate_tokens

GOOD = "## Goal\nMend the parser.\n## Constraints & Preferences\n(none)\n## Progress\n### Done\nRead the files.\n"


class Writer:
    """A summary model of one kind."""

    context_length = 32_000

    def __init__(self, kind):
        self.kind = kind

    def summarize(self, prompt, max_tokens):
        match self.kind:
            case "good":
                return GOOD
            case "long":
                return GOOD + "".join(f"- step {n} of the parser was read\n" for n in range(max_tokens // 8))
            case "endless":
                return GOOD + "more and more words " * max_tokens
            case "empty":
                return "  "
            case "chatter":
                return "Sure! Here is what happened: we read some files."
            case "calls":
                return '{"name": "terminal", "arguments": {"command": "ls"}}'
            case "foreign":
                return "## Goal\nНаписать письмо.\n## Progress\n### Done\nНичего не сделано совсем.\n"
            case "echo":
                return prompt
            case "none":
                return None
            case "fails":
                raise SummaryFailed("out of order")
        raise ConnectionError("nobody there")


KINDS = [
    "",
    "good",
    "long",
    "endless",
    "empty",
    "chatter",
    "calls",
    "foreign",
    "echo",
    "none",
    "fails",
    "gone",
]


@dataclass(frozen=True)
class SizedCase:
    """One conversation: tokens of its parts as shares of the window."""

    window: int
    overhead: int = 0
    system: float = 0.01
    opening: float = 0.01
    turns: tuple[tuple[str, float], ...] = ()
    protect_last_n: int = 20
    target_ratio: float = 0.20
    writer: str = ""
    evidence: bool = True

    @property
    def messages(self):
        said = [{"role": "system", "content": self._words(self.system, "rule")}]
        said.append({"role": "user", "content": "Mend the parser. " + self._words(self.opening, "please")})
        said.append({"role": "assistant", "content": "I look."})
        for n, (kind, share) in enumerate(self.turns):
            if kind == "tool":
                call = {"name": "read_file", "arguments": f'{{"path": "src/part_{n}.py"}}'}
                calls = [{"id": f"c{n}", "type": "function", "function": call}]
                said.append({"role": "assistant", "content": None, "tool_calls": calls})
                lines = range(min(80, int(self.window * share / 40)))
                defined = "".join(f"def part_{n}_{line}(rows_{line}): return {line}\n" for line in lines)
                text = defined + self._words(share / 2, f"row_{n}")
                said.append({"role": "tool", "tool_call_id": f"c{n}", "content": text})
            else:
                said.append({"role": "user", "content": f"Now part {n}. " + self._words(share, "remark")})
                said.append({"role": "assistant", "content": f"Part {n} is done."})
        return [*said, {"role": "user", "content": "Go on with the parser."}]

    def counted(self, messages):
        return weigh(messages) + self.overhead

    def run(self):
        return SizedRun(self)

    def _words(self, share, word):
        return f"{word} " * int(self.window * share * 0.8)


@dataclass
class SizedRun:
    """The case after one compaction."""

    case: SizedCase
    before: list = field(init=False)
    after: list = field(init=False)

    def __post_init__(self):
        case = self.case
        self.engine = ContextCompressor(
            context_length=case.window,
            protect_last_n=case.protect_last_n,
            target_ratio=case.target_ratio,
            summarizer=Writer(case.writer) if case.writer else None,
            evidence=case.evidence,
        )
        self.before = case.messages
        self.after = self.engine.compress(self.before, current_tokens=case.counted(self.before))
        self.report = self.engine.last_report

    @property
    def fixed(self):
        """What no compaction reduces: overhead, system prompt, first exchange."""
        return self.case.counted(self.before[:3])

    @property
    def left(self):
        return self.case.counted(self.after)


def shares(low, high):
    return st.floats(low, high, allow_nan=False)


def turns():
    kind = st.sampled_from(["tool", "prose"])
    return st.lists(st.tuples(kind, shares(0.0005, 0.06)), min_size=8, max_size=40).map(tuple)


def sized_cases(lowest=0.0, highest=0.45):
    def cases(window):
        return st.builds(
            SizedCase,
            window=st.just(window),
            overhead=shares(lowest, highest).map(lambda share: int(window * share)),
            system=shares(0.001, 0.06),
            opening=shares(0.001, 0.06),
            turns=turns(),
            protect_last_n=st.integers(1, 24),
            target_ratio=st.sampled_from([0.10, 0.20, 0.20, 0.40, 0.60]),
            writer=st.sampled_from(KINDS),
            evidence=st.booleans(),
        )

    return st.sampled_from([4_000, 8_000, 16_000, 32_000, 64_000, 200_000, 1_000_000]).flatmap(cases)


def reports_what_the_provider_counts(run):
    """Overhead is added, never scaled."""
    assert run.report.tokens_before == run.case.counted(run.before)
    assert run.report.tokens_after == run.left


def fits_the_threshold(run):
    """With the overhead, wherever that, the system prompt and the newest request leave room."""
    stays = [run.before[0], run.before[newest_own_request(run.before)]]
    if run.case.counted(stays) < run.engine.threshold_tokens:
        assert run.left <= run.engine.threshold_tokens


def leaves_headroom(run):
    """The next compaction is due only after the conversation has grown by a third of what is not fixed."""
    case, engine = run.case, run.engine
    count = min(case.protect_last_n, len(run.before))
    keeps = run.after[-count:] == run.before[-count:]
    third = max(0, engine.threshold_tokens - run.fixed) / 3
    exempt = case.target_ratio > 0.4 or (keeps and weigh(run.before[-count:]) > third)
    least = min(case.window * 0.10, third) if exempt else third
    due = engine.due_tokens
    assert due >= engine.threshold_tokens
    assert due - run.left >= min(int(least), (case.window - run.left) // 2)
    assert not engine.should_compress(due - 1)
    assert engine.should_compress(due)


def keeps_recent_messages_that_fit(run):
    """Word for word, whatever their size."""
    case = run.case
    last = run.before[-(case.protect_last_n + 4) :]
    needs = run.fixed + weigh(last) + 2 * run.engine.max_summary_tokens + 400
    needs = max(needs, run.fixed + weigh(last) + USEFUL_SUMMARY)
    if needs <= run.engine.threshold_tokens:
        count = min(case.protect_last_n, len(run.before))
        assert run.after[-count:] == run.before[-count:]
        assert run.report.shortened == ()


def keeps_the_summary_within_its_budget(run):
    """The nine headings, by any author; evidence follows them or is left out."""
    said = run.report.summary
    assert estimate_tokens(said) <= run.engine.max_summary_tokens
    if said:
        text = "\n".join(m["content"] for m in run.after if isinstance(m["content"], str))
        assert all(f"# {title}\n" in said for title in SECTIONS)
        assert ("## Evidence" in text) == bool(run.report.evidence)
    assert run.case.evidence or not run.report.evidence


def keeps_the_evidence_within_the_target(run):
    """Or within what a summary has in any case."""
    if run.report.evidence:
        target = run.fixed + 0.33 * (run.engine.threshold_tokens - run.fixed)
        written = estimate_tokens(run.report.summary) + estimate_tokens(run.report.evidence)
        most = max(USEFUL_SUMMARY, run.engine.max_summary_tokens)
        assert run.left <= target + 400 or written <= most * 1.05 + 100


CHECKS = [
    reports_what_the_provider_counts,
    fits_the_threshold,
    leaves_headroom,
    keeps_recent_messages_that_fit,
    keeps_the_summary_within_its_budget,
    keeps_the_evidence_within_the_target,
]
