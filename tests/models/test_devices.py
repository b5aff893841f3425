"""A device is the one that is asked for, or the best that there is; what is not there is refused."""

import pytest
import torch

from almanac.errors import AlmanacError
from almanac.models import devices


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
