"""A limit that the user set in a message of its own is in every later view, in any language and window."""

import json

import pytest
from agent_work import FixedSummaryModel
from hypothesis import given, settings
from hypothesis import strategies as st

from message_builders import assistant as said
from message_builders import user
from plimsoll import ContextCompressor
from plimsoll.context.compressor import find_summary
from plimsoll.context.lcm import LcmEngine
from plimsoll.context.ledger import SummaryRoom, parse_sections, read_facts, render_sections, write_sections
from plimsoll.models import estimate_messages_tokens_rough

# One limit, as people write it.
CONSTRAINTS = {
    "ar": "لا تدفع أبداً إلى main مباشرة.",
    "cs": "Nikdy nepushuj přímo do main.",
    "de": "Wir dürfen niemals direkt auf main pushen.",
    "en": "We must never push to main, always open a pull request.",
    "es": "Nunca subas cambios a main.",
    "fr": "N'utilise pas main, ouvre une pull request.",
    "hi": "main पर कभी भी सीधे push न करें।",
    "id": "Jangan push langsung ke main.",
    "it": "Non fare mai push su main.",
    "ja": "絶対にmainへ直接プッシュしないでください。",
    "ko": "main에 직접 푸시하면 안 됩니다.",
    "nl": "Push nooit rechtstreeks naar main.",
    "pl": "Nigdy nie wypychaj do main.",
    "pt": "Nunca envie direto para main.",
    "ru": "Никогда не пушь в main.",
    "sv": "Pusha aldrig direkt till main.",
    "th": "ห้าม push ไปที่ main โดยตรง",
    "tr": "Asla main dalına doğrudan push yapma.",
    "uk": "Ніколи не пуш у main.",
    "vi": "Không bao giờ đẩy thẳng lên main.",
    "zh": "绝对不要直接推送到main分支。",
}
WINDOWS = (8_000, 16_000, 32_000, 64_000)
SYSTEM = {"role": "system", "content": "You are a careful coding agent."}


def turns(first, tokens):
    """Turns that name many files, symbols and numbers, which all compete for the summary."""
    talk, size, number = [], 0, first
    while size < tokens * 4:
        ask = (
            f"Now change src/mod_{number}.py so that load_item_{number} and store_item_{number} use "
            f"Config.max_{number} = {number * 7}00 and report ERR-{number:04d} in /var/log/app_{number}.log"
        )
        reply = (
            f"I changed src/mod_{number}.py because the problem was store_item_{number}. "
            + "the code ran " * 50
        )
        talk += [user(ask), said(reply)]
        size += len(ask) + len(reply)
        number += 1
    return talk


def conversation(constraint, window, before=1):
    opening = [SYSTEM, user("Build the parser of the report tool."), said("I begin with the lexer.")]
    early = [*turns(9_000, before * window // 20), user(constraint), said("Understood.")]
    return [*opening, *early, *turns(0, window * 7 // 10)]


def constraints_of(view):
    return parse_sections(view[find_summary(view)]["content"])["Constraints & Preferences"]


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("language", CONSTRAINTS)
def test_a_constraint_in_a_message_of_its_own_stands_under_constraints(language, window):
    constraint = CONSTRAINTS[language]
    view = ContextCompressor(context_length=window).compress(conversation(constraint, window))
    assert constraint in constraints_of(view)


@settings(deadline=None, max_examples=12)
@given(
    language=st.sampled_from(sorted(CONSTRAINTS)),
    window=st.sampled_from(WINDOWS[:3]),
    before=st.integers(0, 6),
    model=st.sampled_from(["", "repeats", "elsewhere"]),
    focus=st.sampled_from([None, "the lexer of src/mod_3.py"]),
)
def test_no_constraint_is_lost_over_three_compactions(language, window, before, model, focus):
    constraint = CONSTRAINTS[language]
    answers = {
        "repeats": (
            f"## Goal\nBuild the parser.\n## Constraints & Preferences\n- {constraint}\n"
            "## Progress\n### Done\n- the code ran"
        ),
        "elsewhere": f"## Goal\n- {constraint}\n## Progress\n### Done\n- the code ran",
    }
    view = conversation(constraint, window, before)
    for round_ in range(3):
        # A new engine each time: nothing is remembered but the words of the summary.
        summarizer = FixedSummaryModel(answers[model]) if model and round_ == 0 else None
        engine = ContextCompressor(context_length=window, summarizer=summarizer)
        view = engine.compress(view, focus_topic=focus)
        assert constraint in json.dumps(view, ensure_ascii=False)
        view = [*view, *turns(1_000 * (round_ + 1), window * 6 // 10)]


@pytest.mark.parametrize("factory", [ContextCompressor, LcmEngine])
def test_constraints_take_precedence_over_the_list_of_nodes(factory):
    rules = [
        CONSTRAINTS["en"],
        "Never write to /etc/zebra.",
        "You must not delete the table users.",
        "Always run make lint before a commit.",
        "Never call the billing service in tests.",
        "Do not use the network.",
    ]
    opening = [SYSTEM, user("Build the parser of the report tool."), said("I begin with the lexer.")]
    stated = [message for rule in rules for message in (user(rule), said("Understood."))]
    view = [*opening, *turns(9_000, 400), *stated, *turns(0, 2_800)]
    tokens = estimate_messages_tokens_rough(view)
    result = factory(context_length=4_000).compress(view, tokens + 1_200, overhead_tokens=1_200)
    assert [rule for rule in rules if rule not in json.dumps(result)] == []


def test_a_request_that_is_only_a_constraint_still_opens_the_goal():
    text = CONSTRAINTS["en"]
    sections = write_sections(read_facts([user(text), said("Understood.")]), {}, SummaryRoom(1_000))
    assert text in sections["Goal"]
    assert text in sections["Constraints & Preferences"]


def test_a_constraint_is_never_cut_in_a_small_budget():
    text = (
        "You must never write to the production database of the billing service "
        + "unless I tell you to " * 8
    )
    sections = write_sections(read_facts([user("Build it."), user(text)]), {}, SummaryRoom(180))
    assert text.strip() in sections["Constraints & Preferences"]


def test_the_limit_in_a_very_long_sentence_is_kept():
    filler = "the importer reads rows and writes them to the table, " * 12
    facts = read_facts([user(f"While {filler}you must never touch the audit log, {filler}and that is all.")])
    (kept,) = facts.constraints
    assert "you must never touch the audit log" in kept
    assert len(kept) <= 300


def test_sentences_of_scripts_without_spaces_are_told_apart():
    facts = read_facts([user("请重构解析器。绝对不要修改数据库。谢谢。")])
    assert list(facts.constraints) == ["绝对不要修改数据库。"]


def test_a_constraint_is_said_once_in_a_summary():
    facts = read_facts([user("Build it."), user(CONSTRAINTS["en"]), said("Understood.")])
    text = render_sections(write_sections(facts, {}, SummaryRoom(2_000)))
    assert text.count(f"- {CONSTRAINTS['en']}\n") == 1


@pytest.mark.parametrize(
    ("message", "rules"),
    [
        (
            "Please keep to this:\n- Tabs in the importer\n- Go 1.22\n\nThen port it.",
            ["Tabs in the importer", "Go 1.22"],
        ),
        (
            "Never do any of this:\n1. Push to main\n2. Commit without asking",
            ["Never do any of this – Push to main", "Never do any of this – Commit without asking"],
        ),
        (
            "These tests must pass:\n* test_a\n* test_b",
            ["These tests must pass – test_a", "These tests must pass – test_b"],
        ),
        (
            "Keep to this:\n- For tests:\n  - pytest only\n- No new dependencies",
            ["For tests – pytest only", "No new dependencies"],
        ),
        ("Bitte beachte folgende Regeln:\n- Tabs im Importer", ["Tabs im Importer"]),
        ("We don't have these yet:\n- dark mode\n- offline use", []),
        ("Never push to main: it breaks the build.", ["Never push to main: it breaks the build."]),
        ("The package must stay as it is: `__init__.py` stays empty.", None),
    ],
)
def test_the_items_of_a_list_are_the_rules_and_not_the_line_that_introduces_it(message, rules):
    facts = read_facts([user("Port the importer."), user(message)])
    assert list(facts.constraints) == (rules if rules is not None else [message])
