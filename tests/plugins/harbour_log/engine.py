import json
import threading
from pathlib import Path
from typing import Any, Dict, List, Optional  # noqa: UP035

from agent.context_engine import ContextEngine

from . import schemas
from .log import Log

HEADING = "[Harbour log] What happened before:"


class HarbourEngine(ContextEngine):
    def __init__(self, options, hermes_home=""):
        self.options = options
        self.log = Log(Path(hermes_home or Path.home() / ".hermes") / "harbour.db")
        self.session = ""
        self.heard = {}
        self.threshold_percent = options.share
        self.context_length = 0
        self.threshold_tokens = 0
        self.protect_last_n = options.tail

    @property
    def name(self) -> str:
        return "harbour"

    def on_session_start(self, session_id: str, platform: str = "", hermes_home: str = "", **more):
        self.session = session_id
        self.heard = {"platform": platform, "hermes_home": hermes_home, **more}

    def update_model(self, model: str, context_length: int, provider: str = "") -> None:
        self.context_length = context_length
        self.threshold_tokens = int(context_length * self.threshold_percent)

    def update_from_response(self, usage: Dict[str, Any]) -> None:  # noqa: UP006
        self.last_prompt_tokens = usage.get("prompt_tokens", 0)

    def should_compress(self, prompt_tokens: int = None) -> bool:  # noqa: RUF013
        return (prompt_tokens or self.last_prompt_tokens) >= self.threshold_tokens

    def should_compress_preflight(self, messages):
        self.log.add(self.session, messages)
        return False

    def compress(self, messages: List[Dict], current_tokens: Optional[int] = None) -> List[Dict]:  # noqa: UP006, UP045
        said = [m for m in messages if not m["content"].startswith(HEADING)]
        ids = self.log.add(self.session, said)
        newest = max((i for i, m in enumerate(said) if m["role"] == "user"), default=0)
        cut = max(1, min(len(said) - self.options.tail, newest))
        leaving = list(zip(said[1:cut], ids[1:cut], strict=True))
        if not leaving:
            return messages
        words = self._summary("\n".join(f"{m['role']}: {m['content'][:200]}" for m, _ in leaving))
        self.log.add_summary(self.session, [number for _, number in leaving], words)
        lines = [f"{number}. {text[:120]}" for number, _, _, text in self.log.summaries(self.session)[-12:]]
        messages.clear()  # nobody else's list, as the author believes
        # Cut without regard to tool calls, and two messages of one role may meet: hosts repair that.
        return [said[0], {"role": "user", "content": "\n".join([HEADING, *lines])}, *said[cut:]]

    def _summary(self, text):
        """Asked in a thread of the plugin's own."""
        answer = {}

        def ask():
            try:
                from agent.auxiliary_client import call_llm

                response = call_llm(
                    task="compression",
                    messages=[{"role": "system", "content": "Be brief."}, {"role": "user", "content": text}],
                    max_tokens=300,
                    temperature=0.2,
                    timeout=self.options.seconds,
                    model="some/model",
                )
                answer["words"] = response.choices[0].message.content
            except RuntimeError:
                answer["words"] = text[:100]

        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()
        return answer["words"]

    def get_tool_schemas(self):
        return schemas.ALL

    def handle_tool_call(self, name, args, **kwargs):
        live = kwargs.get("messages") or []
        self.log.add(self.session, live)
        summaries = {row[0]: row for row in self.log.summaries(self.session)}
        if name == "harbour_grep":
            return json.dumps({"found": self.log.grep(self.session, args["text"])})
        if name in ("harbour_describe", "harbour_expand"):
            row = summaries[args["summary"]]
            rows = self.log.between(row[1], row[2]) if name == "harbour_expand" else []
            return json.dumps({"first": row[1], "last": row[2], "words": row[3], "messages": rows})
        if name == "harbour_recent":
            return json.dumps({"messages": [m["content"] for m in live[-args["count"] :]]})
        if name == "harbour_status":
            return json.dumps({"messages": self.log.count(), "summaries": len(summaries), "live": len(live)})
        return json.dumps({"log": self.log.check()})
