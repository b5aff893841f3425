"""Unfinished files and folders: those of killed processes are removed, those of processes at work never."""

import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.no_flock import without_flock

from almanac import tables, unfinished

REPOSITORY = Path(__file__).resolve().parents[1]
WRITING = """
import sys, time
from pathlib import Path
from almanac import tables, unfinished
root = Path(sys.argv[1])
with (
    tables.atomic(root / "table.parquet"),
    unfinished.folder(root / "model") as made,
    unfinished.folder() as work,
    unfinished.alone(root / "answers"),
):
    (made / "weights").write_text("half")
    print("ready", flush=True)
    time.sleep(600)
"""


@contextmanager
def writer(root, *before):
    """A process that is writing a file and two folders; it is killed at the end."""
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY / "workflow"), "TMPDIR": str(root / "system")}
    command = [*before, sys.executable, "-c", WRITING, str(root / "results")]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        yield process
        process.kill()


@pytest.fixture
def root(tmp_path, monkeypatch):
    for name in ("system", "results"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "system"))
    return tmp_path


def there(root):
    return {path.name for path in (*(root / "results").iterdir(), *(root / "system").iterdir())}


def test_what_a_killed_process_has_left_is_removed_and_what_is_written_stays(root):
    (root / "results" / ".notes.tmp").write_text("a user's own")
    with writer(root):
        at_work = there(root)
        assert len(at_work) == 5
        unfinished.remove_abandoned(root / "results")
        assert there(root) == at_work
    unfinished.remove_abandoned(root / "results")
    assert there(root) == {".notes.tmp"}


@without_flock
def test_without_locks_nothing_is_removed(root):
    with writer(root, sys.executable, str(REPOSITORY / "tests" / "no_flock.py")):
        remove = "import sys; from pathlib import Path; from almanac.unfinished import remove_abandoned as remove; "
        command = [sys.executable, str(REPOSITORY / "tests" / "no_flock.py"), sys.executable, "-c"]
        command += [remove + "remove(Path(sys.argv[1]))", str(root / "results")]
        environment = os.environ | {"PYTHONPATH": str(REPOSITORY / "workflow"), "TMPDIR": str(root / "system")}
        subprocess.run(command, check=True, env=environment)
        assert len(there(root)) == 4


def test_what_ends_without_being_killed_leaves_nothing(root):
    with pytest.raises(KeyError), tables.atomic(root / "results" / "table.parquet"), unfinished.folder():
        raise KeyError
    assert there(root) == set()
    unfinished.Folder().cleanup()
    assert there(root) == set()


@pytest.mark.parametrize(("mask", "rights"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_a_file_has_the_rights_that_its_user_gives_to_new_files(tmp_path, mask, rights):
    before = os.umask(mask)
    try:
        with tables.atomic(tmp_path / "table") as temporary:
            temporary.write_text("whole")
    finally:
        os.umask(before)
    assert (tmp_path / "table").stat().st_mode & 0o777 == rights
