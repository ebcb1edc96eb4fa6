"""Whether the server in this container is healthy: ``python -m pages.serving.health`` ends with 0 if so."""

import sys
import urllib.request

from pages.serving.config import Config, config


def main() -> int:
    """Ask the server; anything but a plain yes is a no."""
    settings = config()
    here = "127.0.0.1" if settings.address == Config().address else settings.address
    address = f"http://{f'[{here}]' if ':' in here else here}:{settings.port}/healthz"
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with direct.open(address, timeout=4) as answer:
            return 0 if answer.status == 200 else 1
    except OSError:
        return 1


if __name__ == "__main__":
    sys.exit(main())
