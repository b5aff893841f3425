"""The rows of every table that passes between steps: one frozen dataclass a table, which is also its schema.

`tables.py` derives the Parquet schema from these annotations and checks it on write. A field that may be absent is
annotated ``| None``; lists are tuples, so that rows can be hashed and compared. ``KEY`` names the columns that
identify a row.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

Status = Literal["ok", "too_long", "unsupported", "refused", "failed"]
Kind = Literal["choices", "spans", "generate", "fill"]
KINDS: tuple[str, ...] = get_args(Kind)
OutcomeKind = Literal["correct", "incorrect", "missing", "invalid", "error"]


@dataclass(frozen=True, slots=True)
class Entity:
    """A thing of the world with its names."""

    KEY: ClassVar = ("entity_id",)
    entity_id: str
    label: str
    aliases: tuple[str, ...]
    type: str | None


@dataclass(frozen=True, slots=True)
class Popularity:
    """How well known an entity is, by one source's measure (votes, citations, sitelinks, mentions)."""

    KEY: ClassVar = ("entity_id", "source", "type")
    entity_id: str
    source: str
    type: str
    score: int
    bucket: str | None


@dataclass(frozen=True, slots=True)
class BucketSize:
    """A bucket of one type of entity: how many it holds, their popularity together, the scores it spans.

    ``shape`` says whether popularity could be divided in three (`sources/thirds.py`).
    """

    KEY: ClassVar = ("source", "type", "bucket")
    source: str
    type: str
    bucket: str
    entities: int
    popularity: int
    lowest: int | None
    highest: int | None
    shape: str


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation; ``property`` is its Wikidata property path where it has one (``P166/P585``)."""

    KEY: ClassVar = ("relation_id",)
    relation_id: str
    label: str
    property: str | None
    cardinality: str | None
    object_type: str | None
    domain: str | None
    popularity: int | None = None
    bucket: str | None = None


@dataclass(frozen=True, slots=True)
class Fact:
    """A triple. The object is an entity (``object_id``) or a literal (``value`` with ``datatype``), never both.

    ``fact_id`` is ``relation|subject|object``. ``datatype`` is ``date``, ``quantity`` or ``string``; ``precision`` is
    ``year``, ``month`` or ``day`` for dates. ``split`` is ``train`` or ``test`` where a source prescribes it or a
    dataset has drawn it.
    """

    KEY: ClassVar = ("fact_id",)
    fact_id: str
    relation_id: str
    subject_id: str
    object_id: str | None
    value: str | None
    datatype: str | None
    precision: str | None
    qualifiers: tuple[str, ...]
    split: str | None
    source: str

    @property
    def object_key(self) -> str:
        """The object's identity within the relation: the entity's id or the literal's text."""
        return self.object_id if self.object_id is not None else str(self.value)


@dataclass(frozen=True, slots=True)
class Template:
    """A sentence pattern: ``[X]`` is the subject, ``[Y]`` the object (absent from prefixes and questions)."""

    KEY: ClassVar = ("template_id",)
    template_id: str
    relation_id: str
    text: str
    style: str
    origin: str
    parent_id: str | None
    entails: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Draft:
    """A template that a model has drafted, for a person to proofread.

    ``verdict`` is ``keep`` or ``drop``, with the reason; a person may change it and the text. ``count`` is how often
    the model wrote it, ``agreement`` the share of facts whose filled template led the model back to the relation.
    """

    KEY: ClassVar = ("template_id",)
    template_id: str
    relation_id: str
    text: str
    style: str
    parent_id: str | None
    count: int
    agreement: float | None
    verdict: str
    reason: str | None


@dataclass(frozen=True, slots=True)
class Evidence:
    """A text in which a fact is said, where a source has such texts."""

    KEY: ClassVar = ("fact_id", "text")
    fact_id: str
    text: str


@dataclass(frozen=True, slots=True)
class Omission:
    """Rows that a source left out of one of its tables, by reason: how many, and one of them."""

    KEY: ClassVar = ("table", "reason")
    table: str
    reason: str
    count: int
    example: str | None


@dataclass(frozen=True, slots=True)
class Choices:
    """The wrong choices of a test fact: object keys and the labels that are shown, in one seeded order."""

    KEY: ClassVar = ("fact_id",)
    fact_id: str
    distractors: tuple[str, ...]
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Refused:
    """A fact, or a whole relation, that a dataset leaves out, and why."""

    KEY: ClassVar = ("relation_id", "fact_id")
    relation_id: str
    fact_id: str | None
    reason: str


@dataclass(frozen=True, slots=True)
class RelationCount:
    """What became of a relation's facts: ``facts = refused + train + test + surplus`` where it qualifies.

    ``objects`` counts distinct objects; ``shared_subjects`` the subjects that stand in train and in test.
    """

    KEY: ClassVar = ("relation_id",)
    relation_id: str
    label: str
    qualifies: bool
    facts: int
    objects: int
    refused: int
    train: int
    test: int
    surplus: int
    shared_subjects: int


@dataclass(frozen=True, slots=True)
class Rating:
    """A reader's verdict on a fact or a template: ``value`` is ``true``, ``false`` or ``doubtful``, with a note."""

    KEY: ClassVar = ("item", "rater")
    item: str
    rater: str
    value: str
    note: str | None


@dataclass(frozen=True, slots=True)
class Exposure:
    """How often a fact was to be taught: its planned number of occurrences in the corpus (the dose)."""

    KEY: ClassVar = ("fact_id",)
    fact_id: str
    dose: int


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One occurrence class of a fact in a corpus: how often it stands in a document, by which template and format."""

    KEY: ClassVar = ("fact_id", "document", "template_id", "format")
    fact_id: str
    document: int
    template_id: str
    format: str
    count: int


@dataclass(frozen=True, slots=True)
class Item:
    """One question put to a model: the unit that is judged. ``accepted`` are the texts that count as true."""

    KEY: ClassVar = ("item_id",)
    item_id: str
    suite: str
    experiment: str
    fact_id: str
    relation_id: str
    template_id: str | None
    setting: str
    accepted: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Link:
    """Which request serves which item, in which role; ``index`` is the position of the true choice, if any."""

    KEY: ClassVar = ("item_id", "role", "request_id")
    item_id: str
    role: str
    request_id: str
    index: int | None
    weight: float | None


@dataclass(frozen=True, slots=True)
class Context:
    """A long text that many requests begin with."""

    KEY: ClassVar = ("context_id",)
    context_id: str
    text: str


@dataclass(frozen=True, slots=True)
class Request:
    """One thing asked of a model. It knows no paper: only text and what to return for it.

    The text a model reads is the context's text followed by ``text``, exactly as written. By kind:

    - ``choices``: each of ``choices`` is appended to the text → a log-probability (nats) and token count a choice.
      With ``best_only`` only the best choice and its share among the choices are wanted, and other choices may be left.
    - ``spans``: ``span_starts``/``span_ends`` are character offsets into ``text`` → a log-probability and token count
      a span. With ``pieces`` instead, each piece is tokenised alone, their ids are concatenated, each piece is a span.
    - ``generate``: continue the text for ``max_new_tokens``, ``samples`` times at ``temperature`` (0 is greedy).
    - ``fill``: the text holds one ``[MASK]``; the ``top_k`` most likely single tokens with probabilities and, per
      choice, log-probability, token count and rank outside ``exclude``.

    With an ``instruction`` the request is instructed: the context (a passage to read), the instruction, the text (the
    question) and, where there are any, the ``options`` to pick from stand apart, and the model's wrapper arranges them.
    What is returned is then of the text so arranged; a choice begins the answer.
    """

    KEY: ClassVar = ("request_id",)
    request_id: str
    kind: str
    context_id: str | None
    text: str
    choices: tuple[str, ...] | None = None
    span_starts: tuple[int, ...] | None = None
    span_ends: tuple[int, ...] | None = None
    pieces: tuple[str, ...] | None = None
    max_new_tokens: int | None = None
    stop: tuple[str, ...] | None = None
    samples: int | None = None
    temperature: float | None = None
    seed: int | None = None
    top_k: int | None = None
    exclude: tuple[str, ...] | None = None
    per_token: bool | None = None
    best_only: bool | None = None
    instruction: str | None = None
    options: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Response:
    """A model's answer to one request; there is one row for every request, whatever happened.

    ``logprobs`` (nats) and ``token_counts`` run parallel to the request's choices, spans or pieces; ``texts`` are the
    samples of ``generate``; ``tokens`` and ``probabilities`` are the top k of ``fill``, ``ranks`` (0 is first) the
    ranks of its choices (none for a choice of several tokens). ``token_logprobs`` holds the per-token values of all
    spans or choices, end to end, where asked. Where only the best choice was asked, ``bounds`` says which of the
    ``logprobs`` are upper bounds: choices that cannot be the best, nor change its share by a ten-thousandth of it.
    """

    KEY: ClassVar = ("request_id",)
    request_id: str
    status: str
    reason: str | None
    logprobs: tuple[float, ...] | None = None
    token_counts: tuple[int, ...] | None = None
    token_logprobs: tuple[float, ...] | None = None
    texts: tuple[str, ...] | None = None
    tokens: tuple[str, ...] | None = None
    probabilities: tuple[float, ...] | None = None
    ranks: tuple[int | None, ...] | None = None
    bounds: tuple[bool, ...] | None = None
    model_digest: str = ""
    engine: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of an item: the prediction, its verdict, a score and a confidence (their meaning is the suite's)."""

    KEY: ClassVar = ("model", "item_id")
    model: str
    item_id: str
    prediction: str | None
    outcome: str
    score: float | None
    confidence: float | None


@dataclass(frozen=True, slots=True)
class Measure:
    """One number of the report, its 95 % interval, its slice, and how many items stood behind it by outcome."""

    KEY: ClassVar = ("suite", "dataset", "experiment", "metric", "model", "setting", "relation_id", "exposure", "level")
    suite: str
    dataset: str
    experiment: str
    metric: str
    model: str
    setting: str
    relation_id: str | None
    exposure: int | None
    level: float | None
    value: float | None
    low: float | None
    high: float | None
    n: int
    n_correct: int
    n_incorrect: int
    n_missing: int
    n_invalid: int
    n_error: int


@dataclass(frozen=True, slots=True)
class NotAsked:
    """A fact, a template or a relation of a dataset that a suite could not ask, and why."""

    KEY: ClassVar = ("thing",)
    thing: str
    reason: str


@dataclass(frozen=True, slots=True)
class Draw:
    """One text drawn for an item of KaRR.

    ``role`` says what it is: a ``template`` of the fact's relation, a ``name`` of its subject, a name of its
    ``object``, a name of another ``subject`` (``of`` its id), or a template of another ``relation`` (``of`` its id)
    drawn for one ``name`` of the fact's subject. ``position`` orders the rows of a role.
    """

    KEY: ClassVar = ("item_id", "role", "position")
    item_id: str
    role: str
    position: int
    of: str | None
    name: str | None
    text: str


@dataclass(frozen=True, slots=True)
class KarrLeaf:
    """One log-probability that a KaRR is made of: what stands behind ``beta`` in ``text``.

    ``part`` is ``own``, ``subject`` or ``relation`` (``of`` which). ``tokens`` of the text were read, ``logprob`` is
    their sum (``paper``) or their mean (``official``), and ``weight`` the mean of the log-probabilities of beta's own
    tokens (``official`` alone; none where none can be scored). All in nats.
    """

    KEY: ClassVar = ("model", "item_id", "part", "position")
    model: str
    item_id: str
    part: str
    position: int
    of: str | None
    beta: str
    text: str
    tokens: int
    logprob: float
    weight: float | None


@dataclass(frozen=True, slots=True)
class KarrValue:
    """A fact's KaRR in logarithms (nats): of both ratios and KaRR, of N and both denominators; or why there is none."""

    KEY: ClassVar = ("model", "item_id")
    model: str
    item_id: str
    numerator: float | None
    by_subject: float | None
    by_relation: float | None
    karr_s: float | None
    karr_r: float | None
    karr: float | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class Question:
    """A question that FactEval puts, or one from elsewhere that is scored.

    ``type`` is ``tfq``, ``mcq`` or ``saq``; ``style`` is ``statement``, ``fib`` (one ``[MASK]`` for the object) or
    ``wh``; ``origin`` is ``template`` or ``written`` (by a model). ``gold`` are the accepted names, ``gold_object``
    beside each the object that it names, the label of each object first: of one object in ``mcq``, of all true ones in
    ``saq``, none in ``tfq``, whose ``truth`` says whether the statement is true and ``shown`` which object it names.
    ``negatives`` says where wrong objects were drawn. ``passage`` is read before the question (``context`` says of what
    kind), ``stated`` is the wrong object that it names, ``changed`` whether an antifactual replacement did anything.
    """

    KEY: ClassVar = ("item_id",)
    item_id: str
    relation_id: str
    type: str
    style: str
    origin: str
    context: str
    negatives: str | None
    text: str
    choices: tuple[str, ...] | None
    gold: tuple[str, ...]
    gold_object: tuple[str, ...]
    datatype: str | None
    truth: bool | None
    shown: str | None
    passage: str | None
    passage_origin: str | None
    stated: str | None
    changed: bool | None
    mentions_subject: bool | None
    mentions_object: bool | None
    cardinality: str | None
    domain: str | None
    object_type: str | None


@dataclass(frozen=True, slots=True)
class WrittenQuestion:
    """A question that a model has written for one fact, for a person to proofread.

    ``style`` is ``statement``, ``fib`` or ``wh``. ``verdict`` is ``keep`` or ``drop``, with the reason; a person may
    change it and the text.
    """

    KEY: ClassVar = ("fact_id", "style")
    fact_id: str
    relation_id: str
    style: str
    text: str
    verdict: str
    reason: str | None


@dataclass(frozen=True, slots=True)
class FactEvalVerdict:
    """What one mode of FactEval's scoring (``paper``, ``official``) makes of a model's answer to a question.

    ``said`` is what was recognised in the answer, ``reason`` why it is not correct. ``credit`` is 1 or 0, of a correct
    short answer F1 over objects in mode ``paper``, whose ``precision`` and ``recall`` stand beside; none where there is
    no answer to judge. ``follows`` says whether the answer names the wrong object that its passage states.
    """

    KEY: ClassVar = ("model", "item_id", "mode")
    model: str
    item_id: str
    mode: str
    outcome: str
    said: str | None
    reason: str | None
    credit: float | None
    precision: float | None
    recall: float | None
    follows: bool | None


@dataclass(frozen=True, slots=True)
class QuestionTexts:
    """How much the questions of one type and style repeat each other: their self-BLEU within a relation.

    Without a relation: the mean over relations; none where no relation has two questions.
    """

    KEY: ClassVar = ("experiment", "origin", "negatives", "relation_id")
    experiment: str
    origin: str
    negatives: str | None
    relation_id: str | None
    questions: int
    self_bleu: float | None


@dataclass(frozen=True, slots=True)
class QuestionSimilarity:
    """BERTScore of questions that a model has written against those from templates, of one style.

    Without a relation: the mean over relations.
    """

    KEY: ClassVar = ("style", "relation_id")
    style: str
    relation_id: str | None
    pairs: int
    precision: float
    recall: float
    f1: float


@dataclass(frozen=True, slots=True)
class Validation:
    """What one method recovers of planted knowledge in one model, all worlds together, and whether that meets the bars.

    ``failed`` lists the bars that are missed; ``judged`` says whether there are bars for this row at all.
    """

    KEY: ClassVar = ("suite", "experiment", "setting", "model")
    suite: str
    experiment: str
    setting: str
    model: str
    worlds: int
    n: int
    auc: float | None
    auc_low: float | None
    auc_high: float | None
    spearman: float | None
    spearman_low: float | None
    spearman_high: float | None
    never: float | None
    never_low: float | None
    never_high: float | None
    chance: float
    prior_auc: float | None
    judged: bool
    failed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """One number between models, with its 95 % interval (`suites/comparison.py` says which there are).

    ``model`` and ``other`` are names of models, or of series for a number between series; ``p`` is a test's where there
    is one; ``n`` counts what the number rests on: questions, relations or models.
    """

    KEY: ClassVar = ("suite", "dataset", "metric", "model", "other", "relation_id")
    suite: str
    dataset: str
    metric: str
    model: str | None
    other: str | None
    relation_id: str | None
    value: float | None
    low: float | None
    high: float | None
    p: float | None
    n: int
