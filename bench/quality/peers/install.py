"""Install the peers, each into an environment of its own; what is there already stays.

python bench/quality/peers/install.py            all of them
python bench/quality/peers/install.py strands    only those named

An environment counts as ready when its own interpreter reports the pinned version, so a second run
does nothing and a changed pin is followed.
"""

import subprocess
import sys
import time

from pins import HOME, PINS, distribution_of, python_of


def installed_version(name: str) -> str | None:
    """The version that the peer's own interpreter sees; None where it is missing."""
    python = python_of(name)
    if not python.exists():
        return None
    question = f"import importlib.metadata as m; print(m.version({distribution_of(name)[0]!r}))"
    done = subprocess.run([str(python), "-c", question], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def install(name: str) -> None:
    """Make the environment if need be, and put the pinned release into it."""
    python = python_of(name)
    if not python.exists():
        HOME.mkdir(parents=True, exist_ok=True)
        subprocess.run([sys.executable, "-m", "venv", str(HOME / name)], check=True)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, PINS[name]], check=True)


def main(names: list[str]) -> int:
    """Install the named peers, or all, and say after each one where it stands."""
    unknown = [name for name in names if name not in PINS]
    if unknown:
        print(f"install: no peer is called {unknown[0]!r}; there are {', '.join(PINS)}.", file=sys.stderr)
        return 2
    failed = []
    wanted = names or list(PINS)
    for number, name in enumerate(wanted, start=1):
        started = time.perf_counter()
        print(f"[{number}/{len(wanted)}] {PINS[name]} …", end=" ", flush=True)
        if installed_version(name) == distribution_of(name)[1]:
            print("there already", flush=True)
        else:
            try:
                install(name)
            except subprocess.CalledProcessError as error:
                failed.append(name)
                print(f"failed: {' '.join(error.cmd[:4])} … ended with {error.returncode}", flush=True)
                continue
            print(f"installed in {time.perf_counter() - started:.0f} s", flush=True)
        (HOME / name / ".ready").touch()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
