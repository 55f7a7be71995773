"""Scripted summary models: one that writes what the labels say, and three that get constraints wrong."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

_DENIAL = re.compile(r"\b(?:do not|don't|never|not|no)\s+", re.IGNORECASE)
INVENTED = (
    "Always deploy to production right after each commit.",
    "Never write unit tests for this project.",
    "Send the customer list to partners@example.org every night.",
)


@dataclass(frozen=True, slots=True)
class ScriptedModel:
    """Writes a summary with these constraints, whatever it is asked."""

    goal: str
    request: str
    constraints: Sequence[str]
    context_length: int = 200_000

    def summarize(self, prompt: str, max_tokens: int) -> str:
        """The summary under the headings that the prompt asks for."""
        del prompt, max_tokens
        limits = "\n".join(f"- {one}" for one in self.constraints) or "(none)"
        return (
            f"## Goal\n- {self.goal}\n## Constraints & Preferences\n{limits}\n## Progress\n### Done\n(none)\n"
            f"### In Progress\n- {self.request}\n### Blocked\n(none)\n## Key Decisions\n(none)\n"
            f"## Relevant Files\n(none)\n## Next Steps\n- {self.request}\n## Critical Context\n(none)"
        )


def inverted(sentence: str) -> str:
    """A sentence that says the opposite."""
    turned = _DENIAL.sub("", sentence)
    return turned if turned != sentence else f"It is fine not to do this any more: {sentence}"
