"""The conversation model: content shapes, tool groups, safe cuts, repair, turn order, validation."""

from plimsoll.messages.calls import (
    ToolAnswer,
    answered_id,
    answers,
    arguments_of,
    arguments_text,
    call_ids,
    call_name,
    tool_calls,
)
from plimsoll.messages.content import (
    IMAGE_TYPES,
    MEDIA_TYPES,
    Message,
    Part,
    excerpt,
    media_of,
    part_text,
    parts_of,
    text_of,
    texts_of,
    with_block,
    with_text,
)
from plimsoll.messages.groups import align_backward, answered_through, groups, safe_cuts
from plimsoll.messages.handles import (
    HANDLE_DIGITS,
    handle_of,
    original_handle,
    without_handle,
    without_named_handles,
)
from plimsoll.messages.harness import is_harness_text, without_harness_text
from plimsoll.messages.order import (
    SYSTEM_ROLES,
    fitting_role,
    is_same_speaker,
    leading_system_messages,
)
from plimsoll.messages.person_answers import REFUSED, person_answer
from plimsoll.messages.recognition import extends, match_messages
from plimsoll.messages.repair import STUB_RESULT, is_whole, repair, stub_result
from plimsoll.messages.validate import Violation, Wire, validate

__all__ = [
    "HANDLE_DIGITS",
    "IMAGE_TYPES",
    "MEDIA_TYPES",
    "REFUSED",
    "STUB_RESULT",
    "SYSTEM_ROLES",
    "Message",
    "Part",
    "ToolAnswer",
    "Violation",
    "Wire",
    "align_backward",
    "answered_id",
    "answered_through",
    "answers",
    "arguments_of",
    "arguments_text",
    "call_ids",
    "call_name",
    "excerpt",
    "extends",
    "fitting_role",
    "groups",
    "handle_of",
    "is_harness_text",
    "is_same_speaker",
    "is_whole",
    "leading_system_messages",
    "match_messages",
    "media_of",
    "original_handle",
    "part_text",
    "parts_of",
    "person_answer",
    "repair",
    "safe_cuts",
    "stub_result",
    "text_of",
    "texts_of",
    "tool_calls",
    "validate",
    "with_block",
    "with_text",
    "without_handle",
    "without_harness_text",
    "without_named_handles",
]
