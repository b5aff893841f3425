"""Compare an answer with the other facts of its relation: for how many of them would it be right?"""

import math
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence, Set
from functools import cache
from typing import Any, NamedTuple

import polars as pl

from almanac.dataset.templates import folded
from almanac.dataset.text import ARTICLES, marked, normalise, singular, unaccented
from almanac.dataset.values import value_of, values_in
from almanac.punctuation import UNSPACED, stands_in
from almanac.suites.truths import Truths

SEPARATORS = re.compile(r"(?<=\d)[.,'’](?=\d)")  # separate thousands
WITHIN = re.compile(r"(?<=[^\W_])[^\w\s](?=[^\W_])")  # a sign inside a word, which a judge may ignore: McDonald's
WORDS = re.compile(rf"[{UNSPACED}]|[^\W{UNSPACED}]+")
SHARES = ("by_chance", "under_null", "under_null_rest", "guess")  # the numbers of a `Share`


class Share(NamedTuple):
    """How often an answer is right by chance.

    Attributes:
        by_chance: the share of *other* facts that it is right for: the metric.
        under_null: the probability that it is right if objects are dealt out to facts at random: for the test.
        under_null_rest: the same by the facts alone that names do not give away: for the test of these facts.
        guess: the probability that a guess among the choices is right; 0 for an open answer.
        right: the truths that it is right for.
        parts: the truths that it is compared with, and which part of the facts of each counts; None: all truths.
        others: how many items of other subjects have these truths.
    """

    by_chance: float
    under_null: float
    under_null_rest: float
    guess: float
    right: Set[Hashable]
    parts: Mapping[Hashable, float] | None
    others: float


NO_SHARE = Share(0.0, 0.0, 0.0, 0.0, frozenset(), None, 0.0)


class RelationFacts:
    """The facts of a relation that answers are compared with, to tell how often these are right by chance.

    Chance is the share of *other* facts for which an answer would be right. The test supposes that objects are dealt
    out to facts at random. There an open answer is compared with its own fact too, since an object that only one fact
    has can be hit. The total is one fact less, so that dealing without replacement varies no more than the test says.

    A *truth* stands for what an item accepts: the number of a set of texts or, of a fact that was not asked, the set.

    Attributes:
        part: the items.
        facts: the number of facts, asked or not.
        counts: the number of items of each truth.
        counts_rest: the same of the facts that names do not give away.
        of_fact: the truths of each fact, with their numbers of items.
        of_subject: the same of each subject, facts not asked included: these are no *other* facts.
        of_subject_rest: the number of items of each subject's facts that names do not give away.
        of_name: the truths by name; ``of_text``: by the name in its loose form (`loosely`); ``of_words``: the same
            without dates and numbers; ``of_value``: by date or number; ``of_number``: by number, whatever its unit.
        beginning: the loose names by their first word.
        judged_right: the truths for which the suite judged an answer right.
        items_per_fact: the number of items of a fact; a fact that was not asked counts as many.
        accepts: returns the names for which an answer is right (`Suite.accepts`); None: those that stand in it.
        common: how common the relation's objects are.
        common_rest: how common they are among the facts that names do not give away.
    """

    def __init__(self, part: pl.DataFrame, truths: Truths, left_out: Set[str] = frozenset()) -> None:
        """Count the items of one relation and its facts that were not asked; for ``left_out`` see `Truths.unasked`."""
        self.common, self.common_rest = (truths.common_in(part["relation"][0], but) for but in (False, True))
        self.accepts, names, several, restricted = truths.accepts, truths.names, True, part
        if "offered" in part.columns:
            restricted, names, several = self._restricted(part, names)
        unasked = truths.unasked(part, several, left_out)
        self.part = part = restricted
        asked = part["fact"].n_unique()
        self.facts = asked + len(unasked)
        counts = Counter[int](part["truth"].to_list())
        self.counts: dict[Hashable, float] = {truth: float(count) for truth, count in counts.items()}
        self.of_fact: dict[str, Counter[Hashable]] = defaultdict(Counter)
        self.of_subject: dict[str, dict[Hashable, float]] = defaultdict(lambda: defaultdict(float))
        self.of_subject_rest: dict[str, float] = defaultdict(float)
        for fact, subject, truth in part.select("fact", "subject", "truth").iter_rows():
            self.of_fact[fact][truth] += 1
            self.of_subject[subject][truth] += 1
            self.of_subject_rest[subject] += fact not in truths.given
        texts: dict[Hashable, frozenset[str]] = {truth: names[truth] for truth in counts}
        self.items_per_fact = part.height / asked
        known: dict[frozenset[str], Hashable] = {accepted: truth for truth, accepted in texts.items()}
        texts |= {accepted: accepted for accepted in unasked.values() if accepted not in known}
        not_asked = {fact: known.get(accepted, accepted) for fact, accepted in unasked.items()}
        for truth, facts in Counter(not_asked.values()).items():
            self.counts[truth] = self.counts.get(truth, 0.0) + facts * self.items_per_fact
        self.counts_rest: dict[Hashable, float] = dict.fromkeys(self.counts, 0.0)
        for fact, items in self.of_fact.items():
            for truth, count in items.items():
                self.counts_rest[truth] += count * (fact not in truths.given)
        for fact, truth in not_asked.items():
            rest = self.items_per_fact * (fact not in truths.given)
            self.counts_rest[truth] += rest
            if fact in truths.subject and (of_subject := self.of_subject.get(truths.subject[fact])) is not None:
                of_subject[truth] += self.items_per_fact
                self.of_subject_rest[truths.subject[fact]] += rest
        self.of_name, self.of_text, self.of_words, self.judged_right = (
            defaultdict[str, set[Hashable]](set) for _ in range(4)
        )
        self.of_value, self.of_number = (defaultdict[Hashable, set[Hashable]](set) for _ in range(2))
        for truth, accepted in texts.items():
            for text in accepted:
                self._index(text, truth, truths.forms.get(text, ()))
        self.beginning = defaultdict[str, list[str]](list)
        for name in self.of_text:
            self.beginning[next(_words(name), "")].append(name)
        for answer, truth in part.filter(pl.col("hit") > 0).select("prediction", "truth").drop_nulls().iter_rows():
            self.judged_right[normalise(answer)].add(truth)
        self.total, self.total_rest = sum(self.counts.values()), sum(self.counts_rest.values())
        self.right = cache(self._right)

    def _index(self, text: str, truth: Hashable, forms: Iterable[str]) -> None:
        """Index a name of a truth in each form in which answers may hold it."""
        self.of_name[text].add(truth)
        value = value_of(unaccented(text))
        name = _numbers_marked(text)
        for form in {loosely(one) for one in (name, WITHIN.sub("", name), *map(_numbers_marked, forms))}:
            self.of_text[form].add(truth)
            if value is None:
                self.of_words[form].add(truth)
        if value is not None:
            self.of_value[value].add(truth)
            self.of_number[value[0] if isinstance(value, tuple) else value].add(truth)

    def _restricted(
        self, part: pl.DataFrame, names: Mapping[int, frozenset[str]]
    ) -> tuple[pl.DataFrame, Mapping[int, frozenset[str]], bool]:
        """Restrict truths to the offered objects; return the items, their truths' names, and if any accepts several.

        An item may accept all objects of its subject, of which only one is offered: then that one is the truth.
        """
        object_of, numbers, restricted, several = self.common.object, dict[frozenset[str], int](), list[int](), False
        for truth, offered in part.select("truth", "offered").iter_rows():
            kept = accepted = names[truth]
            if objects := {object_of.get(text, text) for text in map(normalise, offered or ()) if text in accepted}:
                kept = frozenset(text for text in accepted if object_of.get(text) is None or object_of[text] in objects)
            several |= len(objects) > 1
            restricted.append(numbers.setdefault(kept, len(numbers)))
        part = part.with_columns(pl.Series("truth", restricted, pl.UInt64))
        return part, {number: kept for kept, number in numbers.items()}, several

    def compared_with_others(self, keys: Sequence[str]) -> tuple[list[tuple[Any, ...]], list[tuple[Any, str, float]]]:
        """Compare each answer, distinct by the columns ``keys``, with the other facts.

        Chance is a mean over pairs of an answer and another fact, a U-statistic. Its variance comes from both roles of
        a fact in such pairs (Hoeffding 1948): its answer may fit many facts, and its objects may fit many answers.

        Returns:
            A row for each distinct answer: the values of ``keys`` and the answer's shares. And a row for each fact: the
            relation, the fact, and by how much it raises the chance of the answers to other facts (their sum).
        """
        shares, added, to_all = [], defaultdict[Hashable, float](float), 0.0
        to_itself: dict[str, dict[Hashable, float]] = defaultdict(lambda: defaultdict(float))  # by subject
        answers = self.part.filter(pl.col("prediction").is_not_null()).group_by(keys, maintain_order=True)
        for row in answers.agg(pl.all().first(), pl.len().alias("times")).iter_rows(named=True):
            fact, subject, answer, choices = row["fact"], row["subject"], row["prediction"], row.get("offered")
            share = self.open(subject, answer) if choices is None else self.chosen(row, answer, choices)
            shares.append((*(row[key] for key in keys), *share[: len(SHARES)]))
            if not share.others:
                continue
            weight = row["times"] / sum(self.of_fact[fact].values()) / share.others
            parts = dict.fromkeys(self.of_subject[subject], 1.0) if share.parts is None else share.parts
            for truth in share.right:
                added[truth] += weight * parts.get(truth, 1.0)
            for truth, part in (share.parts or {}).items():
                added[truth] -= weight * part * share.by_chance
            if share.parts is None:
                to_all -= weight * share.by_chance
            for truth in self.of_subject[subject].keys() & parts.keys():
                to_itself[subject][truth] += weight * parts[truth] * ((truth in share.right) - share.by_chance)
        relation = self.part["relation"][0]
        return shares, [
            (
                relation,
                fact,
                math.fsum(
                    count * (added.get(truth, 0.0) + to_all - to_itself[subject].get(truth, 0.0))
                    for truth, count in self.of_fact[fact].items()
                ),
            )
            for fact, subject in self.part.select("fact", "subject").unique(maintain_order=True).iter_rows()
        ]

    def _right(self, answer: str) -> set[Hashable]:
        """Return the truths for which an answer is right: those with an accepted name in it, as whole words.

        It is read as its suite's judge reads it (`accepts`). Where the suite does not say how, it is read as by the
        laxest judge, dates and numbers by value. Truths for which the suite judged the answer right always count.
        """
        if self.accepts is not None:
            text = "\n".join(map(normalise, answer.split("\n")))
            found = {truth for name in self.accepts(text, self.of_name) for truth in self.of_name[name]}
            return found | self.judged_right.get(normalise(answer), set())
        found = set[Hashable]()
        text = _numbers_marked(answer)
        forms = {loosely(text), loosely(WITHIN.sub("", text)), unsigned(text), normalise(text)}
        parted = folded(unaccented(answer))  # some judges find HTML 4 in HTML 4.01, but none finds 4 there
        for word in {"", *(word for form in (*forms, parted) for word in _words(form))}:
            for name in self.beginning.get(word, ()):
                if any(stands_in(name, form) for form in forms):
                    found |= self.of_text[name]
                elif name in self.of_words and stands_in(name, parted):
                    found |= self.of_words[name]
        plain = unaccented(normalise(answer))
        if self.of_value:
            for value in values_in(plain):
                found |= self.of_value.get(value, set())
            for alone in (plain.strip(" .!"), unsigned(text)):
                match value_of(alone):
                    case (number, None):  # an answer that is only a number may lack its unit
                        found |= self.of_number.get(number, set())
        return found | self.judged_right.get(normalise(answer), set())

    def open(self, subject: str, answer: str) -> Share:
        """Return how often an open answer about a subject is right by chance."""
        own, right = self.of_subject[subject], self.right(answer)
        others, others_rest = self.total - sum(own.values()), self.total_rest - self.of_subject_rest[subject]
        if not others:
            return NO_SHARE
        hits = math.fsum(self.counts[truth] - own.get(truth, 0.0) for truth in right)
        under_null = min(1.0, math.fsum(self.counts[truth] for truth in right) / others)
        hits_rest = math.fsum(self.counts_rest[truth] for truth in right)
        rest = min(1.0, hits_rest / others_rest) if others_rest > 0 else 1.0
        return Share(hits / others, under_null, rest, 0.0, right, None, others)

    def chosen(self, item: Mapping[str, Any], answer: str, choices: Sequence[str]) -> Share:
        """Return how often an answer that names one of k choices is right by chance; 0 if it names none.

        For the test, each of the k choices is the true one in proportion to how many facts of the relation have it (at
        least one). So a model that only knows how common objects are gains nothing. A guess is right once in k.

        Chance compares the answer only with other facts whose objects are among the k. These may be few or none, so one
        more fact is counted, for which the answer is right with the probability of the test: else an answer that
        nothing was compared with would have no chance to be right.

        Where subjects have several objects, facts count as `Several.part` says: a true object is no wrong choice, so a
        common one next to rare ones is true more often than its facts say. Accepting m of the k multiplies by m.
        """
        own, answer = self.of_subject[item["subject"]], normalise(answer)
        offered = {text: self.of_name.get(text, set()) for text in map(normalise, choices)}
        if answer in offered:
            named, right = [answer], offered[answer]
        else:
            right = self.right(answer)
            named = [text for text, truths in offered.items() if truths & right or stands_in(text, answer)]
        if not named:
            return NO_SHARE
        accepted = [text for text, truths in offered.items() if item["truth"] in truths]
        guess = max(1, len(accepted)) / len(offered)
        part_of_name = self.common.parts(offered, named[0])
        parts: dict[Hashable, float] = {}
        for text, truths in offered.items():
            parts |= {truth: max(parts.get(truth, 0.0), part_of_name[text]) for truth in truths}
        others = {truth: part * (self.counts[truth] - own.get(truth, 0.0)) for truth, part in parts.items()}
        right = right & parts.keys()
        objects = max(1, len({self.common.object.get(text, text) for text in accepted}))
        under_null, rest = (
            max(min(1.0, objects * common.share(named, part_of_name)), guess if len(accepted) > 1 else 0.0)
            for common in (self.common, self.common_rest)
        )
        each = self.items_per_fact
        total = math.fsum(others.values()) + each  # `fsum`: the same in any order
        hits = math.fsum(others[truth] for truth in right) + each * under_null
        return Share(hits / total, under_null, rest, guess, right, parts, total)


@cache
def loosely(text: str) -> str:
    """Return a text as the laxest judge reads it: without accents, punctuation, English articles and plural endings."""
    words = unsigned(text).split()
    return " ".join(map(singular, (word for word in words if word not in ARTICLES))) or " ".join(words) or text


def unsigned(text: str) -> str:
    """Return a text without accents and signs (except the plus of C++): *`Paris`* and *<b>Paris</b>* name Paris."""
    for _ in range(2):  # the first pass turns ™ into TM, and ½ into a text with a sign
        plain = (" " if unicodedata.category(one)[0] == "S" and one != "+" else one for one in text)
        text = normalise("".join(plain))
    return folded(SEPARATORS.sub("", unaccented(text)))


def _numbers_marked(text: str) -> str:
    """Return a text with the minus and decimal point of numbers spelt as words: to no judge is 1.5 the same as 15."""
    return marked(text, "point", "minus")


def _words(text: str) -> Iterator[str]:
    """Yield the words of a text; in a script without spaces each character is one."""
    return map(re.Match.group, WORDS.finditer(text))
