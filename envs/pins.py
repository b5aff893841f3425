"""The pins: one lock for everything, and from it the conda environment of each step.

python envs/pins.py lock     # after a change of dependencies: freeze the running environment into envs/lock.txt
python envs/pins.py envs     # write envs/*.yaml from the lock
python envs/pins.py check    # exit 1 unless envs/*.yaml and envs/hashes.txt are what the lock gives
"""

import subprocess
import sys
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

HERE = Path(__file__).resolve().parent
LOCK, HASHES = HERE / "lock.txt", HERE / "hashes.txt"
UNHASHED = "torch"  # whose builds differ from index to index
PYTHON = "3.11"
TABLES = ("pyarrow", "polars", "numpy", "pydantic", "pyyaml", "tqdm", "msgspec", "zstandard")
MODELS = ("torch", "transformers", "tokenizers", "safetensors", "openai")
MEASURES = ("scipy", "rouge-score")
SOURCES = (*TABLES, "sparqlwrapper", "requests", "stamina")
STEPS = {
    "tables": TABLES,
    "sources": SOURCES,
    "models": (*TABLES, *MODELS),
    "measures": (*TABLES, *MEASURES),
    "report": (*TABLES, *MEASURES, "matplotlib", "jinja2"),
}
NOT_PINNED = {"pip", "almanac"}
HEADER = "# Every package of Almanac at one version. Written by `python envs/pins.py lock`; do not edit.\n"


def name_of(text: str) -> str:
    """Return a package's name as pip compares names."""
    return text.lower().replace("_", "-").replace(".", "-")


def locked() -> dict[str, str]:
    """Return the version of each package in the lock."""
    return pins_of(LOCK)


def pins_of(path: Path) -> dict[str, str]:
    """Return the version of each package in a file of pip's requirements, with or without hashes."""
    lines = (line.partition("#")[0].strip(" \\") for line in path.read_text(encoding="utf-8").splitlines())
    return {name_of(name): version for name, is_pin, version in (line.partition("==") for line in lines) if is_pin}


def write_lock() -> None:
    """Freeze the running environment, without local version parts: a CPU build and the registry's are one version."""
    frozen = subprocess.run(
        [sys.executable, "-m", "pip", "list", "--format=freeze"], check=True, capture_output=True, text=True
    ).stdout.split()
    pins = {name_of(name): version.partition("+")[0] for name, _, version in (line.partition("==") for line in frozen)}
    lines = [f"{name}=={version}\n" for name, version in sorted(pins.items()) if name not in NOT_PINNED]
    LOCK.write_text(HEADER + "".join(lines), encoding="utf-8")


def closure(names: tuple[str, ...]) -> list[str]:
    """Return the locked packages that these need, themselves included, by what is installed says it needs."""
    pins, todo, found = locked(), [name_of(name) for name in names], set[str]()
    if absent := [name for name in todo if name not in pins]:
        raise SystemExit(
            f"envs/lock.txt has no {', '.join(absent)}; run `python envs/pins.py lock` where it is installed"
        )
    while todo:
        name = todo.pop()
        if name in found or name not in pins:
            continue
        found.add(name)
        for line in metadata.requires(name) or []:
            need = Requirement(line)
            if need.marker is None or need.marker.evaluate({"extra": ""}):
                todo.append(name_of(need.name))
    return sorted(found)


def environment(names: tuple[str, ...]) -> str:
    """Return the YAML of one step's environment. It holds no comment: one would rerun every rule that uses it."""
    pins = locked()
    lines = [
        "channels:",
        "  - conda-forge",
        "  - nodefaults",
        "dependencies:",
        f"  - python={PYTHON}",
        "  - pip",
        "  - pip:",
    ]
    return "\n".join(lines + [f"      - {name}=={pins[name]}" for name in closure(names)]) + "\n"


def main() -> int:
    """Do what the command line asks."""
    wanted = sys.argv[1:2]
    if wanted == ["lock"]:
        write_lock()
        return 0
    if wanted == ["envs"]:
        for step, names in STEPS.items():
            (HERE / f"{step}.yaml").write_text(environment(names), encoding="utf-8")
        return 0
    if wanted == ["check"]:
        stale = [
            step for step, names in STEPS.items() if (HERE / f"{step}.yaml").read_text("utf-8") != environment(names)
        ]
        for step in stale:
            print(f"envs/{step}.yaml is not what envs/lock.txt gives; run `python envs/pins.py envs`")
        hashed = pins_of(HASHES) == {name: version for name, version in locked().items() if name != UNHASHED}
        if not hashed:
            print("envs/hashes.txt has not the pins of envs/lock.txt; write it as CONTRIBUTING.md says")
        return int(bool(stale) or not hashed)
    print(__doc__)
    return 2


if __name__ == "__main__":
    raise SystemExit(main())
