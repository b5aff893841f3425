"""The settings of Head-to-Tail."""

from typing import Annotated, Literal, get_args

from pydantic import Field

from almanac.options import OnDisk
from almanac.suites.options import WRITER, WRITTEN_TOKEN, SampledOptions

QUESTION_TOKENS = 60  # tokens of instruction, examples and question, about
JUDGED_TOKENS = 500  # tokens that the judge reads for an answer, with the checks of one in ten, about
OPEN_CAP = 10  # the paper's cap for facts of other sources than its own

Filter = Literal["unspecific", "dynamic", "source_specific", "non_textual"]
Prompt = Literal["few_shot", "zero_shot", "in_domain", "brief", "best_guess", "none"]


class HeadToTailOptions(SampledOptions):
    """The settings of a suite `head_to_tail`: which questions are asked, how, and how answers are judged."""

    popularity: Annotated[
        Literal["auto", "source", "density", "exposure"],
        Field(
            description="what divides subjects into head, torso and tail: source: the dataset's popularity; density: "
            "how many facts name them; exposure: how often a planted model was taught facts about them, so that "
            "`sample` facts per relation are asked; auto: source if there is any, otherwise density"
        ),
    ] = "auto"
    cap: Annotated[
        int | None,
        Field(ge=1, description="questions per template and bucket, at most (none: the paper's, by source)"),
    ] = None
    sample: Annotated[
        int | None,
        Field(
            ge=1,
            description="questions per template and bucket that are asked, below the cap; with exposure, test facts "
            "per relation (none: all)",
        ),
    ] = None
    mode: Annotated[
        Literal["unique", "faithful"],
        Field(
            description="of questions with the same text, unique: none is asked, and years are asked only of titles "
            "with a unique name; faithful: as in the released code, the first is asked, and years only of titles that "
            "share their name"
        ),
    ] = "unique"
    filters: Annotated[
        tuple[Filter, ...],
        Field(description="kinds of DBpedia's predicates that are left out"),
    ] = get_args(Filter)
    unnatural: Annotated[
        tuple[str, ...],
        Field(
            description="ids of relations that people hardly ask about, in addition to those of the shipped templates"
        ),
    ] = ()
    last_year: Annotated[
        int | None, Field(description="questions whose answer is a later year are not asked (none: all are)")
    ] = None
    prompts: Annotated[
        tuple[Prompt, ...],
        Field(
            min_length=1,
            description="prompts, each with a row in the table of methods; by the first models are compared",
        ),
    ] = ("few_shot",)
    cloze: Annotated[bool, Field(description="also ask everything as a sentence to be completed")] = False
    repeats: Annotated[
        int, Field(ge=0, description="how often everything is asked again at temperature 1, for stability")
    ] = 0
    answer_tokens: Annotated[int, Field(ge=1, description="tokens of an answer, at most")] = 32
    unsure: Annotated[
        Literal["strict", "extended"],
        Field(description="answers that count as missing: unsure and empty ones, or a longer list (resources/prompts)"),
    ] = "strict"
    judge: Annotated[
        str | None,
        WRITER,
        Field(description="model of the edition that judges whether answers are correct (none: only rules)"),
    ] = None
    judge_examples: Annotated[bool, Field(description="show the judge the eight examples")] = True
    labels: Annotated[
        str | None,
        OnDisk("file", "measure"),
        Field(description="file of a person's verdicts on answers, JSON Lines: fact_id, answer, correct"),
    ] = None
    judged: Annotated[
        bool,
        Field(
            description="validation: planted models must be more accurate in the head than in the tail where "
            "popularity is exposure, and equally accurate at the same dose where it is not; one tuned to say unsure "
            "must hallucinate less than its base; a null must miss this"
        ),
    ] = False
    seed: Annotated[int, Field(ge=0, description="seed of the draws and of repeated asking")] = 0

    def tokens(self, facts: int, choices: int, relations: int) -> int:
        """Estimate the tokens that a model reads; see `SuiteOptions`."""
        asked = self.of_relation(facts, relations)
        if self.popularity != "exposure":  # of each of three buckets
            asked = min(3 * min(self.cap or OPEN_CAP, self.of_relation(facts, 3 * relations)), facts)
        ways = len(self.prompts) * (1 + self.cloze)
        each = QUESTION_TOKENS + WRITTEN_TOKEN * self.answer_tokens * (1 + self.repeats)
        judged = 0 if self.judge is None else JUDGED_TOKENS * (1 + self.repeats)
        return relations * asked * ways * (each + judged)
