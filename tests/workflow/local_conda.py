"""A `conda` for one test: a real solver and linker (py-rattler) over a channel on disk.

`make_base` builds a folder to put on PATH. Its channel holds two packages, `python` (the running interpreter, as a
pyvenv.cfg) and `pip`; every channel that an environment file names stands for it. A `pip:` section is installed by pip.
So a run proves the environment files' syntax, activation, isolation by rule and the pip pins; it does not prove what
conda-forge has. Only the subcommands that Snakemake calls exist.
"""

import asyncio
import io
import json
import os
import platform
import subprocess
import sys
import tarfile
from pathlib import Path

HERE = Path(__file__).resolve()
PLATFORM = "linux-64"


def add_package(
    channel: Path, name: str, version: str, files: dict[str, str], links: dict[str, str], depends: list[str]
):
    folder = channel / PLATFORM
    folder.mkdir(parents=True, exist_ok=True)
    index = {"name": name, "version": version, "build": "0", "build_number": 0, "subdir": PLATFORM, "depends": depends}
    paths = [{"_path": path, "path_type": "hardlink"} for path in files]
    paths += [{"_path": path, "path_type": "softlink"} for path in links]
    about = {
        "info/index.json": json.dumps(index),
        "info/paths.json": json.dumps({"paths": paths, "paths_version": 1}),
        "info/files": "\n".join([*files, *links]),
    }
    with tarfile.open(folder / f"{name}-{version}-0.tar.bz2", "w:bz2") as archive:
        for path, text in (about | files).items():
            member = tarfile.TarInfo(path)
            member.size, member.mode = len(text.encode()), 0o644
            archive.addfile(member, io.BytesIO(text.encode()))
        for path, target in links.items():
            member = tarfile.TarInfo(path)
            member.type, member.linkname = tarfile.SYMTYPE, target
            archive.addfile(member)


def make_base(root: Path) -> Path:
    """Build the channel and the commands `conda` and `activate`; return the folder for PATH."""
    from rattler.index import index_fs

    version = platform.python_version()
    real = Path(sys._base_executable).resolve()
    config = f"home = {real.parent}\ninclude-system-site-packages = false\nversion = {version}\n"
    names = {"bin/python": str(real), "bin/python3": "python"}
    add_package(root / "channel", "python", version, {"pyvenv.cfg": config}, names, ["pip"])
    add_package(root / "channel", "pip", "26.0", {"share/pip.txt": "installed by ensurepip\n"}, {}, [])
    asyncio.run(index_fs(root / "channel"))
    commands = root / "bin"
    commands.mkdir()
    (commands / "conda").write_text(f'#!/bin/sh\nLOCAL_CONDA={root} exec {sys.executable} {HERE} "$@"\n')
    (commands / "conda").chmod(0o755)
    (commands / "activate").write_text('export CONDA_PREFIX="$1" PATH="$1/bin:$PATH"\n')
    return commands


async def create(root: Path, prefix: str, specs: list[str], pins: list[str]) -> None:
    from rattler import Channel, Gateway, MatchSpec, VirtualPackage, install, solve

    records = await solve(
        [Channel((root / "channel").as_uri())],
        [MatchSpec(spec) for spec in specs],
        gateway=Gateway(),
        platforms=[PLATFORM, "noarch"],
        virtual_packages=VirtualPackage.detect(),
    )
    await install(records, target_prefix=prefix, cache_dir=str(root / "packages"), show_progress=False)
    python = f"{prefix}/bin/python"
    subprocess.run([python, "-m", "ensurepip"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([python, "-m", "pip", "install", "--quiet", *pins], check=True)


def main(words: list[str]) -> None:
    root = Path(os.environ["LOCAL_CONDA"])
    where = {"conda_prefix": str(root), "root_prefix": str(root), "platform": PLATFORM, "conda_version": "25.1.0"}
    if words == ["--version"]:
        print("conda 25.1.0")
    elif words[:1] == ["info"]:
        print(json.dumps(where))
    elif words[:1] == ["config"]:
        print(json.dumps({"get": {"channel_priority": "strict"}}))
    elif words[:2] == ["env", "create"]:
        import yaml

        option = {name: words[words.index(name) + 1] for name in ("--file", "--prefix")}
        wanted = yaml.safe_load(Path(option["--file"]).read_text())["dependencies"]
        pins = [line for part in wanted if isinstance(part, dict) for line in part["pip"]]
        asyncio.run(create(root, option["--prefix"], [part for part in wanted if isinstance(part, str)], pins))
    elif words[:1] != ["clean"]:
        sys.exit(f"local_conda: {' '.join(words)!r} is not one of the few commands it knows")


if __name__ == "__main__":
    main(sys.argv[1:])
