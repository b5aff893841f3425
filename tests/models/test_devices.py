"""A process takes a card of its own and gives it back when it dies, however it dies."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch

from almanac.errors import AlmanacError
from almanac.models import devices

WORKFLOW = Path(devices.__file__).parents[2]
TAKE = """
import sys, time
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from almanac.models.devices import take
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
    taken = [devices.take(["a", "b", "c"], tmp_path / "locks") for _ in range(4)]
    assert [one and one[0] for one in taken] == [0, 1, 2, None]
    assert devices.take([], tmp_path / "locks") is None


def test_a_lock_file_of_another_user_can_be_locked(tmp_path):
    (tmp_path / "a").write_text("")
    (tmp_path / "a").chmod(0o444)
    assert devices.take(["a"], tmp_path)[0] == 0


@pytest.mark.parametrize(
    ("wanted", "cuda", "mps", "found"),
    [
        ("auto", True, True, "cuda"),
        ("auto", True, False, "cuda"),
        ("auto", False, True, "mps"),
        ("auto", False, False, "cpu"),
        ("cpu", True, True, "cpu"),
        ("cuda:1", True, False, "cuda:1"),
    ],
)
def test_auto_is_the_accelerator_that_there_is(wanted, cuda, mps, found):
    assert devices.kind(wanted, cuda, mps) == found


@pytest.mark.parametrize("device", ["tpu", "cuda:", "cuda:x", "cpu:0", ""])
def test_an_unknown_device_is_refused_with_those_there_are(device):
    with pytest.raises(AlmanacError, match=f"device is '{device}'; allowed are auto, cpu, cuda, cuda:N, mps"):
        devices.check(device)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is an accelerator")
@pytest.mark.parametrize("device", ["cuda", "cuda:0", "cuda:7"])
def test_an_accelerator_that_is_not_there_is_refused(device):
    with pytest.raises(AlmanacError, match="there is no such accelerator; use auto or cpu"):
        devices.check(device)


@pytest.mark.skipif(torch.cuda.is_available() or torch.backends.mps.is_available(), reason="there is an accelerator")
def test_without_an_accelerator_auto_is_the_cpu():
    assert devices.resolve("auto") == torch.device("cpu")
    assert devices.describe(torch.device("cpu")) == "cpu"


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no accelerator")
def test_with_a_card_auto_takes_it_once(capsys):
    first, second = devices.resolve("auto"), devices.resolve("cuda")
    assert first == second
    assert "for this process alone" in capsys.readouterr().err
    assert devices.describe(first).startswith("cuda (")
