"""Counting without a tokenizer: additive, monotone, never surprised, and not far off in any script."""

import json
import warnings
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plimsoll.models import (
    estimate_message_tokens,
    estimate_messages_tokens_rough,
    estimate_tokens,
    estimate_tools_tokens,
)
from plimsoll.models.counting import CALL_OVERHEAD, MESSAGE_OVERHEAD, REDACTED_THINKING

with warnings.catch_warnings():
    # The package opens its data files in a way that Python 3.11 and 3.12 call deprecated.
    warnings.simplefilter("ignore", DeprecationWarning)
    import bpe_openai  # type: ignore[import-untyped]

O200K = bpe_openai.get_encoding("o200k_base")
CL100K = bpe_openai.get_encoding("cl100k_base")

# The prose that the script weights were set by.
SAMPLES = {
    "latin with accents": (
        "Günther überprüft täglich, ob die Größe der Anfrage wächst. Après la réunion, l'équipe a préféré "
        "différer l'intégration; el niño soñó que la señal volvía mañana. Não há razão para começar já."
    ),
    "vietnamese": (
        "Hôm nay chúng tôi kiểm tra lại toàn bộ hệ thống trước khi phát hành phiên bản mới. Nếu có lỗi, "
        "hãy ghi lại thông báo và gửi cho người phụ trách."
    ),
    "greek": (
        "Το σύστημα ελέγχει κάθε μήνυμα πριν το στείλει στον διακομιστή. Αν κάτι πάει στραβά, ο χρήστης "
        "βλέπει μια σύντομη εξήγηση και μπορεί να δοκιμάσει ξανά αργότερα."
    ),
    "cyrillic": (
        "Программа проверяет каждое сообщение перед отправкой на сервер. Если что-то пошло не так, "
        "пользователь видит короткое объяснение и может попробовать ещё раз позже."
    ),
    "hebrew": (
        "המערכת בודקת כל הודעה לפני שהיא נשלחת לשרת. אם משהו משתבש, המשתמש רואה הסבר קצר ויכול לנסות "
        "שוב מאוחר יותר. הקובץ נשמר בתיקייה הראשית."
    ),
    "arabic": (
        "يتحقق النظام من كل رسالة قبل إرسالها إلى الخادم. إذا حدث خطأ ما، يرى المستخدم شرحا قصيرا ويمكنه "
        "المحاولة مرة أخرى لاحقا. يتم حفظ الملف في المجلد الرئيسي."
    ),
    "devanagari": (
        "सिस्टम सर्वर को भेजने से पहले हर संदेश की जाँच करता है। यदि कुछ गलत हो जाए तो उपयोगकर्ता को एक छोटा "
        "स्पष्टीकरण दिखता है और वह बाद में फिर कोशिश कर सकता है।"
    ),
    "bengali": (
        "সার্ভারে পাঠানোর আগে সিস্টেম প্রতিটি বার্তা পরীক্ষা করে। কিছু ভুল হলে ব্যবহারকারী একটি ছোট ব্যাখ্যা দেখেন "
        "এবং পরে আবার চেষ্টা করতে পারেন।"
    ),
    "tamil": (
        "சேவையகத்திற்கு அனுப்பும் முன் ஒவ்வொரு செய்தியையும் அமைப்பு சரிபார்க்கிறது. ஏதாவது தவறு நடந்தால் பயனர் ஒரு "
        "குறுகிய விளக்கத்தைப் பார்க்கிறார்."
    ),
    "thai": (
        "ระบบตรวจสอบทุกข้อความก่อนส่งไปยังเซิร์ฟเวอร์ หากเกิดข้อผิดพลาด ผู้ใช้จะเห็นคำอธิบายสั้น ๆ "
        "และสามารถลองใหม่อีกครั้งในภายหลัง ไฟล์จะถูกบันทึกไว้ในโฟลเดอร์หลัก"
    ),
    "georgian": (
        "სისტემა ამოწმებს ყველა შეტყობინებას სერვერზე გაგზავნამდე. თუ რამე არასწორად წავიდა, მომხმარებელი "
        "ხედავს მოკლე განმარტებას."
    ),
    "chinese": (
        "系统在发送到服务器之前会检查每一条消息。如果出现问题,用户会看到简短的说明,并且可以稍后再试。"
        "请把测试结果保存到主目录,然后告诉我哪些文件被修改了,以及为什么需要这样做。"
    ),
    "traditional chinese": (
        "系統在傳送到伺服器之前會檢查每一則訊息。如果發生問題,使用者會看到簡短的說明,並且可以稍後再試。"
        "請將測試結果儲存到主目錄,然後告訴我哪些檔案被修改了。"
    ),
    "japanese": (
        "システムはサーバーに送信する前にすべてのメッセージを確認します。問題が発生した場合、ユーザーには短い説明が"
        "表示され、後でもう一度試すことができます。テストの結果を保存して、変更したファイルを教えてください。"
    ),
    "korean": (
        "시스템은 서버로 보내기 전에 모든 메시지를 확인합니다. 문제가 생기면 사용자는 짧은 설명을 보고 나중에 다시 "
        "시도할 수 있습니다. 테스트 결과를 저장하고 어떤 파일이 바뀌었는지 알려 주세요."
    ),
    "emoji": "Done 🎉 tests pass ✅ but 🚨 two warnings ⚠️ remain 😅 🤖 ship it 🚀🔥 👍🏽 ❤️ 👩‍💻 🇫🇷 ❌ 🐛",
    "arrows and typography": (
        "     1→import os\n     2→import sys\n“quoted” – it’s 5 × 3 … see § 4 → next ← back • item — done\n"
        "    17→def main():\n    18→    return 0\n"
    ),
    "box drawing": (
        "┌──────────────┬────────────┐\n│ name         │ size       │\n├──────────────┼────────────┤\n"
        "│ alpha        │ 12         │\n└──────────────┴────────────┘\n├── src\n│   └── main.py\n"
    ),
}
# Scripts that the older vocabulary spells almost byte by byte: no one number serves both.
FAR_APART = {"bengali", "tamil", "georgian"}

ENGLISH = (
    "The service reads every message before it is sent, and writes down how many tokens it was billed for. "
    "Where the two numbers differ, the next estimate is corrected by the difference."
)
CODE = (
    "def total(rows: list[dict[str, int]]) -> int:\n"
    '    """Add up what was counted."""\n'
    '    return sum(row.get("count", 0) for row in rows if row["kind"] != "skip")\n'
)

MEDIA = ("image_url", "image", "input_image", "input_audio", "audio", "file", "document", "base64")
OTHER = ("text", "tool_use", "tool_result", "thinking", "redacted_thinking", "refusal", "unheard_of")
PAYLOADS = ("text", "source", "data", "image_url", "image", "input_audio", "file", "file_data", "input")
FIELDS = (*PAYLOADS, "content", "thinking", "detail", "name", "mime_type", "media_type", "format", "title")

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30) | st.binary(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["type", "text", "source", "data", "image_url", "input", "content", "file", "url"]
            )
            | st.text(max_size=5),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)
parts = st.fixed_dictionaries(
    {"type": st.sampled_from((*MEDIA, *OTHER)) | json_values},
    optional=dict.fromkeys(FIELDS, json_values),
)
messages = st.fixed_dictionaries(
    {"role": st.sampled_from(["system", "user", "assistant", "tool"])},
    optional={
        "content": st.text(max_size=80) | st.lists(parts | json_values, max_size=4) | json_values,
        "name": json_values,
        "tool_calls": json_values | st.lists(parts, max_size=2),
        "function_call": json_values,
        "reasoning_content": json_values,
        "audio": json_values,
        "refusal": json_values,
    },
)


def count(vocabulary: Any, text: str) -> int:
    return len(vocabulary.encode_ordinary(text))


@pytest.mark.parametrize("script", SAMPLES)
def test_no_script_is_counted_double_or_half_in_either_vocabulary(script: str) -> None:
    text = SAMPLES[script]
    estimate, new, old = estimate_tokens(text), count(O200K, text), count(CL100K, text)
    assert 0.85 * min(new, old) <= estimate <= 1.1 * max(new, old)
    if script not in FAR_APART:
        assert max(new, old) / 2 < estimate < min(new, old) * 2


@pytest.mark.parametrize(
    "text", [ENGLISH, CODE, json.dumps({"path": "a/b.py", "lines": [1, 20], "ok": True})]
)
def test_ascii_text_is_missed_by_less_than_a_quarter(text: str) -> None:
    assert estimate_tokens(text) == pytest.approx(count(O200K, text), rel=0.25)


def test_chinese_is_not_counted_at_four_characters_a_token() -> None:
    assert estimate_tokens(SAMPLES["chinese"]) > 2.5 * len(SAMPLES["chinese"]) / 4


def test_empty_text_is_nothing_and_any_other_is_something() -> None:
    assert estimate_tokens("") == 0
    assert estimate_tokens("a") == 1


def test_a_long_text_costs_what_its_pieces_cost() -> None:
    for piece in (ENGLISH, CODE, SAMPLES["chinese"], SAMPLES["arrows and typography"]):
        assert estimate_tokens(piece * 400) == pytest.approx(400 * estimate_tokens(piece), rel=0.05)


@given(st.text(), st.text())
def test_appending_text_never_lowers_an_estimate(text: str, more: str) -> None:
    assert estimate_tokens(text + more) >= estimate_tokens(text)


@given(st.sampled_from(["x1", "日本", "a→", " "]), st.integers(0, 5_000), st.text(max_size=60))
def test_appending_to_a_long_text_never_lowers_an_estimate(piece: str, times: int, more: str) -> None:
    assert estimate_tokens(piece * times + more) >= estimate_tokens(piece * times)


@given(st.text(st.characters(categories=["Cs", "Lo", "Ll"])))
def test_broken_surrogates_are_counted_too(text: str) -> None:
    assert estimate_tokens(text) >= 0


@given(messages, st.text(max_size=40))
def test_appending_text_to_a_message_never_lowers_its_estimate(message: dict[str, Any], more: str) -> None:
    content = message.get("content")
    if isinstance(content, str):
        longer: Any = content + more
    elif isinstance(content, list):
        longer = [*content, {"type": "text", "text": more}]
    else:
        message, longer = {**message, "content": None}, more
    assert estimate_message_tokens({**message, "content": longer}) >= estimate_message_tokens(message)


@settings(max_examples=40)
@given(st.lists(messages, max_size=3), st.lists(messages, max_size=3))
def test_the_estimate_of_a_list_is_the_sum_over_its_messages(first: list[Any], second: list[Any]) -> None:
    whole = estimate_messages_tokens_rough([*first, *second])
    assert whole == estimate_messages_tokens_rough(first) + estimate_messages_tokens_rough(second)
    assert whole == sum(estimate_message_tokens(message) for message in [*first, *second])


@given(messages | json_values)
def test_no_shape_makes_counting_raise(message: Any) -> None:
    assert estimate_message_tokens(message) >= MESSAGE_OVERHEAD
    assert estimate_tools_tokens(message) >= 0
    assert estimate_tools_tokens([message, message]) >= 2 * CALL_OVERHEAD


@pytest.mark.parametrize("content", [None, [], [None], [1, 2.5, True], {"deep": [{"er": [[]]}]}, b"raw"])
def test_content_of_any_type_is_counted(content: Any) -> None:
    assert estimate_message_tokens({"role": "user", "content": content}) >= MESSAGE_OVERHEAD
    assert estimate_message_tokens({"role": "user"}) == MESSAGE_OVERHEAD


def test_a_number_too_long_to_be_written_out_is_counted() -> None:
    assert estimate_message_tokens({"role": "user", "content": [10**5000]}) > 1_000


def test_nesting_deeper_than_the_stack_is_counted() -> None:
    content: Any = "leaf"
    for _ in range(50_000):
        content = [{"type": "tool_result", "content": content}]
    assert estimate_message_tokens(
        {"role": "user", "content": content}
    ) == MESSAGE_OVERHEAD + estimate_tokens("leaf")


def test_an_input_is_never_changed() -> None:
    message = {
        "role": "user",
        "content": [{"type": "text", "text": "a"}, {"type": "tool_use", "input": {"b": [1]}}],
    }
    before = json.dumps(message)
    estimate_message_tokens(message)
    assert json.dumps(message) == before


def test_a_string_and_one_text_part_cost_the_same() -> None:
    assert estimate_message_tokens({"role": "user", "content": CODE}) == estimate_message_tokens(
        {"role": "user", "content": [{"type": "text", "text": CODE}]}
    )


def test_a_tool_call_costs_its_name_its_arguments_and_a_frame() -> None:
    plain = {"role": "assistant", "content": None}
    call = {
        "id": "call_1",
        "type": "function",
        "function": {"name": "read_file", "arguments": '{"path": "a.py"}'},
    }
    added = estimate_message_tokens({**plain, "tool_calls": [call]}) - estimate_message_tokens(plain)
    assert added == CALL_OVERHEAD + estimate_tokens("read_file") + estimate_tokens('{"path": "a.py"}')
    ids = {**call, "id": "call_" + "0123456789" * 20}
    assert estimate_message_tokens({**plain, "tool_calls": [ids]}) - estimate_message_tokens(plain) == added


def test_arguments_that_are_not_a_string_cost_about_what_their_json_costs() -> None:
    arguments = {
        "path": "src/app/main.py",
        "edits": [{"old": "x = 1", "new": "x = 2"}] * 5,
        "force": True,
        "n": 12,
    }
    call = {"id": "1", "type": "function", "function": {"name": "edit", "arguments": arguments}}
    as_text = {**call, "function": {"name": "edit", "arguments": json.dumps(arguments)}}
    one, other = (estimate_message_tokens({"role": "assistant", "tool_calls": [c]}) for c in (call, as_text))
    assert one == pytest.approx(other, rel=0.25)


def test_a_tool_use_block_costs_about_what_the_same_call_costs() -> None:
    arguments = {"path": "src/app/main.py", "content": CODE}
    block = {"type": "tool_use", "id": "toolu_1", "name": "write_file", "input": arguments}
    call = {"id": "toolu_1", "function": {"name": "write_file", "arguments": json.dumps(arguments)}}
    in_content = estimate_message_tokens({"role": "assistant", "content": [block]})
    beside = estimate_message_tokens({"role": "assistant", "content": None, "tool_calls": [call]})
    assert in_content == pytest.approx(beside, rel=0.25)


@pytest.mark.parametrize("key", ["name", "reasoning_content", "reasoning", "refusal"])
def test_text_beside_the_content_is_counted(key: str) -> None:
    message = {"role": "assistant", "content": "ok"}
    added = estimate_message_tokens({**message, key: ENGLISH}) - estimate_message_tokens(message)
    assert added == estimate_tokens(ENGLISH)


def test_reasoning_that_a_host_repeats_under_two_keys_is_counted_once() -> None:
    once = {"role": "assistant", "content": "ok", "reasoning": ENGLISH}
    twice = {**once, "reasoning_details": [{"type": "reasoning.text", "text": ENGLISH}]}
    assert estimate_message_tokens(twice) == estimate_message_tokens(once)


def test_thinking_is_counted_and_its_signature_is_not() -> None:
    block = {"type": "thinking", "thinking": ENGLISH, "signature": "A" * 5_000}
    message = {"role": "assistant", "content": [block]}
    assert estimate_message_tokens(message) == MESSAGE_OVERHEAD + estimate_tokens(ENGLISH)
    hidden = {"role": "assistant", "content": [{"type": "redacted_thinking", "data": "A" * 50_000}]}
    assert estimate_message_tokens(hidden) == MESSAGE_OVERHEAD + REDACTED_THINKING


def test_bookkeeping_keys_that_are_never_sent_cost_nothing() -> None:
    message = {"role": "user", "content": "hello"}
    kept = {
        **message,
        "timestamp": "2026-01-01T00:00:00Z",
        "cache_control": {"type": "ephemeral"},
        "id": "m" * 99,
    }
    assert estimate_message_tokens(kept) == estimate_message_tokens(message)


def test_tools_cost_about_what_their_json_costs() -> None:
    tool = {
        "type": "function",
        "function": {
            "name": "read_file",
            "description": "Read a file from the project and return its numbered lines.",
            "parameters": {
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "Path of the file, relative to the project."},
                    "offset": {"type": "integer", "description": "First line to read.", "default": 0},
                },
                "required": ["path"],
            },
        },
    }
    truth = count(O200K, json.dumps(tool))
    assert estimate_tools_tokens([tool]) == pytest.approx(truth, rel=0.25)
    assert estimate_tools_tokens([tool, tool]) == 2 * estimate_tools_tokens([tool])
    assert estimate_tools_tokens(None) == estimate_tools_tokens([]) == 0
