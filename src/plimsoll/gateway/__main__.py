"""`python -m plimsoll.gateway`: what `plimsoll gateway` starts."""

import argparse
import sys

from plimsoll.errors import UserError
from plimsoll.gateway.serving import serve
from plimsoll.gateway.settings import HOST, PORT, GatewaySettings

MISTAKE = 2


def main() -> int:
    """Serve until a signal ends it; the exit code."""
    parser = argparse.ArgumentParser(prog="plimsoll gateway")
    parser.add_argument("--host", default=HOST)
    parser.add_argument("--port", default=PORT, type=int)
    parser.add_argument("--workers", default=1, type=int)
    options = parser.parse_args()
    try:
        serve(GatewaySettings(host=options.host, port=options.port, workers=options.workers))
    except UserError as error:
        print(f"plimsoll: {error}", file=sys.stderr)
        return MISTAKE
    return 0


if __name__ == "__main__":
    sys.exit(main())
