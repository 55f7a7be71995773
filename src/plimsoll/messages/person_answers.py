"""What a person said inside a tool result: answers to questions, and reasons for rejecting a call.

    User has answered your questions: "Where?"="Sidebar". You can now …    ──►  Where? → Sidebar
    {"answers": {"place": {"answers": ["Sidebar"]}}}                        ──►  Where? → Sidebar
    The user doesn't want to proceed … the user said: use Go instead       ──►  refused: use Go instead

Answers count only in results of calls that ask questions. A refusal is recognised by the phrases that harnesses start
it with. A web page or a file can imitate those, so a refusal is reported as a refusal and never becomes a rule.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from plimsoll.messages.calls import arguments_of, call_name

_MAX_CHARACTERS = 20_000  # characters
_ANSWERED = re.compile(
    r"\A\W*(?:the )?user(?: has)? (?:answered|responded)\b.{0,60}?:", re.IGNORECASE | re.DOTALL
)
_PAIR = re.compile(
    r'"(?P<question>(?:[^"\\]|\\.)+)"\s*=\s*"(?P<answer>.{0,4000}?)"(?=,\s*"|\.?\s*(?:You can now|\Z))',
    re.DOTALL,
)
_REFUSED = re.compile(
    r"\A\W*(?:error\W+)?(?:Operation Cancelled\W+Reason: )?(?:the )?user "
    r"(?:doesn'?t want to (?:proceed|take this action)"
    r"|(?:denied|rejected|declined|cancelled) (?:execution|this|the)\b)",
    re.IGNORECASE,
)
_ANSWER_TEXT = re.compile(r"the user said:\s*(?P<said>.+)\Z", re.IGNORECASE | re.DOTALL)
_BOILERPLATE = re.compile(
    r"\AThe user wants to clarify these questions\..*?(?:Questions asked:|\Z)", re.DOTALL
)
_ASKING_TOOL = re.compile(r"ask_?user|request_user_input|ask_?followup|ask_?question", re.IGNORECASE)
_ASKING = frozenset({"questions", "question"})
REFUSED = "refused"


def person_answer(call: dict[str, Any], result: str) -> str:
    """What a person said in the result of a call, one answer per line; empty if there is none."""
    head = result[:_MAX_CHARACTERS]
    if _REFUSED.match(head):
        match = _ANSWER_TEXT.search(head)
        words = _BOILERPLATE.sub("", match["said"]).strip() if match else ""
        return f"{REFUSED}: {words}" if words else REFUSED
    arguments = arguments_of(call)
    if not arguments.keys() & _ASKING:
        return ""
    if _ANSWERED.match(head):
        pairs = [f"{found['question']} → {found['answer']}" for found in _PAIR.finditer(head)]
        return "\n".join(pairs) or head.partition(":")[2].strip()
    found = "\n".join(_from_json(arguments.get("questions"), head))
    return found or (
        head.strip() if _ASKING_TOOL.search(call_name(call)) and not head.startswith("{") else ""
    )


def _from_json(questions: Any, result: str) -> Iterator[str]:
    """Match answers to the call's questions by id."""
    if not isinstance(questions, list) or not result.lstrip().startswith("{"):
        return
    try:
        answers = json.loads(result).get("answers")
    except (ValueError, RecursionError):
        return
    texts = {
        str(question.get("id")): str(question.get("question") or "")
        for question in questions
        if isinstance(question, dict)
    }
    for name, answer in answers.items() if isinstance(answers, dict) else ():
        chosen = answer.get("answers") if isinstance(answer, dict) else answer
        words = ", ".join(map(str, chosen)) if isinstance(chosen, list) else str(chosen or "")
        if words:
            yield f"{texts.get(str(name)) or name} → {words}"
