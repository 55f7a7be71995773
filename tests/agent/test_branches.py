"""Branches of one conversation share the summary of what they have in common."""

import asyncio
import threading

from plimsoll.agent import CompactionRules, Compactor, SharedPreparations
from plimsoll.context import ContextCompressor
from plimsoll.messages import text_of

WINDOW = 8_000
WORDS = "The harbour master wrote down every ship that came in, its draught, its cargo and its line. "
SUMMARY = f"## Goal\n{WORDS}\n## Progress\n### Done\n- {WORDS}\n"


class Writer:
    """A summary model that waits for its cue; `answers` are texts, or None for a failure."""

    context_length = 100_000

    def __init__(self, *answers):
        self.answers, self.asked, self.cue = list(answers), threading.Event(), threading.Event()
        self.requests = 0

    def summarize(self, prompt, max_tokens):
        answer = self.answers[min(self.requests, len(self.answers) - 1)]
        self.requests += 1
        self.asked.set()
        self.cue.wait(60)
        if answer is None:
            raise RuntimeError("no answer")
        return answer


def conversation(last):
    past = [
        {"role": role, "content": f"ship{number}: {WORDS * 12}"}
        for number in range(14)
        for role in ("user", "assistant")
    ]
    return [{"role": "system", "content": "Be brief."}, *past, {"role": "user", "content": last}]


def branch(writer, branches):
    engine = ContextCompressor("gpt-4.1", WINDOW, protect_last_n=4, summarizer=writer)
    return Compactor(engine, CompactionRules(), lambda: 0.0, "small", branches=branches)


def compacted_together(writer, branches=None):
    """Two branches compact at the same time; their attempts."""
    views = [conversation("The first branch."), conversation("The second branch.")]
    views[1][:-1] = views[0][:-1]

    async def run():
        shared = branches or SharedPreparations()
        tasks = [
            asyncio.create_task(branch(writer, shared).compact(view, 6_500, "threshold")) for view in views
        ]
        await asyncio.to_thread(writer.asked.wait, 60)
        writer.cue.set()
        return await asyncio.gather(*tasks)

    return views, asyncio.run(run())


def test_two_branches_at_the_same_time_ask_for_one_summary_and_keep_their_own_newest_request():
    writer = Writer(SUMMARY)
    views, attempts = compacted_together(writer)
    assert writer.requests == 1
    for view, attempt in zip(views, attempts, strict=True):
        assert attempt.event.outcome == "compacted"
        assert attempt.messages[-1] == view[-1]
        assert attempt.event.ledger["summary"] == "model"


def test_where_the_summary_of_the_first_branch_fails_the_second_asks_for_its_own():
    writer = Writer(None, SUMMARY)
    views, attempts = compacted_together(writer)
    assert writer.requests == 2
    assert {attempt.event.ledger["summary"] for attempt in attempts} == {"deterministic", "model"}
    assert [attempt.messages[-1] for attempt in attempts] == [view[-1] for view in views]


def test_a_branch_that_is_cancelled_leaves_its_summary_to_the_other():
    writer = Writer(SUMMARY)
    first, second = conversation("The first branch."), conversation("The second branch.")

    async def run():
        branches = SharedPreparations()
        leaving = asyncio.create_task(branch(writer, branches).compact(first, 6_500, "threshold"))
        await asyncio.to_thread(writer.asked.wait, 60)
        leaving.cancel()
        await asyncio.gather(leaving, return_exceptions=True)
        writer.cue.set()
        return await branch(writer, branches).compact(second, 6_500, "threshold")

    attempt = asyncio.run(run())
    assert writer.requests == 1
    assert text_of(attempt.messages[-1]) == "The second branch."


def test_a_summary_is_not_used_for_a_view_that_differs_in_the_summarised_part():
    writer = Writer(SUMMARY)
    writer.cue.set()
    first, other = conversation("Go on."), conversation("Go on.")
    other[9] = {"role": "user", "content": "Something else was said here."}

    async def run():
        branches = SharedPreparations()
        await branch(writer, branches).compact(first, 6_500, "threshold")
        return await branch(writer, branches).compact(other, 6_500, "threshold")

    assert asyncio.run(run()).event.outcome == "compacted"
    assert writer.requests == 2


def test_a_summary_is_not_used_after_the_reply_that_it_takes_into_account_was_taken_back():
    writer = Writer(SUMMARY)
    writer.cue.set()
    first = conversation("Go on.")
    taken_back = [*first[:-2], {"role": "user", "content": "Go on in another way."}]
    differently_asked = [*first[:-1], {"role": "user", "content": "Go on in another way."}]

    async def run():
        branches = SharedPreparations()
        await branch(writer, branches).compact(first, 6_500, "threshold")
        asked = [writer.requests]
        for view in (differently_asked, taken_back):
            await branch(writer, branches).compact(view, 6_500, "threshold")
            asked.append(writer.requests)
        return asked

    assert asyncio.run(run()) == [1, 1, 2]


def test_an_overflow_is_compacted_although_there_was_nothing_to_compact_at_the_estimated_size():
    call = {"id": "c", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    view = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Read the log."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": WORDS * 80},
    ]

    async def run():
        branches = SharedPreparations()
        first = await branch(None, branches).compact(view, 1_500, "threshold")
        assert first.messages is None
        return await branch(None, branches).compact(view, WINDOW + 100, "overflow")

    attempt = asyncio.run(run())
    assert attempt.event.outcome == "compacted"
    assert attempt.event.tokens_after < WINDOW


def test_a_branch_is_compacted_although_the_summaries_that_two_others_prepare_fail():
    writer = Writer(None, None, SUMMARY)
    longer, shorter = conversation("One question."), conversation("Another question.")
    shorter[:-1] = longer[:-1]
    longer += [{"role": "assistant", "content": "An answer."}, {"role": "user", "content": "Go on."}]
    newest = [*longer[:-1], {"role": "user", "content": "Go on in another way."}]

    async def run():
        branches = SharedPreparations()
        preparing = [branch(writer, branches), branch(writer, branches)]
        for compactor, view in zip(preparing, (longer, shorter), strict=True):
            compactor.prepare(view, 6_500)
        task = asyncio.create_task(branch(writer, branches).compact(newest, 6_500, "threshold"))
        await asyncio.to_thread(writer.asked.wait, 60)
        writer.cue.set()
        return await task

    attempt = asyncio.run(run())
    assert attempt.event.outcome == "compacted"
    assert attempt.messages[-1] == newest[-1]
