"""Judges what an answer says: mode `strict`.

The whole answer is searched for every accepted name, word by word, and for dates and numbers by value. Abstentions are
recognised by a versioned list of phrases, compared word by word or as the released scorer does.
"""

import functools
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from almanac.dataset.names import STOP_WORDS
from almanac.dataset.text import Span, runs
from almanac.dataset.values import Stretches
from almanac.errors import AlmanacError
from almanac.project import RESOURCES
from almanac.rows import OutcomeKind
from almanac.suites.facteval.reading.names import LISTED, NO_LONGER, TOLD_OF, LongerNames, Reading, mentions, read
from almanac.yaml_file import load

OWN_PHRASES = RESOURCES / "prompts" / "abstentions.yaml"
SENTENCE = re.compile(r"(?<![.!?;])[.!?;]+(?:\s+|$)|\n+")
# A model that does not stop may write the next question itself; that is no part of its answer.
NEXT_TURN = re.compile(
    r"(?:\A|[\r\n])[^\S\n]*(?:[#*]+[^\S\n]*)?(?:question|q|human|user|instruction|input)[^\S\n]*:", re.IGNORECASE
)
TRUTHS = {"correct": True, "true": True, "incorrect": False, "false": False, "untrue": False}
SEVERAL = "several choices"  # reason of an answer that names more than one choice
ALONE = {"yes": True, "no": False}  # verdicts if they begin the answer and its first sentence has no other verdict
# Verdicts if the first sentence says nothing else: `This statement is wrong.`
WHOLE = {"right": True, "accurate": True, "wrong": False, "inaccurate": False}
WHOLE_SENTENCE = re.compile(
    r"(?:(?:this|that|it|(?:this|that|the)(?: given)? (?:statement|sentence|claim|fact))(?: is|'s)(?P<not> not|n't)? )?"
    rf"(?P<verdict>{'|'.join(WHOLE)})\W*"
)
SUBJECTS = ("neither", "none", "nothing", "no part")  # negations that are the verdict's subject: "none of this is true"
NEGATION = re.compile(rf"(?:\b(?:not|never|cannot|nor|no longer|{'|'.join(SUBJECTS)})\b|n't\b)(?! only\b)")
CLAUSE = re.compile(r"[,:()>→–—]|\s-+\s")  # begins another clause, which a negation before it does not reach
# Insertions between a negation and its verdict, in a pair of commas or dashes: `not, in fact, correct`.
_INSERTED = (
    "(?:in fact|of course|as such|however|by any means|strictly speaking|to my knowledge|i (?:think|believe)"
    "|as far as (?:i|we) (?:can tell|know)|as (?:stated|claimed|written))"
)
INSERTED = re.compile(
    rf"(?:(?<=\bnot)|(?<=\bnever)|(?<=n't))(,| [-–—]) {_INSERTED}\1"
    rf"(?= (?:entirely |quite |really |a )?(?:{'|'.join(TRUTHS)})\b)"
)
# Words that end a negation's reach, too: these always (`not Cusco so it is incorrect`), those of `FURTHER` after a verb
# or if the negation is a subject.
REASON = re.compile(r"\b(?:so|hence|thus|therefore|because|since|which|but)\b")
FURTHER = re.compile(r"\b(?:and|as|making|makes?|(?<!of )(?<!in )(?<!about )the (?:statement|claim|sentence|answer))\b")
# A verb before the verdict's own verb ends the reach as well, unless it governs the verdict's clause by one of `HOLDS`:
# `not the case that it is true`.
VERB = re.compile(r"\b(?:is|are|was|were|makes?|making|s)\b")
HOLDS = re.compile(r"\b(?:that|if|whether|how|think|believe|say|said|consider|agree)\b")
BEFORE_VERDICT = 8  # words before a verdict in which a negation reverses it: "I don't think that the claim is correct"
# A verdict word before one of these is no verdict: "the correct capital is", "correct answer: Lima".
NOUNS = ("answer", "answers", "statement", "sentence", "fact", "version")
FOLLOWS = re.compile(r" (?:as|because|since|so|and|but|that)\b| (?:one|option|choice)\W*$")  # the word stays a verdict
DETERMINER = re.compile(r"\b(?:the|its|their|whose) \W*$")
PREDICATE = re.compile(r"(?:\b(?:is|not)|'s|n't)(?: \w+)? an? \W*$")  # "this is a correct statement" is a verdict
SIGN = re.compile(rf"\s*(?:[.;!?]|{CLAUSE.pattern})")  # ends a sentence or a clause
ONESELF = frozenset({"i", "we"})
LINES = re.compile(r"[\r\n]+")  # line breaks divide a list, but are lost when `read` squeezes white space
SEPARATOR = re.compile(rf"{LISTED.pattern}|(?:^|(?<=\s))(?:and|or|&|[-*]|\(?\d{{1,2}}[.)])(?=\s)")


@dataclass(frozen=True)
class Abstentions:
    """A list of phrases by which a model abstains.

    Attributes:
        phrases: all phrases.
        beyond: the phrases that the released scorer takes for answers.
        of_oneself: the phrases that count only if the model speaks of itself (not in `penguins are not able to fly`).
    """

    phrases: tuple[str, ...]
    beyond: tuple[str, ...] = ()
    of_oneself: tuple[str, ...] = ()

    def released(self) -> "Abstentions":
        """Return the list without the phrases that the released scorer takes for answers."""
        return Abstentions(tuple(phrase for phrase in self.phrases if phrase not in self.beyond))

    @functools.cached_property
    def readings(self) -> tuple[Reading, ...]:
        """The phrases, read as answers are."""
        return tuple(map(read, self.phrases))

    @functools.cached_property
    def _of_oneself(self) -> frozenset[str]:
        return frozenset(read(phrase).flat for phrase in self.of_oneself)

    def within(self, answer: Reading, named: Sequence[Span] = (), question: str = "") -> bool:
        """Whether an answer contains one of the phrases, other than inside a name or repeated from the question.

        Args:
            answer: the model's answer.
            named: where it mentions a choice or an accepted name: the song `Sorry` is an answer, no abstention.
            question: the question's text: an answer about the album `Unknown Pleasures` may repeat its name.
        """
        names = Stretches(named)
        found = [
            (phrase, span)
            for phrase in self.readings
            for span in _occurrences(phrase, answer)
            if not names.hold(*span) and (phrase.flat not in self._of_oneself or _tells_of_oneself(span, answer))
        ]
        asked = read(question if found else "")
        return any(not _repeated(span, answer, _occurrences(phrase, asked), asked) for phrase, span in found)

    def within_text(self, answer: str) -> bool:
        """Whether the lower-cased answer contains one of the phrases as a string: the released scorer's test."""
        lowered = answer.lower()
        return any(phrase.lower() in lowered for phrase in self.phrases)


def _occurrences(phrase: Reading, answer: Reading) -> list[Span]:
    """Return where an answer contains a phrase; one with a slash (`n/a`) must keep it, unless alone (`N.A.`)."""
    found = runs(phrase.words, answer.words)
    if "/" not in phrase.flat or phrase.words == answer.words:
        return found
    return [(start, end) for start, end in found if "/" in answer.flat[answer.starts[start] : answer.ends[end - 1]]]


def _tells_of_oneself(span: Span, answer: Reading) -> bool:
    """Whether a phrase begins its clause, follows `I` or `we` in it, or ends one that begins with `it`."""
    start, end = answer.starts[span[0]], answer.ends[span[1] - 1]
    begins = max((match.end() for match in SIGN.finditer(answer.flat, 0, start)), default=0)
    before = answer.words[slice(*answer.span(begins, start))]
    ends = SIGN.match(answer.flat, end) is not None or end == len(answer.flat)
    return not before or (ends and before[0] == "it") or not ONESELF.isdisjoint(before)


@functools.cache
def load_phrases(path: Path | None = None) -> Abstentions:
    """Read a list of phrases: a file's, or without one the project's own.

    Args:
        path: a YAML file like the project's own (`version`, `phrases`, `beyond`, `of_oneself`), or a text file with one
            phrase per line.

    Raises:
        AlmanacError: the file cannot be read, holds no phrase, or a phrase of a YAML file has no word.
    """
    source = path or OWN_PHRASES
    try:
        text = source.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise AlmanacError(f"{source}: cannot be read ({error}); name a file of phrases, one a line") from error
    if source.suffix not in (".yaml", ".yml"):
        lines = tuple(line.strip() for line in text.splitlines() if line.strip())
        if not lines:
            raise AlmanacError(f"{source}: holds no phrase; write one a line")
        return Abstentions(lines)
    try:
        found: Any = load(text)
    except yaml.YAMLError as error:
        raise AlmanacError(f"{source}: is no YAML ({error}); see {OWN_PHRASES}") from error
    phrases = found.get("phrases") if isinstance(found, dict) else None
    if not isinstance(phrases, list) or not phrases:
        raise AlmanacError(f"{source}: needs `phrases`, a list of texts; see {OWN_PHRASES}")
    for at, phrase in enumerate(phrases, 1):
        if not isinstance(phrase, str) or not read(phrase).words:
            raise AlmanacError(f"{source}: phrase {at} is {phrase!r}, which has no word; write a text, in quotes")
    some = {name: found.get(name) or [] for name in ("beyond", "of_oneself")}
    for name, own in some.items():
        if not isinstance(own, list) or any(phrase not in phrases for phrase in own):
            raise AlmanacError(f"{source}: `{name}` is {own!r}; list some of `phrases` there, or leave it out")
    return Abstentions(tuple(phrases), **{name: tuple(own) for name, own in some.items()})


@dataclass(frozen=True)
class JudgedQuestion:
    """A question, with what is needed to judge its answer.

    Attributes:
        type: ``tfq`` (true or false), ``mcq`` (multiple choice) or ``saq`` (short answer).
        text: the question without its passage.
        gold: the accepted names, each object's label first: of one object in ``mcq``, of all true objects in ``saq``.
        gold_object: for each accepted name of a short answer, the key of the object that it names.
        choices: the choices of ``mcq``.
        truth: whether the statement of ``tfq`` is true.
        datatype: the datatype of the object, if that is a literal.
        object_type: the type of the object.
        stated: the label of the wrong object that the passage states.
        called: by label, all names of the objects that it may mean; a choice that is no key has its label alone.
    """

    type: str
    text: str
    gold: tuple[str, ...] = ()
    gold_object: tuple[str, ...] = ()
    choices: tuple[str, ...] | None = None
    truth: bool | None = None
    datatype: str | None = None
    object_type: str | None = None
    stated: str | None = None
    called: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Verdict:
    """The result of judging an answer.

    Attributes:
        outcome: correct, incorrect, missing (the model abstained), or invalid (a true-false answer without a verdict).
        said: what was recognised in the answer: a verdict, choices or accepted names; None if nothing was.
        reason: why it is not correct, where the outcome does not say it.
        precision: of the things listed in a short answer, the share that are true objects.
        recall: of the true objects, the share that are named.
    """

    outcome: OutcomeKind
    said: str | None = None
    reason: str | None = None
    precision: float | None = None
    recall: float | None = None

    @property
    def credit(self) -> float:
        """1 if correct and 0 if not; for a correct short answer F1 over objects."""
        if self.outcome != "correct":
            return 0.0
        if self.precision is None or self.recall is None:
            return 1.0
        return 2 * self.precision * self.recall / (self.precision + self.recall)


def judge(question: JudgedQuestion, answer: str, abstentions: Abstentions, longer: LongerNames = NO_LONGER) -> Verdict:
    """Judge an answer.

    The answer ends where the model writes a next question itself (`own_turn`). With a phrase of abstention it is
    missing, whatever else it says, as in the paper; but a phrase does not count inside a name that the question offers
    or accepts, or if it is repeated from the question.

    In a short answer a true name does not count inside a longer name of another object (``longer``).
    """
    turn = own_turn(question, answer)
    if question.type == "saq":
        return _short_answer(question, turn, abstentions, longer)
    return {"tfq": _true_false, "mcq": _multiple_choice}[question.type](question, turn, abstentions)


def own_turn(question: JudgedQuestion, answer: str) -> str:
    """Return an answer without a repetition of its question at the beginning, and without further turns at the end.

    It is empty if it begins with the turn of another question.
    """
    text = answer.strip()
    turn = NEXT_TURN.match(text)
    rest = text[turn.end() :].lstrip(" *") if turn else text
    if question.text and rest.lower().startswith(question.text.lower()):
        text = rest[len(question.text) :].strip()
    return NEXT_TURN.split(text, maxsplit=1)[0]


def of_lines(answer: str) -> Reading:
    """Read an answer, keeping its line breaks as signs that divide a list."""
    return read(LINES.sub(" ; ", answer))


def _true_false(question: JudgedQuestion, answer: str, abstentions: Abstentions) -> Verdict:
    """Judge by the first sentence that contains a verdict; one with both verdicts is invalid."""
    if abstentions.within(read(answer), question=question.text):
        return Verdict("missing")
    asked = read(question.text)
    for at, sentence in enumerate(filter(str.strip, SENTENCE.split(answer))):
        verdicts = _verdicts(read(sentence), asked, begins=at == 0)
        if len(verdicts) > 1:
            return Verdict("invalid", reason="both verdicts")
        if verdicts:
            [truth] = verdicts
            name = "correct" if truth else "incorrect"
            return Verdict("correct" if truth == question.truth else "incorrect", name)
    return Verdict("invalid", reason="no verdict")


def _verdicts(sentence: Reading, asked: Reading, begins: bool) -> set[bool]:
    """Return the verdicts of a sentence, negated ones reversed; ``begins``: it is the answer's first sentence."""
    verdicts = set()
    for at, word in enumerate(sentence.words):
        here = (at, at + 1)
        if word not in TRUTHS or _repeated(here, sentence, runs((word,), asked.words), asked):
            continue
        if not _attributive(sentence, at):
            verdicts.add(TRUTHS[word] != _negated(sentence, at, asked))
    if not verdicts and begins and sentence.words and sentence.words[0] in ALONE:
        return {ALONE[sentence.words[0]]}
    if not verdicts and begins and (whole := WHOLE_SENTENCE.fullmatch(sentence.flat)):
        return {WHOLE[whole["verdict"]] == (whole["not"] is None)}
    return verdicts


def _attributive(sentence: Reading, at: int) -> bool:
    """Whether a verdict word only modifies the word after it ("the correct capital"), and so is no verdict."""
    after, before = sentence.flat[sentence.ends[at] :], sentence.flat[: sentence.starts[at]]
    if not re.match(r" \w", after):
        return False
    if FOLLOWS.match(after):
        return False
    if DETERMINER.search(before):
        return True
    alone = at + 2 == len(sentence.words) and re.search(r"(?:^|:)\W*$", before)  # "Incorrect statement."
    return sentence.words[at + 1] in NOUNS and not (alone or PREDICATE.search(before))


def _negated(sentence: Reading, at: int, asked: Reading) -> bool:
    """Whether a negation reverses the verdict at word ``at``: in its clause, within reach, not from the question."""
    start, end = sentence.starts[max(0, at - BEFORE_VERDICT)], sentence.starts[at]
    flat = INSERTED.sub(lambda inserted: " " * len(inserted[0]), sentence.flat)
    clause = max((match.end() for match in CLAUSE.finditer(flat, start, end)), default=start)
    negations = [
        sentence.span(*match.span())
        for match in NEGATION.finditer(flat, clause, end)
        if _reaches(flat[match.end() : end], match[0] in SUBJECTS)
    ]
    return any(
        not _repeated((first, last), sentence, runs(sentence.words[first:last], asked.words), asked)
        for first, last in negations
    )


def _reaches(between: str, subject: bool) -> bool:
    """Whether a negation reaches the verdict across the words between them; ``subject``: it is one of `SUBJECTS`."""
    if REASON.search(between):
        return False
    verbs = [match.end() for match in VERB.finditer(between)]
    if HOLDS.search(between) or not verbs:
        return not (subject and FURTHER.search(between))
    # `not everything here is true`: the only verb stands right before the verdict.
    alone = len(verbs) == 1 and len(between[verbs[0] :].split()) <= 1
    return alone and not FURTHER.search(between)


def _multiple_choice(question: JudgedQuestion, answer: str, abstentions: Abstentions) -> Verdict:
    """Correct if the gold choice is the only one that is mentioned; each choice may be called by any of its names.

    Repeating the question is no mention: it may be about the Nintendo DS while Nintendo is a choice.
    """
    text, asked = of_lines(answer), read(question.text)
    choices = tuple(dict.fromkeys(question.choices or ()))
    gold = next(name for name in question.gold if name in choices)
    unitless = _unitless(question)
    found = {}
    for choice in choices:
        names = question.gold if choice == gold else {choice: None} | dict.fromkeys(question.called.get(choice, ()))
        found[choice] = sorted({span for name in names for span in _named(name, text, asked, name != choice, unitless)})
    spans = [span for places in found.values() for span in places]
    if abstentions.within(text, spans, question.text):
        return Verdict("missing")
    chosen = [choice for choice, places in found.items() if any(not within_longer(span, spans) for span in places)]
    named = "; ".join(chosen) or None
    if chosen == [gold]:
        return Verdict("correct", named)
    reason = SEVERAL if len(chosen) > 1 else None if chosen else "no choice"
    return Verdict("incorrect", named, reason)


def _unitless(question: JudgedQuestion) -> bool:
    """Whether a bare number may stand for a quantity with a unit: not if the object is, say, the film 8 Mile."""
    if question.datatype is None:
        return question.object_type is None
    return question.datatype == "quantity"


def within_longer(span: Span, others: Sequence[Span]) -> bool:
    """Whether a mention is part of a longer one: `York` in `New York`, if both are choices."""
    return any(other[0] <= span[0] and span[1] <= other[1] and other != span for other in others)


def _short_answer(question: JudgedQuestion, answer: str, abstentions: Abstentions, longer: LongerNames) -> Verdict:
    """Correct if any true object is named; precision is over the things listed, recall over the true objects."""
    text = of_lines(answer)
    found: dict[str, list[Span]] = defaultdict(list)
    names: dict[str, str] = {}
    unitless, asked = _unitless(question), read(question.text)
    for name, key in zip(question.gold, question.gold_object, strict=True):
        label = names.setdefault(key, name)
        found[key] += _named(name, text, asked, name != label, unitless)
    spans = [span for places in found.values() for span in places]
    if abstentions.within(text, spans, question.text):
        return Verdict("missing")
    for key, places in found.items():
        accepted = [name for name, of in zip(question.gold, question.gold_object, strict=True) if of == key]
        found[key] = [span for span in places if not longer.hold(span, text, accepted)]
    named = [names[key] for key, places in found.items() if places]
    if not named:
        reason = None if text.words else "no words"
        return Verdict("incorrect", reason=reason, precision=0.0, recall=0.0)
    return Verdict("correct", "; ".join(named), None, _precision(text, found), len(named) / len(found))


def _named(name: str, answer: Reading, asked: Reading, alias: bool, unitless: bool) -> list[Span]:
    """Return where an answer mentions a name, unless it repeats the question; see `mentions`."""
    found = mentions(name, answer, alias, unitless)
    before = mentions(name, asked, alias, unitless) if found else []
    repeats = len(found) <= len(before)
    return [span for span in found if not (repeats and _repeated(span, answer, before, asked))]


def _repeated(span: Span, answer: Reading, places: Sequence[Span], asked: Reading) -> bool:
    """Whether words of an answer (``span``) only repeat its question, where they stand at ``places``.

    They do if they begin the answer as its subject (`Luxembourg is a country`), or if they stand next to the same word
    as in the question (`Vienna is the capital of Luxembourg`). `The capital is Luxembourg` repeats nothing: it names
    the capital.
    """
    first, last = span
    if not places:
        return False
    begins = first == 0 and answer.words[last : last + 1] and answer.words[last] in TOLD_OF
    before, after = _neighbours(span, answer)
    around = [_neighbours(place, asked) for place in places]
    return begins or any((before and before == one) or (after and after == other) for one, other in around)


def _neighbours(span: Span, text: Reading) -> tuple[Sequence[str], Sequence[str]]:
    """Return the words before a span and those after it, each up to the nearest word that is no stop word."""
    first, last = span
    return (
        _to_word(text.words[at] for at in range(first - 1, -1, -1)),
        _to_word(text.words[at] for at in range(last, len(text.words))),
    )


def _to_word(words: Iterable[str]) -> Sequence[str]:
    """Return words up to the first that is no stop word; none if a verb such as `is` (`TOLD_OF`) comes first."""
    out = []
    for word in words:
        out.append(word)
        if word in TOLD_OF:
            return ()
        if word not in STOP_WORDS:
            return out
    return ()


def _precision(answer: Reading, found: Mapping[str, Sequence[Span]]) -> float:
    """Return the share of the things listed in an answer that name a true object."""
    spans = [span for places in found.values() for span in places]
    listed, true = things(answer, spans), Stretches(spans)
    right = sum(true.meet(start, end) for start, end in listed)
    return right / len(listed) if listed else 1.0  # the answer is a name of signs alone


def things(answer: Reading, whole: Sequence[Span] = ()) -> list[Span]:
    """Return the things that an answer lists, as spans of words.

    They are separated by commas, semicolons, line breaks, slashes, bullets, `and` or `or`. Mentions (``whole``) of
    accepted names (`Washington, D.C.`), dates and numbers are never split. Words before a colon only announce the list.
    """
    names = [(answer.starts[first], answer.ends[last - 1]) for first, last in whole if first < last]
    values = [*((one.start, one.end) for one in answer.dates), *((one.start, one.end) for one in answer.numbers)]
    named, places = Stretches(names), Stretches([*names, *values])
    cuts = [(match.start(), match.end()) for match in SEPARATOR.finditer(answer.flat) if not places.hold(*match.span())]
    edges = [0, *(edge for cut in cuts for edge in cut), len(answer.flat)]
    out = []
    for start, end in zip(edges[::2], edges[1::2], strict=True):
        colon = answer.flat.rfind(": ", start, end)
        announced = colon >= 0 and not named.begin(start, colon)
        first, last = answer.span(colon + 1 if announced else start, end)
        if first < last:
            out.append((first, last))
    return out
