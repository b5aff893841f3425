"""The list of suites, in the order in which they are shown, and of authors, which have a model write texts.

Another package adds a suite by naming its class under the entry point `almanac.suites`. Editions name suites only by
their names, so reading an edition imports none.
"""

import inspect
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from almanac.errors import AlmanacError, did_you_mean
from almanac.suites.belief.suite import Belief
from almanac.suites.drafting.suite import Drafting
from almanac.suites.facteval.suite import FactEval
from almanac.suites.facteval.texts import Writing
from almanac.suites.head_to_tail.suite import HeadToTail
from almanac.suites.ic_lke.eic import Eic
from almanac.suites.ic_lke.generated import Generated
from almanac.suites.ic_lke.positions import Positions
from almanac.suites.ic_lke.prompts import Prompts
from almanac.suites.ic_lke.separators import Separators
from almanac.suites.ic_lke.suite import IcLke
from almanac.suites.ic_lke.sweep import Sweep
from almanac.suites.joining import check_names
from almanac.suites.judged import from_text
from almanac.suites.karr.suite import Karr
from almanac.suites.options import SuiteOptions
from almanac.suites.suite import Asks, Author, Method, Suite

GROUP = "almanac.suites"  # the group of entry points
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")  # a suite's name, which is also a folder, a target and a rule
ROUND = re.compile(r"[a-z_]+")  # a round's name, as in rules/common.smk
TARGETS = frozenset({"all", "data", "edition", "repull", "validation", "verify"})  # targets of the workflow
FLAGS = frozenset({"before", "dataset", "help", "output", "responses", "round", "shards", "suite"})  # of `almanac ask`
NEEDED = ("name", "label", "summary", "options", "setting")  # attributes that a suite's class must define
OURS: tuple[Suite[Any], ...] = (
    *(IcLke(), Prompts(), Eic(), Sweep(), Separators(), Positions(), Generated()),
    Karr(),
    Belief(),
    FactEval(),
    HeadToTail(),
)


def _listed() -> dict[str, Suite[Any]]:
    """Return the suites by name: those of this project and those of installed packages."""
    points = sorted(entry_points(group=GROUP), key=lambda point: point.name)
    found: dict[str, Suite[Any]] = {}
    for own in OURS:
        _check(type(own).__name__, type(own))
    for where, suite in [*((type(one).__name__, one) for one in OURS), *((one.value, _loaded(one)) for one in points)]:
        if suite.name in {*found, *AUTHORS}:
            raise AlmanacError(f"{where}: there is a suite {suite.name!r} already; rename or uninstall one")
        check_names(suite)
        _check_methods(suite)
        found[suite.name] = suite
    return found


def _check(where: str, made: type) -> None:
    lacking = [name for name in NEEDED if not hasattr(made, name)]
    lacking += [name for name in ("ask", "judge", "measure") if getattr(made, name, None) is getattr(Suite, name)]
    if lacking:
        raise AlmanacError(f"{where}: the class has no {', '.join(lacking)}; see docs/adding_a_suite.md")
    name, options, setting = (getattr(made, one) for one in ("name", "options", "setting"))
    if not (isinstance(name, str) and NAME.fullmatch(name)) or name in TARGETS:
        taken = ", and the workflow has a target of this name" * (name in TARGETS)
        raise AlmanacError(f"{where}: name is {name!r}{taken}; take another, of letters, digits, _ and -")
    if not (isinstance(options, type) and issubclass(options, SuiteOptions)):
        raise AlmanacError(f"{where}: options is {options!r}; name a class that inherits from SuiteOptions")
    if inspect.isabstract(options):
        lacks = ", ".join(sorted(options.__abstractmethods__))
        raise AlmanacError(f"{where}: its options, {options.__name__}, lack {lacks}; see docs/adding_a_suite.md")
    if flags := sorted(FLAGS & options.model_fields.keys()):
        raise AlmanacError(f"{where}: its options have {flags[0]!r}, which is a flag of `almanac ask`; rename it")
    if not hasattr(setting, "_asdict"):
        raise AlmanacError(f"{where}: setting is {setting!r}; name a class that inherits from NamedTuple")


def _check_methods(suite: Suite[Any]) -> None:
    """Refuse repeated names of methods or rounds, a guess outside 0 to 1, and an `answered_by` that is no setting.

    Raises:
        AlmanacError: naming the method or the round.
    """
    for what, named in (
        ("methods have the name", [one.name for one in suite.methods]),
        ("methods have the label", [one.label for one in suite.methods]),
        ("rounds have the name", [one.name for one in suite.rounds]),
    ):
        if twice := [one for one, count in Counter(named).items() if count > 1]:
            raise AlmanacError(f"suite {suite.name}: two {what} {twice[0]!r}; rename one of them")
    for method in suite.methods:
        if isinstance(method.guess, float | int) and not 0 <= method.guess <= 1:
            raise AlmanacError(
                f"suite {suite.name}: method {method.name}: guess must be from 0 to 1, found {method.guess}"
            )
    settings = suite.options.model_fields
    for one in suite.rounds:
        if not ROUND.fullmatch(one.name):
            raise AlmanacError(f"suite {suite.name}: a round's name may have only a to z and _, found {one.name!r}")
        if one.answered_by is not None and one.answered_by not in settings:
            raise AlmanacError(
                f"suite {suite.name}: round {one.name}: answered_by is no setting: {one.answered_by!r}"
                f"{did_you_mean(one.answered_by, settings)}"
            )


def _loaded(point: EntryPoint) -> Suite[Any]:
    """Return the suite of an entry point; refuse what cannot be imported, is no suite, or lacks an attribute."""
    where = f"entry point {point.name} = {point.value!r}"
    try:
        made = point.load()
    except Exception as error:  # another package may raise anything
        raise AlmanacError(
            f"{where}: cannot be imported ({type(error).__name__}: {error}); fix or uninstall its package"
        ) from error
    if not (isinstance(made, type) and issubclass(made, Suite)):
        raise AlmanacError(f"{where}: must name a class that inherits from Suite, found {made!r}")
    _check(where, made)
    try:
        suite: Suite[Any] = made()
    except Exception as error:
        raise AlmanacError(
            f"{where}: cannot be made without arguments ({type(error).__name__}: {error}); fix its package"
        ) from error
    return suite


def packages(names: Collection[str]) -> list[str]:
    """Return lines of a requirements file that install the packages of those suites that are not this project's."""
    return sorted(
        f"{point.dist.name}=={point.dist.version}  # suite {name}"
        for point in entry_points(group=GROUP)
        if point.dist is not None and (name := _loaded(point).name) in names
    )


AUTHORS: dict[str, Author[Any]] = {one.name: one for one in (Drafting(), Writing())}
SUITES = _listed()
ASKING: dict[str, Asks[Any]] = {**SUITES, **AUTHORS}


def method_label(suite: str, method: str) -> str:
    """Return the label of a suite's method; its name if the suite is not installed."""
    found = _method(suite, method)
    return method if found is None else found.label


def method_labels(keys: Iterable[tuple[str, str, str]]) -> Mapping[tuple[str, str, str], str]:
    """Return distinct labels of methods; those of one name get the settings in which they differ, or else a number.

    Args:
        keys: the suite, the name and the items of each method.
    """
    of: dict[tuple[str, str], list[tuple[str, str, str]]] = defaultdict(list)
    for key in dict.fromkeys(keys):
        of[key[:2]].append(key)
    out: dict[tuple[str, str, str], str] = {}
    for (suite, name), own in of.items():
        method, taken = _method(suite, name), Counter[str]()
        conditions = [from_text(where) for _, _, where in own]
        parting = [one for one in (method.by if method else ()) if len({str(each.get(one)) for each in conditions}) > 1]
        for key, each in zip(own, conditions, strict=True):
            parts = (f"{each.get(one)}".replace("_", " ") + " examples" * (one == "shots") for one in parting)
            label = ", ".join([method_label(suite, name), *parts])
            taken[label] += 1
            out[key] = label if taken[label] == 1 else f"{label} ({taken[label]})"
    return out


def guessing(suite: str, method: str, chance: float) -> float | None:
    """Return how often a method is right where nothing is known (`Validation.chance`); None for open answers."""
    found = _method(suite, method)
    return None if found is not None and found.guess == 0 else chance


def _method(suite: str, method: str) -> Method | None:
    methods = SUITES[suite].methods if suite in SUITES else ()
    return next((one for one in methods if one.name == method), None)
