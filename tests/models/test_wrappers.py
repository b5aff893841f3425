"""Wrappers are data: the published texts come out as published, nothing is lost, and mistakes are named."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from almanac.errors import AlmanacError
from almanac.models import wrappers
from almanac.models.wrappers import InstructedParts, Wrapper, find

PARTS = InstructedParts(
    "Peru lies in South America.", "Pick one.", ("Lima", "Washington, D.C.", "Jean-Paul"), "What is it?"
)
BARE = InstructedParts("", "Pick one.", (), "What is it?")
TEXTS = [name for name, one in wrappers.read(wrappers.SHIPPED).items() if not one.chat]
CHATS = [name for name, one in wrappers.read(wrappers.SHIPPED).items() if one.chat]
WORDS = st.text(st.characters(exclude_categories=("Cc", "Cs", "Z")), min_size=1)


def text_of(name, parts):
    one = find(name)
    return "\n".join(one.turns(parts)) if one.chat else "".join(one.whole(parts))


# Alpaca's prompt is that of its authors' repository, the others those of the papers.
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("question_answer", "Pick one.\nQuestion: What is it?\nAnswer:"),
        ("q_a", "Pick one.\nQ: What is it?\nA:"),
        ("one_line", "Pick one. What is it?\n"),
        ("vicuna", "Pick one.\nHUMAN: What is it?\nASSISTANT:"),
        ("flan", "Pick one.\nQUESTION: What is it?\n"),
        (
            "alpaca",
            "Below is an instruction that describes a task, paired with an input that provides further context. "
            "Write a response that appropriately completes the request.\n\n### Instruction:\nPick one.\n\n"
            "### Input:\nWhat is it?\n\n### Response:",
        ),
    ],
)
def test_the_published_wrappers_are_as_published(name, expected):
    assert text_of(name, BARE) == expected


@pytest.mark.parametrize("name", [*TEXTS, *CHATS])
def test_every_part_stands_once_and_in_its_order(name):
    text = text_of(name, PARTS)
    parts = [PARTS.context, PARTS.instruction, PARTS.input, *PARTS.options]
    assert [text.count(part) for part in parts] == [1] * len(parts)
    assert text.index(PARTS.context) < text.index(PARTS.instruction) < text.index(PARTS.input)
    assert text_of(name, BARE).count("hoices") == 0


@pytest.mark.parametrize("name", [*TEXTS, "chat", "chat_user"])
@given(options=st.lists(WORDS, min_size=1, max_size=6))
def test_choices_can_be_told_apart_whatever_they_hold(name, options):
    text = text_of(name, InstructedParts("", "Pick.", options, "Which?"))
    after = text[text.upper().index("CHOICES:") :].split("\n")[1 : len(options) + 1]
    assert [line.removeprefix("  - ") for line in after] == options


def test_the_published_rendering_of_choices_cannot_tell_a_comma():
    assert "Choices: Lima, Washington, D.C., Jean-Paul" in text_of("chat_commas", PARTS)


def test_an_option_of_several_lines_stays_one():
    assert "  - a b\n" in text_of("plain", InstructedParts("", "Pick.", ("a\nb", "c"), "?"))


@given(st.lists(st.sampled_from(["[CONTEXT]", "[INSTRUCTION]", "[OPTIONS]", "[INPUT]", "[OPTION]", "a"]), min_size=4))
def test_slots_in_what_is_filled_in_are_text(words):
    context, instruction, option, question = words[:4]
    text = text_of("question_answer", InstructedParts(context, instruction, (option,), question))
    assert text == f"{context}\n{instruction}\nChoices:\n  - {option}\nQuestion: {question}\nAnswer:"


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"text": "[CONTEXT][INSTRUCTION][INPUT]"}, r"the slot \[OPTIONS\] must occur once, found 0 times"),
        ({"text": "[CONTEXT][INSTRUCTION][OPTIONS][INPUT][INPUT]"}, r"\[INPUT\] must occur once, found 2"),
        ({"user": "[CONTEXT][INSTRUCTION][OPTIONS][INPUT]"}, "either text, or system and user"),
        ({"text": "x", "system": "", "user": "x"}, "either text, or system and user"),
        ({"text": "[CONTEXT][INSTRUCTION][OPTIONS][INPUT]", "answer": "\n"}, "answer: must be '' or ' '"),
        ({"text": "[CONTEXT][INSTRUCTION][OPTIONS][INPUT]", "option": "-"}, r"option: the slot \[OPTION\] must occur"),
        ({"text": "[CONTEXT][INSTRUCTION][OPTIONS][INPUT]", "prefix": ""}, "prefix: is unknown"),
        ({"text": "[CONTEXT][INSTRUCTION][OPTIONS][INPUT]", "stop": [""]}, "stop: a text that an answer stops at"),
        ({"system": "[CONTEXT][INSTRUCTION][OPTIONS]", "user": "[INPUT]", "answer": " "}, "the chat template says"),
    ],
)
def test_a_wrapper_that_is_none_is_refused_by_its_key(tmp_path, entry, message):
    lines = "".join(f"  {key}: {value!r}\n" for key, value in entry.items())
    path = tmp_path / "mine.yaml"
    path.write_text(f"own:\n  source: mine\n{lines}")
    with pytest.raises(AlmanacError, match=message) as error:
        find(f"{path}:own")
    assert str(error.value).startswith(f"{path}: own: ")


def test_a_wrapper_of_ones_own_is_named_by_its_file(tmp_path):
    path = tmp_path / "mine.yml"
    path.write_text('own: {source: mine, text: "[CONTEXT][INSTRUCTION][OPTIONS] > [INPUT] <"}\n')
    assert "".join(find(f"{path}:own").whole(BARE)) == "Pick one. > What is it? <"
    assert find(str(path)) == find(f"{path}:own")
    with pytest.raises(AlmanacError, match=r"mine.yml holds own; name one of them, as .*mine.yml:own"):
        find(f"{path}:other")


@pytest.mark.parametrize("text", [None, "a: [", "[]", "- a\n", b"\xff\xfe\x00"])
def test_a_file_without_wrappers_is_named(tmp_path, text):
    path = tmp_path / "broken.yaml"
    if text is not None:
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(AlmanacError, match=r"wrapper: .*broken.yaml"):
        find(str(path))


def test_an_unknown_wrapper_is_answered_with_those_there_are():
    with pytest.raises(AlmanacError, match=r"no wrapper 'alpacca'; there are plain, question_answer, .*FILE.yaml:NAME"):
        find("alpacca")


def test_a_digest_is_of_what_is_said_and_not_of_where_it_comes_from():
    one = Wrapper(source="here", text="[CONTEXT][INSTRUCTION][OPTIONS][INPUT]")
    assert one.digest == one.model_copy(update={"source": "there"}).digest
    assert one.digest != one.model_copy(update={"answer": " "}).digest
    assert len({find(name).digest for name in (*TEXTS, *CHATS)}) == len((*TEXTS, *CHATS))


def test_a_wrapper_that_is_given_twice_is_refused(tmp_path):
    (tmp_path / "mine.yaml").write_text("own: {text: one}\nown: {text: two}\n")
    with pytest.raises(AlmanacError, match=r"mine\.yaml: is no YAML: the key own is given in line 1 and"):
        find(f"{tmp_path}/mine.yaml:own")
