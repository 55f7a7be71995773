"""Are constraints in force shown, and revoked ones not, whatever a summary model does with them?

without a model     the ledger alone
good                a model that lists what is in force and leaves out what was revoked
drops               a model that lists none
inverts             a model that turns every constraint round
invents             a model that adds three that nobody stated

A constraint is shown where one line under Constraints & Preferences holds 60 % of its content words. A line that says
that something was revoked does not show it as in force.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from bars import Bar, at_least, at_most
from hand_labels import Labelled, labelled, rows
from measures.models import INVENTED, ScriptedModel, inverted
from measures.run import Run, share
from measures.summaries import Written, written

from plimsoll.messages import text_of
from plimsoll.quality.handoff import TEXT_SHARE, content_words, says, says_in_a_line

MODELS = ("no model", "good", "drops", "inverts", "invents")
_TITLE = "Constraints & Preferences"
_OPENING = "Migrate the billing service to the new queue."
_OVER = ("revoked", "withdrawn", "no longer", "taken back", "superseded")


@dataclass(frozen=True, slots=True)
class Judged:
    """One cut with one model: the constraints that are shown and those that are not."""

    name: str
    model: str
    in_force: tuple[tuple[str, bool], ...]
    revoked: tuple[tuple[str, bool], ...]
    made_up: tuple[tuple[str, bool], ...]


def bars(run: Run) -> list[Bar]:
    """Present, revoked and made up, for every kind of model."""
    items = run.sample(list(labelled("constraints")), 20)
    aims = {(row["conversation"], row["cut"]): row for row in rows("requests")}
    jobs = [
        (item, aims.get((item.row["conversation"], item.row["cut"]), {}), model)
        for item in items
        for model in MODELS
    ]
    found = []
    judged = run.map(judge, jobs, "constraints")
    for model in MODELS:
        of_model = [one for one in judged if one.model == model]
        present = [pair for one in of_model for pair in one.in_force]
        revoked = [pair for one in of_model for pair in one.revoked]
        made_up = [pair for one in of_model for pair in one.made_up]
        for one in of_model:
            for sentence, shown in one.in_force:
                run.wrong(f"constraint missing, {model}", f"{one.name}: {sentence}", not shown)
            for sentence, shown in (*one.revoked, *one.made_up):
                run.wrong(f"constraint shown, {model}", f"{one.name}: {sentence}", shown)
        found += [
            at_least(
                f"constraints in force shown, {model} ({len(present)})",
                share(is_shown for _, is_shown in present),
                0.95,
            ),
            at_most(
                f"revoked shown as in force, {model} ({len(revoked)})",
                share(is_shown for _, is_shown in revoked),
                0.02,
            ),
        ]
        if made_up:
            found.append(
                at_most(
                    f"false constraints shown, {model} ({len(made_up)})", share(s for _, s in made_up), 0.02
                )
            )
    return found


def judge(job: tuple[Labelled, dict[str, object], str]) -> Judged:
    """One cut with one model."""
    item, aims, model = job
    row, cut = item.row, item.row["cut"]
    in_force = [one["sentence"] for one in row["constraints"] if one["state"] == "in_force"]
    revoked = [one["sentence"] for one in row["constraints"] if one["state"] == "revoked"]
    made_up: list[str] = []
    said = list(in_force)
    if model == "drops":
        said = []
    elif model == "inverts":
        said = made_up = [inverted(one) for one in in_force]
    elif model == "invents":
        made_up = list(INVENTED)
        said += made_up
    first = text_of(item.messages[_number(aims, "aim", 1)])[:400].replace("\n", " ")
    newest = text_of(item.messages[_number(aims, "request", 1)])[:400].replace("\n", " ")
    script = None if model == "no model" else ScriptedModel(first, newest, said)
    done = written(item.messages[:cut], script)
    return Judged(
        f"{row['conversation']}@{cut}",
        model,
        tuple((one, _is_present(done, one)) for one in in_force),
        tuple((one, _is_in_force(done, one)) for one in revoked),
        tuple((one, _is_shown(done, one, in_force)) for one in made_up),
    )


def _number(aims: dict[str, object], key: str, otherwise: int) -> int:
    found = aims.get(key)
    return int(found[0]) if isinstance(found, list) and found else otherwise


def _is_present(done: Written, sentence: str) -> bool:
    """Whether a constraint stands under its heading, or word for word in a message that stays."""
    if says_in_a_line(done.lines(_TITLE), sentence):
        return True
    stays = (text_of(message) for message in done.result if message.get("role") == "user")
    return any(sentence in text for text in stays if not text.startswith("[CONTEXT COMPACTION]"))


def _is_in_force(done: Written, sentence: str) -> bool:
    lines = [line for line in done.lines(_TITLE) if not any(word in line.casefold() for word in _OVER)]
    return says_in_a_line(lines, sentence)


def _is_shown(done: Written, false: str, stated: Sequence[str]) -> bool:
    """Whether a line says what nobody stated. "Do not add names" also has the words "add names" in it."""
    lines = [line for line in done.lines(_TITLE) if not any(_as_said(line, one) for one in stated)]
    return any(_as_said(line, false) for line in lines)


def _as_said(line: str, sentence: str) -> bool:
    """Whether a line is this sentence and not its opposite: the words of both, in their order."""
    return " ".join(sentence.casefold().split()) in " ".join(line.casefold().split())


def language_bars(run: Run) -> list[Bar]:
    """Goals, constraints and revocations in five languages, and in sentences that no rule was written for."""
    return [*_language_bars(run, "languages", ""), *_language_bars(run, "languages_blind", ", blind")]


def _language_bars(run: Run, labels: str, note: str) -> list[Bar]:
    every = rows(labels)
    judged = run.map(judge_language, every, labels)
    found = []
    for language in sorted({row["language"] for row in every}):
        for kind in ("goal", "constraint", "revocation"):
            right = [
                one
                for row, one in zip(every, judged, strict=True)
                if (row["language"], row["kind"]) == (language, kind)
            ]
            found.append(at_least(f"{kind}s right, {language}{note} ({len(right)})", share(right), 0.9))
    for row, right in zip(every, judged, strict=True):
        run.wrong(f"{row['kind']}, {row['language']}{note}", row["text"], not right)
    alike = [one for row, one in zip(every, judged, strict=True) if row["kind"] == "look_alike"]
    found.append(at_least(f"look-alikes not taken for constraints{note} ({len(alike)})", share(alike), 0.9))
    return found


def judge_language(row: dict[str, str]) -> bool:
    """A short conversation in which the sentence is said early."""
    kind, text = row["kind"], row["text"]
    if kind == "goal":
        goal = "\n".join(_after(text, []).lines("Goal"))
        return says(goal, row["core"], TEXT_SHARE)
    if kind == "constraint":
        return says_in_a_line(_limits(text), row["core"])
    if kind == "revocation":
        # What was never shown cannot be taken back.
        stated = row["constraint"]
        return _is_in_force(_after(_OPENING, [stated]), stated) and not _is_in_force(
            _after(_OPENING, [stated, text]), stated
        )
    return not any(content_words(text) and says(line, text) for line in _limits(text))


def _limits(said: str) -> list[str]:
    return _after(_OPENING, [said]).lines(_TITLE)


def _after(opening: str, said: list[str]) -> Written:
    return written(_conversation(opening, said), beyond=6_000)


def _conversation(opening: str, said: list[str]) -> list[dict[str, object]]:
    """Tool calls with long results, and these sentences of the user among them."""
    messages: list[dict[str, object]] = [
        {"role": "system", "content": "You are a coding agent."},
        {"role": "user", "content": opening},
        {"role": "assistant", "content": "I will look at the code first."},
    ]
    for number in range(60):
        if number in (10, 20) and said:
            messages.append(
                {"role": "user", "content": said[number // 10 - 1] if number // 10 <= len(said) else "Go on."}
            )
        call = {"id": f"call_{number}", "type": "function"}
        call |= {"function": {"name": "read_file", "arguments": f'{{"path": "src/module_{number}.py"}}'}}
        messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
        body = "\n".join(
            f"def handler_{number}_{line}(queue): return queue.take({line})" for line in range(40)
        )
        messages.append({"role": "tool", "tool_call_id": f"call_{number}", "content": body})
    return messages
