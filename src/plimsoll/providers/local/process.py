"""The process that runs the model: llama.cpp's own server, and a watch on the parent.

    parent ── settings, one line of JSON ──► stdin        closed ─► this process ends
           ◄─ address, one line of JSON ──── stdout       everything else ─► the log

It is a script of its own and imports nothing of Plimsoll, so that a crash in
native code, or its threads, never touch the program that a person works in.
The key comes over stdin: arguments can be read by every user of the machine.
"""

import json
import os
import sys
from typing import Any


def serve(settings: dict[str, Any]) -> Any:
    """The running server; it lives as long as the object does."""
    import xllamacpp  # type: ignore[import-untyped, import-not-found, unused-ignore]

    params = xllamacpp.CommonParams()
    params.model.path = settings["model"]
    params.model_alias = {settings["name"]}
    params.hostnames = ["127.0.0.1"]
    params.port = 0  # whichever is free
    params.api_keys = [settings["key"]]
    params.n_ctx = settings["context_length"]
    params.n_parallel = 1
    for cpu in (params.cpuparams, params.cpuparams_batch):
        cpu.n_threads = settings["threads"]
        cpu.poll = 0  # threads that wait by spinning starve everybody else, and each other, on a busy machine
    params.n_threads_http = 2
    params.cache_prompt = True
    params.cache_ram_mib = 256
    params.n_predict = settings["longest_answer"]
    params.ui = False
    params.warmup = False
    return xllamacpp.Server(params)


def main() -> None:
    """Serve until the parent closes our input or is gone."""
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what native code prints belongs in the log
    settings = json.loads(sys.stdin.buffer.readline())
    server = serve(settings)
    answer.write(json.dumps({"address": server.listening_address}) + "\n")
    answer.close()
    sys.stdin.buffer.read()
    # A graceful shutdown would wait for an answer that is not needed any more.
    os._exit(0)


if __name__ == "__main__":
    main()
