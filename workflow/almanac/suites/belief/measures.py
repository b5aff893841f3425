"""The metrics of BELIEF.

A *pair* is a subject with a relation; it is asked by several prompts. Accuracy is the mean over pairs of the share of
the pair's answered prompts that are right, which equals the mean accuracy over all prompt sets. Each answered prompt
thus has the weight ``worth`` = 1 / (answered prompts of its pair), and accuracy is ``sum(worth_hit) / sum(worth)``: a
ratio of two sums of columns, whose items the page can show.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import get_args

import polars as pl

from almanac.rows import Measure
from almanac.suites.belief.agreement import agreement, between
from almanac.suites.belief.asking import CANDIDATES, CONTENT_FREE, CONTROL, ICL, VOCABULARY
from almanac.suites.belief.calibration import binned, calibration_error, overconfidence
from almanac.suites.belief.few import held_out
from almanac.suites.belief.options import BeliefOptions, Prompting
from almanac.suites.belief.resampling import Hits
from almanac.suites.judged import Judged, Not
from almanac.suites.recovery import recovery

BY = ("experiment", "prompting", "style")  # together, a way of asking
ASKED = (VOCABULARY, CANDIDATES, ICL)
PAIR = [*BY, "fact"]
KINDS = ("alias", "form", "written", "ambiguous")  # columns that divide a pair's prompts into kinds
WITHIN = (*KINDS, "template")  # columns with a weight of their own: 1 / (the pair's answered prompts of the same value)
# Agreement of a prompt with the pair's other prompts: all; of its group; of other groups; with only the name different;
# with only the template different.
AGREEMENTS = {f"consistency{of}": f"agreement{of}" for of in ("", "_inner", "_inter", "_of_names", "_of_templates")}
# For each way of prompting, the column that says whether the same prompt is right in that way.
ELSEWHERE = {way: f"right_in_{way}" for way in get_args(Prompting)}
TOGETHER = 50_000  # prompts that are compared at once
CONFIDENCES = {"confidence": "bin", "sequence": "sequence_bin"}  # each kind of confidence, with the column of its bins


def derived(frame: pl.DataFrame, options: BeliefOptions) -> pl.DataFrame:
    """Add the columns that metrics are computed from; docs/belief.md explains each.

    ``worth`` and ``worth_hit``; each agreement (``agreement``, ``agreement_inner`` and so on) with its weight
    (``agreement_worth``) and their product (``agreement_part``); the weight of a prompt among its pair's prompts with
    the same ``alias``, ``form``, ``written``, ``ambiguous`` or ``template`` (``alias_worth``, ``alias_worth_hit`` and
    so on); the bins of confidence, ``bin`` and ``sequence_bin``; and ``right_in_WAY`` for each way of prompting.
    """
    found = frame.with_columns(*_weights("hit", "worth", "worth_hit")).hstack(_agreements(frame))
    for column in AGREEMENTS.values():
        found = found.with_columns(*_weights(column, f"{column}_worth", f"{column}_part"))
    for column in WITHIN:
        found = found.with_columns(*_weights("hit", f"{column}_worth", f"{column}_worth_hit", column))
    found = found.with_columns(_elsewhere(frame))
    return found.with_columns(binned(column, BY, options.bins).alias(name) for column, name in CONFIDENCES.items())


def _weights(value: str, worth: str, product: str, *columns: str) -> list[pl.Expr]:
    """Return each prompt's weight, 1 / (its pair's prompts that have a value and equal ``columns``), and their product.

    Both are null without a value or a fact.
    """
    count = pl.col(value).is_not_null().sum().over(*PAIR, *columns).cast(pl.Float64)
    weight = pl.when(pl.col(value).is_not_null() & pl.col("fact").is_not_null()).then(1 / count)
    return [weight.alias(worth), (weight * pl.col(value).cast(pl.Float64)).alias(product)]


def _agreements(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the columns of `AGREEMENTS`, a row an item; they are null for controls and content-free subjects."""
    needed = ["relation", *PAIR, "group", "template", "name", "answer"]
    rows = frame.select(pl.int_range(pl.len(), dtype=pl.UInt32).alias("row"), *needed)
    asked = rows.filter(pl.col("experiment").is_in(ASKED))
    # Compare whole relations, about `TOGETHER` prompts at a time: all at once would not fit into memory, and smaller
    # parts would be slow, since each part costs the same few dozen joins.
    sizes = asked.group_by("relation", maintain_order=True).agg(pl.len().alias("part"))
    part = sizes.with_columns(pl.col("part").cum_sum() // TOGETHER)
    asked = asked.join(part, on="relation", how="left", maintain_order="left")
    parts = [pl.DataFrame(schema={"row": pl.UInt32, **dict.fromkeys(AGREEMENTS.values(), pl.Float64)})]
    for (_, texts), prompts in asked.group_by("part", pl.col("experiment") == ICL, maintain_order=True):
        whole = agreement(prompts, PAIR, bool(texts))
        inner = agreement(prompts, [*PAIR, "group"], bool(texts))
        values = (
            *(whole, inner, between(prompts, PAIR, "group", whole, inner)),
            agreement(prompts, [*PAIR, "template"], bool(texts)),
            agreement(prompts, [*PAIR, "name"], bool(texts)),
        )
        columns = {name: series.cast(pl.Float64) for name, series in zip(AGREEMENTS.values(), values, strict=True)}
        parts.append(pl.DataFrame({"row": prompts["row"], **columns}))
    return rows.select("row").join(pl.concat(parts), on="row", how="left", maintain_order="left").drop("row")


def _elsewhere(frame: pl.DataFrame) -> list[pl.Series]:
    """Return the columns of `ELSEWHERE`: whether each item's prompt is right in each other way, null if not answered.

    Two prompts are the same if pair, name, template and style are equal.
    """
    prompt = ["experiment", "style", "fact", "template", "name"]
    texts = frame.select(*prompt, "prompting", "hit").filter(pl.col("experiment") == ICL)
    found = []
    for way, column in ELSEWHERE.items():
        right = texts.filter(pl.col("prompting") == way).select(*prompt, pl.col("hit").alias(column))
        others = frame.select(*prompt, pl.col("prompting").ne_missing(way).alias("other"))
        joined = others.join(right, on=prompt, how="left", maintain_order="left")
        found.append(joined.select(pl.when("other").then(column).alias(column)).to_series())
    return found


def measure(judged: Judged, own: Mapping[str, pl.DataFrame], options: BeliefOptions) -> list[Measure]:
    """Compute every metric of one model.

    Returns:
        By experiment, prompting and style: ``accuracy`` over all pairs, over the pairs that LAMA-UHN keeps, by
        relation, by template and by each of `KINDS`; its fluctuation between prompt sets (`_fluctuation`); consistency;
        overconfidence and calibration (`_calibration`); the form of the answers (`_answers`); recovery; and
        ``shared_with_WAY`` (Figure 4): of the prompts that are right, the share that is right in another way of
        prompting too. For content-free subjects the bias.
    """
    asked = judged.where(experiment=ASKED)
    rows = []
    for part, by in ((asked, BY), (asked.where(guessable=False), BY), (asked, (*BY, "relation"))):
        rows += part.measures("accuracy", "ratio", "worth_hit", "worth", by=by)
    of_template = (*BY, "relation", "template")
    rows += asked.measures("accuracy_of_template", "ratio", "template_worth_hit", "template_worth", by=of_template)
    for column in KINDS:
        rows += asked.measures("accuracy", "ratio", f"{column}_worth_hit", f"{column}_worth", by=(*BY, column))
    for metric, column in AGREEMENTS.items():
        rows += asked.measures(metric, "ratio", f"{column}_part", f"{column}_worth", by=BY)
    for more in ("relation", "dose"):
        part = asked.where({more: Not(None)})
        rows += part.measures("consistency", "ratio", "agreement_part", "agreement_worth", by=(*BY, more))
    for group in asked.groups(*BY):
        rows += _fluctuation(group, options)
        rows += _calibration(group)
        rows += _answers(group)
    right = judged.where(experiment=ICL, hit=True)
    for way, column in ELSEWHERE.items():
        rows += right.where({column: Not(None)}).measures(f"shared_with_{way}", "mean", column, by=BY)
    rows += judged.where(experiment=CONTROL).measures("control", "mean", "hit", by=BY)
    rows += bias(judged, own["leanings"])
    return rows + recovery(asked, *BY)


def _fluctuation(group: Judged, options: BeliefOptions) -> list[Measure]:
    """Return how much accuracy fluctuates over prompt sets, and its extremes.

    ``deviation`` and ``range`` are over sets drawn as `BeliefOptions.resample` says, and ``deviation_closed`` is the
    closed form of ``deviation``. ``deviation_by_pair`` and ``range_by_pair`` are exact, for one prompt drawn per pair.
    ``worst_templates`` and ``best_templates`` are the accuracies with each relation's worst and best template (Table
    12). ``maximum`` is that with the best template of each relation and each pair's best name. ``oracle`` is
    the share of pairs that at least one prompt gets right (Tables 8 and 19); ``written_rank`` see `written_rank`.
    """
    names = (
        *("deviation", "range", "deviation_closed", "deviation_by_pair", "range_by_pair"),
        *("worst_templates", "best_templates", "maximum", "oracle", "written_rank"),
    )
    hits = Hits.of(group.frame)
    if not len(hits.pairs):
        return [group.measure(name, None, of=("hit",)) for name in names]
    where = [str(value) for value in group.conditions.values()]
    sets = hits.simulated(options.resample, options.draws, options.seed, group.dataset, *where)
    values = (
        float(sets.std()),
        float(sets.max() - sets.min()),
        hits.deviation(options.resample),
        hits.deviation("pair"),
        hits.expected_range(options.draws),
        *hits.extremes(),
        written_rank(group.frame),
    )
    return [group.measure(name, value, of=("hit",)) for name, value in zip(names, values, strict=True)]


def written_rank(frame: pl.DataFrame) -> float | None:
    """Return the mean rank by accuracy of written templates among all of their relation: 0 the best, 1 the worst.

    Ties take the mean rank. Relations without a written template or without a paraphrase are left out (Table 14).

    Args:
        frame: prompts with ``relation``, ``template``, ``written``, ``template_worth`` and ``template_worth_hit``.
    """
    known = frame.filter(pl.col("template_worth").is_not_null())
    accuracy = pl.col("template_worth_hit").sum() / pl.col("template_worth").sum()
    cells = known.group_by("relation", "template", maintain_order=True).agg(
        pl.col("written").first(), accuracy.round(12).alias("accuracy")
    )
    rank = (pl.col("accuracy").rank("average", descending=True).over("relation") - 1) / (pl.len().over("relation") - 1)
    mixed = pl.col("written").n_unique().over("relation") == 2
    found = cells.filter(mixed).with_columns(rank.alias("rank")).filter(pl.col("written"))
    return _average(found["rank"])


def _calibration(group: Judged) -> list[Measure]:
    """Return overconfidence and calibration error by each kind of confidence, with accuracy and confidence by bin."""
    rows = []
    for column, bins in CONFIDENCES.items():
        known = group.where({column: Not(None), "hit": Not(None)})
        error, calibrated = calibration_error(known.frame, column, bins)
        rows.append(known.measure("overconfidence", overconfidence(known.frame, column), of=(column, "hit")))
        rows.append(known.measure("calibration_error", error, of=(column, "hit", bins)))
        rows.append(known.measure("calibration_error_if_calibrated", calibrated, of=(column, bins)))
        rows += known.measures("accuracy_of_bin", "mean", "hit", by=(bins,))
        rows += known.measures("confidence_of_bin", "mean", column, by=(bins,))
    known = group.where({"sequence": Not(None), "hit": Not(None)})
    for part in known.groups("answer_tokens"):
        found = overconfidence(part.frame, "sequence")
        rows.append(part.measure("overconfidence_by_length", found, of=("sequence", "hit")))
    both = group.where({"confidence": Not(None), "sequence": Not(None)})
    gaps = (both.frame["confidence"] - both.frame["sequence"]).abs()
    rows.append(both.measure("sampled_against_sequence", _average(gaps), of=("confidence", "sequence")))
    return rows


def _average(values: pl.Series) -> float | None:
    return float(values.to_numpy().mean()) if len(values) else None


def _answers(group: Judged) -> list[Measure]:
    """Return metrics of the form of answers: single words, unsafe names, aliases, and objects of one token."""
    if group.conditions["experiment"] == ICL:
        named = {"one_word": "one_word", "right_by_unsafe_name": "unsafe"}
    else:
        named = {"extended_above_label": "by_alias"}
    rows = [one for metric, column in named.items() for one in group.measures(metric, "mean", column)]
    if group.conditions["experiment"] == CANDIDATES:
        rows += group.where(object_tokens=1).measures("accuracy", "ratio", "worth_hit", "worth")
    return rows


def bias(judged: Judged, leanings: pl.DataFrame) -> list[Measure]:
    """Return how strongly a model prefers some objects after content-free subjects: 1 − H / H_max (section 5.4).

    H is the entropy of the distribution over the relation's objects; the distributions after the several content-free
    subjects are averaged first. ``bias_single`` is the mean of 1 − H / H_max over templates; ``bias_multi`` averages
    the distributions of a relation's templates before. Objects that the tokenizer cannot write are left out; with fewer
    than two objects left there is no bias.

    Args:
        judged: a model's items.
        leanings: the rows of `Leaning`.
    """
    rows = []
    for group in judged.where(experiment=CONTENT_FREE).groups(*BY):
        single, multi = _biases(group.frame, leanings)
        rows.append(group.measure("bias_single", single, of=("template",)))
        rows.append(group.measure("bias_multi", multi, of=("template",)))
    return rows


def _biases(frame: pl.DataFrame, leanings: pl.DataFrame) -> tuple[float | None, float | None]:
    """Return ``bias_single`` and ``bias_multi`` of content-free items, as means over relations."""
    items = frame.select(pl.col("item").cast(pl.Int64), pl.col("relation", "template").cast(pl.String))
    found = leanings.select(pl.col("item").cast(pl.Int64), "place", "logprob")
    found = found.join(items, on="item", maintain_order="left").filter(pl.len().over("item") > 1)
    if found.is_empty():
        return None, None
    # Subjects are averaged by probability: one after which all objects are unlikely counts little.
    weight = (pl.col("logprob") - pl.col("logprob").max().over("relation", "template")).exp().alias("share")
    places = found.with_columns(weight).group_by("relation", "template", "place", maintain_order=True)
    whole = pl.col("share").sum().over("relation", "template")
    by_template = places.agg(pl.col("share").sum()).with_columns(pl.col("share") / whole)
    single = by_template.group_by("relation", "template", maintain_order=True).agg(level().alias("level"))
    multi = by_template.group_by("relation", "place", maintain_order=True).agg(pl.col("share").mean())
    multi = multi.group_by("relation", maintain_order=True).agg(level().alias("level"))
    by_relation = single.group_by("relation", maintain_order=True).agg(pl.col("level").mean()).sort("relation")["level"]
    return _average(by_relation), _average(multi.sort("relation")["level"])


def level() -> pl.Expr:
    """Return 1 − H / log n of a group's n shares, H being their entropy (nats): 0 if equal, 1 if one has all."""
    share = pl.col("share")
    return 1 + pl.when(share > 0).then(share * share.log()).otherwise(0.0).sum() / pl.len().log()


def across(judged: Mapping[str, Judged]) -> list[Measure]:
    """Return the metrics that need several models.

    Returns:
        ``shared`` for each ordered pair of models (Figure 4): of the prompts that the first gets right and the second
        answers, the share that the second gets right too. For each model ``accuracy_of_few``, with the few templates
        that the other models choose, and ``few_against_all``, its distance from that with all (`few.held_out`).
    """
    return [*_shared(judged), *_few(judged)]


def _shared(judged: Mapping[str, Judged]) -> Iterator[Measure]:
    for model, own in judged.items():
        for group in own.where(experiment=ASKED, hit=True).groups(*BY):
            for other, theirs in judged.items():
                answered = theirs.frame.drop_nulls("hit").select("item", theirs="hit")
                both = group.frame.join(answered, on="item", maintain_order="left")
                if other != model and both.height:
                    part = replace(group, frame=both.drop("theirs"))
                    yield part.measure("shared", both["theirs"].mean(), of=("hit",), other=other)  # type: ignore[arg-type]


def _few(judged: Mapping[str, Judged]) -> Iterator[Measure]:
    first = next(iter(judged.values()))
    for group in first.where(experiment=ASKED).groups(*BY):
        asked = {name: own.where({key: group.conditions[key] for key in BY}) for name, own in judged.items()}
        for name, (templates, few, every) in held_out({name: items.frame for name, items in asked.items()}).items():
            part = asked[name].where(template=templates)
            yield part.measure("accuracy_of_few", few, of=("hit",))
            yield part.measure("few_against_all", abs(few - every), of=("hit",))
