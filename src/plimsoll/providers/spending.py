"""What one attempt at a request used, where its reply broke off or its provider did not say.

    reported by the provider   taken as it is
    not reported               estimated: the prompt that was sent, and what arrived of the reply

An attempt that the provider never began to answer counts as nothing.
"""

from dataclasses import replace

from plimsoll.dialects import ChatRequest, Reply, Usage
from plimsoll.models import estimate_message_tokens, estimate_messages_tokens_rough, estimate_tools_tokens


def has_begun(reply: Reply) -> bool:
    """Whether the provider began to answer: it sent at least the head of a reply."""
    return bool(reply.usage or reply.id or reply.model or reply.finish_reason or _has_content(reply))


def used_so_far(reply: Reply, prompt_tokens: int) -> Usage:
    """What a reply has used as far as it came; `prompt_tokens` holds where the provider reported no prompt."""
    usage = reply.usage or Usage()
    prompt = usage.prompt_tokens or prompt_tokens
    written = estimate_message_tokens(reply.message) if _has_content(reply) else 0
    output = max(usage.completion_tokens, written)
    return replace(usage, prompt_tokens=prompt, completion_tokens=output, total_tokens=prompt + output)


def estimated_prompt(request: ChatRequest) -> int:
    """The prompt tokens of a request, by our own count."""
    return estimate_messages_tokens_rough(request.messages) + estimate_tools_tokens(request.tools)


def _has_content(reply: Reply) -> bool:
    return bool(reply.message.get("content")) or len(reply.message) > 2
