"""LiteLLM: a callback for its SDK (asynchronous calls) and its proxy; chat, responses and Anthropic messages.

    caller's messages  stay complete          before the call ──► the provider gets the view

LiteLLM keeps no history, so every call has the whole conversation. On the proxy, conversations of different keys are
kept apart.
"""

from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any

from plimsoll.dialects import dialect_named
from plimsoll.errors import InvalidConversation
from plimsoll.integrations.history import HistoryCompactor
from plimsoll.integrations.requirement import host_package
from plimsoll.integrations.sent_views import SentViews
from plimsoll.integrations.wire import HostRequest

with host_package("litellm", "litellm"):
    from litellm.integrations.custom_logger import CustomLogger

# LiteLLM's call types, by the dialect of their messages.
_DIALECTS = {
    "completion": "openai",
    "acompletion": "openai",
    "responses": "responses",
    "aresponses": "responses",
    "anthropic_messages": "anthropic",
    "aanthropic_messages": "anthropic",
}
# The call of the proxy whose view was made. The proxy makes and repeats it in the same task or in one that it starts,
# so it is recognised however many others are open.
_PROXIED: ContextVar[str] = ContextVar("plimsoll_proxied_call", default="")


class PlimsollHook(CustomLogger):
    """For `litellm.callbacks`, or `litellm_settings: callbacks` of the proxy.

    Takes the options of `HistoryCompactor`.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self.history = HistoryCompactor(**options)
        self._sent = SentViews(self.history)

    async def async_pre_call_deployment_hook(self, kwargs: dict[str, Any], call_type: Any) -> dict[str, Any]:
        """Compact a call of the SDK; calls from the proxy already have their view."""
        if _PROXIED.get() == _call_id(kwargs):
            return kwargs
        return await self._compacted(kwargs, str(getattr(call_type, "value", call_type)))

    async def async_pre_call_hook(
        self, user_api_key_dict: Any, cache: Any, data: dict[str, Any], call_type: str
    ) -> dict[str, Any]:
        """Compact a call of the proxy."""
        key = getattr(user_api_key_dict, "token", None) or getattr(user_api_key_dict, "api_key", None)
        _PROXIED.set(_call_id(data))
        return await self._compacted(data, str(call_type), str(key or ""))

    async def async_post_call_success_deployment_hook(
        self, request_data: dict[str, Any], response: Any, call_type: Any
    ) -> Any:
        """Record the provider's token count."""
        usage = getattr(response, "usage", None)
        counts = (getattr(usage, name, None) for name in ("prompt_tokens", "input_tokens"))
        count = next((count for count in counts if isinstance(count, int)), 0)
        self._sent.observe(_call_id(request_data), count)
        return response

    async def _compacted(
        self, data: dict[str, Any], call_type: str, conversation: str = ""
    ) -> dict[str, Any]:
        """The call with the view; the caller's own lists and dicts do not change."""
        name = _DIALECTS.get(call_type)
        if name is None:
            return data
        dialect = dialect_named(name)
        model = str(data.get("model") or "").rpartition("/")[2]  # LiteLLM writes provider/model
        try:
            request = HostRequest(dialect, data, model=model, conversation=conversation)
        except InvalidConversation:
            return data  # the provider reports what is wrong with it
        view = await request.view(self.history)
        self._sent.add(_call_id(data), view)
        return request.with_view(view)


def _call_id(data: Mapping[str, Any]) -> str:
    return str(data.get("litellm_call_id"))
