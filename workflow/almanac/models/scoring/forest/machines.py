"""Two ways to run a model on trunks and rows: tree attention instead of its own, or its own under a 4D mask."""

import contextlib
import functools
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from transformers.cache_utils import DynamicCache

from almanac.models.causal import CausalModel
from almanac.models.masked import NEAR, NEAR_LOW
from almanac.models.scoring.forest.attention import (
    KeysValues,
    Pass,
    PathPass,
    TreePass,
    UnusableError,
    additive,
    during,
    trees,
)
from almanac.models.scoring.forest.plan import Shape
from almanac.models.scoring.prefix_cache import expanded, plain_cache
from almanac.models.scoring.reference import rope_switch
from almanac.models.tokens import PROBE

WINDOWS = ("sliding_window", "window_size", "attention_chunk_size")


class Machine(Protocol):
    """Runs a model on trunks and rows.

    Logits ``(places, vocabulary)`` are returned for chosen places of the flattened tokens.
    """

    NAME: str
    SHAPE: Shape

    def session(self) -> AbstractContextManager[None]:
        """Prepare the model, and restore it at the end."""

    def read_trunk(self, above: Any, length: int, ids: Tensor, wanted: Tensor) -> tuple[Any, Tensor]:
        """Read a path ``(tokens,)`` after a trunk of ``length`` tokens; return the longer trunk, and logits."""

    def read_rows(self, above: Any, length: int, ids: Tensor, depths: Tensor, ends: Tensor, wanted: Tensor) -> Tensor:
        """Read rows ``(rows, width)`` under a trunk and return logits.

        Args:
            above: the trunk; None for the empty one.
            length: the number of tokens of the trunk.
            ids: the tokens.
            depths: the position of each token in its text.
            ends: the tree mask of `plan.TrunkRows`.
            wanted: the places, in the flattened rows, whose logits are wanted.
        """


def tree_mask(ends: Tensor) -> Tensor:
    """Return which places of a row each place sees, ``(rows, width, width)``: its ancestors and itself."""
    places = torch.arange(ends.shape[1], device=ends.device)
    return (places[None, None, :] <= places[None, :, None]) & (places[None, :, None] < ends[:, None, :])


def _text_config(model: CausalModel) -> Any:
    return model.network.config.get_text_config()


def _check_rope_switch(model: CausalModel, farthest: int) -> None:
    """Check that a text is not longer than the model's `rope_switch`; its last token may not have been fed.

    Raises:
        UnusableError: the model may read the whole text with other rotary frequencies.
    """
    bound = rope_switch(model)
    if bound is not None and farthest >= bound - 1:
        raise UnusableError(
            f"a text of at least {farthest + 1} tokens may exceed {bound}, beyond which the rotary frequencies differ"
        )


class TreeMachine:
    """Tree attention through transformers' attention interface; all rows share the keys of the trunk."""

    NAME = "forest/1"
    SHAPE = Shape()

    def __init__(self, model: CausalModel) -> None:
        self.model = model
        self.layers = int(_text_config(model).num_hidden_layers)
        self.reach = min(_windows(_text_config(model)), default=None)
        if not model.takes_positions:
            raise UnusableError(f"{type(model.network).__name__} takes no positions")

    def session(self) -> AbstractContextManager[None]:
        """Replace the model's attention with tree attention."""
        return trees(self.model.network)

    def read_trunk(
        self, above: dict[int, KeysValues] | None, length: int, ids: Tensor, wanted: Tensor
    ) -> tuple[dict[int, KeysValues], Tensor]:
        """Read a path; see `Machine`."""
        positions = torch.arange(length, length + len(ids), device=ids.device)
        one = PathPass(above or {}, length, positions, length + len(ids) - 1, len(ids))
        logits = self.run(one, ids, wanted)
        return one.kept, logits

    def read_rows(
        self,
        above: dict[int, KeysValues] | None,
        length: int,
        ids: Tensor,
        depths: Tensor,
        ends: Tensor,
        wanted: Tensor,
    ) -> Tensor:
        """Read rows; see `Machine`."""
        one = TreePass(above or {}, length, depths.reshape(-1), int(depths.max()), ids.shape[1], tree_mask(ends))
        return self.run(one, ids.reshape(-1), wanted)

    def run(self, one: Pass, ids: Tensor, wanted: Tensor, last_only: bool = False) -> Tensor:
        """Run one pass over flattened tokens and return the logits at chosen places.

        Args:
            one: the pass.
            ids: ``(tokens,)``.
            wanted: the places.
            last_only: whether to run the linear maps after the last attention at these places only, if that is known
                to be right for the model.

        Raises:
            UnusableError: not every layer took its attention from the interface, or the interface does not show a
                sliding window or another way in which the model reads long texts.
        """
        _check_rope_switch(self.model, one.farthest)
        chunk = getattr(_text_config(self.model), "attention_chunk_size", None)
        if chunk and one.farthest >= chunk:
            raise UnusableError(f"the model attends in chunks of {chunk} tokens")
        narrow = last_only and 2 * len(wanted) <= len(ids)
        with _showing(self._last_maps if narrow else (), wanted, len(ids)), during(one):
            logits = self.model.logits(ids[None], one.positions[None], wanted)
        if one.calls != self.layers:
            raise UnusableError(
                f"{type(self.model.network).__name__} took its attention from the interface {one.calls} times in "
                f"{self.layers} layers"
            )
        if self.reach is not None and one.farthest >= self.reach and not one.windows:
            raise UnusableError(f"{type(self.model.network).__name__} applies its window only by a mask")
        return logits

    @functools.cached_property
    def _last_maps(self) -> tuple[nn.Linear, ...]:
        """The linear maps after the last attention, if they can be run at chosen places only; else none.

        This is found by trying: a model that mixes places after the last attention gives other logits.
        """
        ids = torch.tensor(self.model.tokens.ids(f"{PROBE} {PROBE} {PROBE}"), device=self.model.device)
        positions = torch.arange(len(ids), device=ids.device)
        wanted = positions[[len(ids) // 2, -1]]
        ran: list[nn.Linear] = []

        def read(maps: Sequence[nn.Linear]) -> Tensor:
            one = PathPass({}, 0, positions, len(ids) - 1, len(ids))
            with contextlib.ExitStack() as hooks:
                for module in self.model.network.modules() if not maps else ():
                    if isinstance(module, nn.Linear):
                        note = lambda own, given, output: ran.append(own) if one.calls == self.layers else None  # noqa: E731
                        hooks.enter_context(module.register_forward_hook(note))
                with _showing(maps, wanted, len(ids)):
                    return self.run(one, ids, wanted).float()

        with contextlib.suppress(Exception):  # Architectures fail in their own ways.
            plain = read(())
            head = self.model.network.get_output_embeddings()
            maps = tuple(one for one in dict.fromkeys(ran) if one is not head)
            near = (NEAR if self.model.exact else NEAR_LOW) * float(plain.abs().max())
            if bool((read(maps) - plain).abs().max() <= near):
                return maps
        return ()


@contextlib.contextmanager
def _showing(maps: Iterable[nn.Linear], wanted: Tensor, tokens: int) -> Iterator[None]:
    """Run linear maps at chosen places of the flattened tokens only; their output at other places is 0."""

    def show(module: nn.Module, given: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        if given[0].shape[:2] != (1, tokens):
            raise UnusableError(f"{type(module).__name__} was given {tuple(given[0].shape)} for {tokens} tokens")
        return (given[0][:, wanted],)

    def spread(module: nn.Module, given: tuple[Tensor, ...], output: Tensor) -> Tensor:
        whole = output.new_zeros(1, tokens, output.shape[-1])
        whole[:, wanted] = output
        return whole

    with contextlib.ExitStack() as hooks:
        for one in maps:
            hooks.enter_context(one.register_forward_pre_hook(show))
            hooks.enter_context(one.register_forward_hook(spread))
        yield


class StockMaskMachine:
    """The model's own attention under a 4D mask, with trunks in transformers' cache.

    For models that take positions and masks but do not use transformers' attention interface. The mask is additive:
    such models add the mask to their scores, and a boolean one would be added as 0 and 1.
    """

    NAME = "stock_mask/1"
    SHAPE = Shape(row=512, longest=1024)

    def __init__(self, model: CausalModel) -> None:
        self.model = model
        if not model.takes_positions:
            raise UnusableError(f"{type(model.network).__name__} takes no positions")
        self.reach = min(_windows(_text_config(model)), default=None)

    def session(self) -> AbstractContextManager[None]:
        """Leave the model as it is."""
        return nullcontext()

    def read_trunk(
        self, above: DynamicCache | None, length: int, ids: Tensor, wanted: Tensor
    ) -> tuple[DynamicCache, Tensor]:
        """Read a path; see `Machine`."""
        places = torch.arange(len(ids), device=ids.device)
        visible = places[None, :] <= places[:, None]
        cache, logits = self._run(above, length, ids[None], length + places[None], visible[None], wanted)
        return plain_cache(self.model, cache), logits

    def read_rows(
        self, above: DynamicCache | None, length: int, ids: Tensor, depths: Tensor, ends: Tensor, wanted: Tensor
    ) -> Tensor:
        """Read rows; see `Machine`."""
        return self._run(above, length, ids, depths, tree_mask(ends), wanted)[1]

    def _run(
        self, above: DynamicCache | None, length: int, ids: Tensor, depths: Tensor, visible: Tensor, wanted: Tensor
    ) -> tuple[Any, Tensor]:
        rows, width = ids.shape
        # Some models (GPT-Neo) apply a window to places in the row, whose distances are at least those in the text.
        if self.reach is not None and length + width > self.reach:
            raise UnusableError(f"a trunk and row of {length + width} tokens are longer than a window of {self.reach}")
        _check_rope_switch(self.model, int(depths.max()))
        trunk = torch.ones(rows, width, length, dtype=torch.bool, device=ids.device)
        mask = additive(torch.cat([trunk, visible], dim=2), self.model.network.dtype)[:, None]
        cache = expanded(above, rows) if above is not None else DynamicCache(config=self.model.network.config)
        output = self.model.network(
            input_ids=ids, position_ids=depths, attention_mask=mask, past_key_values=cache, use_cache=True
        )
        return output.past_key_values, output.logits.reshape(rows * width, -1)[wanted]


def _windows(config: Any) -> Iterable[int]:
    """Yield the lengths of the model's attention windows and chunks."""
    for name in WINDOWS:
        window = getattr(config, name, None)
        if isinstance(window, int) and getattr(config, "use_sliding_window", True):
            yield window
