"""The process that runs the model: llama.cpp's server, with a watch on the parent.

    parent ── settings, one line of JSON ──► stdin        closed ─► this process ends
           ◄─ address, one line of JSON ──── stdout       everything else ─► the log

It is a separate script that imports nothing from Plimsoll, so that a crash in native code does not affect the user's
program. The key comes over stdin, because every user of the machine can read arguments.
"""

import json
import os
import sys
from typing import Any


def serve(settings: dict[str, Any]) -> Any:
    """The running server; it stops when the object is deleted."""
    import xllamacpp  # type: ignore[import-untyped, import-not-found, unused-ignore]

    params = xllamacpp.CommonParams()
    params.model.path = settings["model"]
    params.model_alias = {settings["name"]}
    params.hostnames = ["127.0.0.1"]
    params.port = 0  # any free port
    params.api_keys = [settings["key"]]
    params.n_ctx = settings["context_length"]
    params.n_parallel = 1
    for cpu in (params.cpuparams, params.cpuparams_batch):
        cpu.n_threads = settings["threads"]
        cpu.poll = 0  # busy-waiting threads starve all others on a busy machine
    params.n_threads_http = 2
    params.cache_prompt = True
    params.cache_ram_mib = 256
    params.n_predict = settings["longest_answer"]
    params.ui = False
    params.warmup = False
    return xllamacpp.Server(params)


def main() -> None:
    """Serve until the parent closes our input or ends."""
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # output of native code goes to the log
    settings = json.loads(sys.stdin.buffer.readline())
    server = serve(settings)
    answer.write(json.dumps({"address": server.listening_address}) + "\n")
    answer.close()
    sys.stdin.buffer.read()
    # A graceful shutdown would wait for an answer that is no longer needed.
    os._exit(0)


if __name__ == "__main__":
    main()
