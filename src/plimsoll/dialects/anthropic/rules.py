"""What a model accepts in Anthropic's wire format.

`EXACT` allows everything in the format, so that a round trip loses nothing;
`rules_for(model)` returns what that model accepts.
"""

import re
from dataclasses import dataclass

_VERSION = re.compile(r"(opus|sonnet|haiku|fable|mythos)[-.]?(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)")

_FIRST_THINKER = re.compile(r"3[-.]7[-.]sonnet|sonnet[-.]3[-.]7")


@dataclass(frozen=True, slots=True)
class AnthropicRules:
    """Differences between models with this wire format."""

    unsigned_thinking: bool = True  # a thinking block without signature is accepted
    sampling: bool = True  # temperature, top_p and top_k are accepted
    effort: bool = True  # `output_config.effort` is accepted
    budget: bool = True  # thinking may be given a budget; otherwise it is adaptive
    thinks: bool = True  # thinking is accepted at all
    structured: bool = True  # `output_config.format` is accepted


EXACT = AnthropicRules()


def rules_for(model: str) -> AnthropicRules:
    """The rules of a model by name; models other than Claude accept unsigned thinking."""
    name = model.lower()
    if "claude" not in name:
        return EXACT
    found = _VERSION.search(name)
    version = (int(found[2]), int(found[3] or 0)) if found else (0, 0)
    return AnthropicRules(
        unsigned_thinking=False,
        sampling=version < (4, 7),
        effort=version >= (4, 6) or bool(found and found[1] == "opus" and version >= (4, 5)),
        budget=version < (4, 7),
        thinks=version >= (4, 0) or bool(_FIRST_THINKER.search(name)),
        structured=version >= (4, 5) or bool(found and found[1] == "opus" and version >= (4, 1)),
    )
