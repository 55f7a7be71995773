"""The usage of one attempt whose reply was interrupted or whose provider reported none.

    reported by the provider   used unchanged
    not reported               estimated from the prompt that was sent and the part of the reply that arrived

An attempt that the provider never began to answer counts as zero.
"""

from dataclasses import replace

from plimsoll.dialects import ChatRequest, Reply, Usage
from plimsoll.models import estimate_message_tokens, estimate_messages_tokens_rough, estimate_tools_tokens


def has_begun(reply: Reply) -> bool:
    """Whether the provider began to answer: at least the head of a reply arrived."""
    return bool(reply.usage or reply.id or reply.model or reply.finish_reason or _has_content(reply))


def used_so_far(reply: Reply, prompt_tokens: int) -> Usage:
    """The usage of a reply so far; `prompt_tokens` is used if the provider reported no prompt."""
    usage = reply.usage or Usage()
    prompt = usage.prompt_tokens or prompt_tokens
    written = estimate_message_tokens(reply.message) if _has_content(reply) else 0
    output = max(usage.completion_tokens, written)
    return replace(usage, prompt_tokens=prompt, completion_tokens=output, total_tokens=prompt + output)


def estimated_prompt(request: ChatRequest) -> int:
    """The prompt tokens of a request, by our estimate."""
    return estimate_messages_tokens_rough(request.messages) + estimate_tools_tokens(request.tools)


def _has_content(reply: Reply) -> bool:
    return bool(reply.message.get("content")) or len(reply.message) > 2
