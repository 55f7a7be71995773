"""`python -m plimsoll.gateway`: what `plimsoll gateway` starts."""

import argparse
import sys

from plimsoll.errors import UserError
from plimsoll.gateway.runtime_options import RuntimeOptions
from plimsoll.gateway.serving import serve

MISTAKE = 2  # exit code for invalid settings or options


def main() -> int:
    """Serve until a signal arrives. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="plimsoll gateway")
    parser.add_argument("--host")
    parser.add_argument("--port", type=int)
    parser.add_argument("--workers", type=int)
    parser.add_argument("--demo", action="store_true")
    options = parser.parse_args()
    try:
        flags = {f"gateway.{name}": getattr(options, name) for name in ("host", "port", "workers")}
        serve(flags, RuntimeOptions(demo=options.demo))
    except UserError as error:
        print(f"plimsoll: {error}", file=sys.stderr)
        return MISTAKE
    return 0


if __name__ == "__main__":
    sys.exit(main())
