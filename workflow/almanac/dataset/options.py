"""The options of a dataset; the defaults are those of Wu et al. (section 4 and appendix A)."""

from typing import Annotated

from pydantic import Field

from almanac.options import Options


class DatasetOptions(Options):
    """How facts become a multiple-choice dataset (T-REx-MC)."""

    min_facts: Annotated[int, Field(ge=1, description="facts (triples) that a relation needs to qualify")] = 500
    min_objects: Annotated[int, Field(ge=2, description="different objects that a relation needs to qualify")] = 100
    train: Annotated[int, Field(ge=0, description="train facts per relation, for in-context examples")] = 100
    test: Annotated[int, Field(ge=1, description="test facts per relation, at most")] = 400
    choices: Annotated[int, Field(ge=2, description="choices per test fact, including the true one")] = 100
    fewer_choices: Annotated[
        bool,
        Field(
            description="offer fewer choices in relations with too few objects: so many that at least 90 % of the "
            "relation's facts can be kept (false: refuse all facts with too few wrong choices)"
        ),
    ] = False
    exclude_true: Annotated[
        bool,
        Field(
            description="never offer another true object of the subject, under any alias (false: exclude the fact's "
            "own object alone, as in the paper)"
        ),
    ] = True
    guessable: Annotated[
        bool,
        Field(
            description="keep facts whose subject's name contains all its true objects (false: refuse them, as "
            "LAMA-UHN does); the page counts those among the test facts"
        ),
    ] = True
    merge: Annotated[
        bool,
        Field(
            description="merge duplicate rows (an entity's other labels become aliases) and drop templates of "
            "relations that neither facts nor relations name, with a note of each (false: both are errors)"
        ),
    ] = False
    seed: Annotated[int, Field(ge=0, description="seed of the split and of the wrong choices")] = 0
