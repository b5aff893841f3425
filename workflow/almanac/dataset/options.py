"""What can be set about a dataset; the defaults are the paper's (Wu et al., section 4 and appendix A)."""

from typing import Annotated

from pydantic import Field

from almanac.options import Options


class DatasetOptions(Options):
    """How facts become a multiple-choice dataset (T-REx-MC)."""

    min_facts: Annotated[int, Field(ge=1, description="facts (triples) a relation needs to qualify")] = 500
    min_objects: Annotated[int, Field(ge=2, description="different objects a relation needs to qualify")] = 100
    train: Annotated[int, Field(ge=0, description="train facts a relation, for in-context examples")] = 100
    test: Annotated[int, Field(ge=1, description="test facts a relation, at most")] = 400
    choices: Annotated[int, Field(ge=2, description="choices a test fact, the true one included")] = 100
    fewer_choices: Annotated[
        bool,
        Field(
            description="offer fewer choices where a relation has too few objects: as many as nine in ten of its facts "
            "have (false: refuse these facts)"
        ),
    ] = False
    exclude_true: Annotated[
        bool, Field(description="never offer another true object, under any alias (false: the paper's rule)")
    ] = True
    guessable: Annotated[
        bool,
        Field(
            description="keep facts whose true objects all stand in their subject's name (false: refuse them, as "
            "LAMA-UHN does); the page counts those that are asked"
        ),
    ] = True
    merge: Annotated[
        bool,
        Field(
            description="merge rows that occur twice (an entity's other labels become aliases) and leave out "
            "templates of relations without facts, with a note of each (false: they are errors)"
        ),
    ] = False
    seed: Annotated[int, Field(ge=0, description="seed of the split and of the wrong choices")] = 0
