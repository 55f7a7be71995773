"""`python -m plimsoll.gateway`: what `plimsoll gateway` starts."""

import argparse
import sys

from plimsoll.config import load_settings
from plimsoll.errors import UserError
from plimsoll.gateway.serving import serve
from plimsoll.gateway.settings import gateway_settings

MISTAKE = 2


def main() -> int:
    """Serve until a signal ends it; the exit code."""
    parser = argparse.ArgumentParser(prog="plimsoll gateway")
    parser.add_argument("--host")
    parser.add_argument("--port", type=int)
    parser.add_argument("--workers", type=int)
    parser.add_argument("--demo", action="store_true")
    options = parser.parse_args()
    try:
        section = load_settings().settings.gateway
        given = {"host": options.host, "port": options.port, "workers": options.workers, "demo": options.demo}
        serve(gateway_settings(section, **given))
    except UserError as error:
        print(f"plimsoll: {error}", file=sys.stderr)
        return MISTAKE
    return 0


if __name__ == "__main__":
    sys.exit(main())
