"""Runs inside the peer's own environment: seconds of processor time that hermes-agent needs for one pass, as JSON.

python hermes_speed.py conversation.json repeats
"""

import json
import sys
import time
from pathlib import Path

from agent.context_compressor import ContextCompressor  # type: ignore[import-not-found]

messages = json.loads(Path(sys.argv[1]).read_text("utf-8"))
seconds = []
for _ in range(int(sys.argv[2])):
    engine = ContextCompressor(model="unknown", quiet_mode=True, config_context_length=200_000)
    engine._generate_summary = lambda *_, **__: "## Goal\nnone\n## Progress\nnone"
    started = time.process_time()
    result = engine.compress(messages, current_tokens=10_000_000)
    seconds.append(time.process_time() - started)
    assert len(result) < len(messages), "the peer did not compact"
print(json.dumps({"seconds": seconds, "messages_after": len(result)}))
