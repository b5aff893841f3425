"""A process takes a card of its own and gives it back when it dies, however it dies."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from almanac.models import cards
from almanac.models.cards import take

WORKFLOW = Path(cards.__file__).parents[2]
TAKE = """
import sys, time
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from almanac.models.cards import take
taken = take(sys.argv[3:], Path(sys.argv[2]))
print(None if taken is None else taken[0], flush=True)
time.sleep(120)
"""


@pytest.fixture
def taker(tmp_path):
    """Start real processes that take a card and hold it; end them all."""
    running = []

    def start(*cards):
        command = [sys.executable, "-c", TAKE, str(WORKFLOW), str(tmp_path / "locks"), *cards]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        running.append(process)
        return process, process.stdout.readline().strip()

    yield start
    for process in running:
        process.kill()
        process.wait()
        process.stdout.close()


def test_each_process_has_a_card_of_its_own_until_it_is_killed(taker):
    first, index = taker("GPU-a", "GPU-b")
    assert index == "0"
    # Another process may see the same cards in another order: the name counts, not the index.
    assert taker("GPU-a", "GPU-b")[1] == "1"
    assert taker("GPU-b", "GPU-a")[1] == "None"
    first.kill()
    first.wait()
    assert taker("GPU-b", "GPU-a")[1] == "1"


def test_cards_of_several_names_are_taken_in_order(tmp_path):
    taken = [take(["a", "b", "c"], tmp_path / "locks") for _ in range(4)]
    assert [one and one[0] for one in taken] == [0, 1, 2, None]
    assert take([], tmp_path / "locks") is None


def test_a_lock_file_of_another_user_can_be_locked(tmp_path):
    (tmp_path / "a").write_text("")
    (tmp_path / "a").chmod(0o444)
    assert take(["a"], tmp_path)[0] == 0


def test_other_users_may_open_the_lock_file_of_one_who_shuts_his_files(tmp_path):
    before = os.umask(0o077)
    try:
        take(["a"], tmp_path / "locks")
    finally:
        os.umask(before)
    assert (tmp_path / "locks" / "a").stat().st_mode & 0o777 == 0o644
