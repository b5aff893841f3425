import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.models.servers import Reply, Wire

from almanac.models.api import ApiAnswerer
from almanac.models.options import AnswerOptions
from almanac.models.registry import load
from almanac.models.scoring import generation
from almanac.models.scoring.forest.machines import TreeMachine
from almanac.models.scoring.samples import Prompt
from almanac.models.stopping import after_thinking, before_stop
from almanac.rows import Request

LINE = ("\n",)
PROMPT = "Paris is"


def first_line(text):
    return next((line for line in text.split("\n") if line.strip()), "")


@given(st.text(alphabet="ab. \t\n", max_size=12))
def test_an_answer_of_one_line_is_the_first_line_that_is_not_empty(text):
    answer, met = before_stop(text, LINE)
    assert answer == first_line(text) if text.strip() else not answer.strip()
    assert met == ("\n" in text.lstrip())


@given(st.text(alphabet="ab \n", max_size=12), st.lists(st.sampled_from(["a", "b ", "\nb", "ab"]), max_size=3))
def test_other_stops_end_a_text_wherever_they_stand(text, stops):
    answer, met = before_stop(text, stops)
    assert text.startswith(answer) and met == any(stop in text for stop in stops)
    assert not any(stop in answer for stop in stops)
    assert not met or any(text[len(answer) :].startswith(stop) for stop in stops)


def test_a_turn_that_the_model_writes_itself_is_no_answer():
    assert before_stop("\nQuestion: Who?\nAnswer: Ada", ("\n", "\nQuestion:")) == ("", True)
    assert before_stop("\n\n Ada\nQuestion: Who?", ("\n", "\nQuestion:")) == (" Ada", True)


@pytest.fixture
def breaking(checkpoint):
    """A model whose first token after `PROMPT` is a line break: the rows of its head of two tokens are exchanged."""
    one = load(str(checkpoint("llama")), AnswerOptions(device="cpu"))
    prompt = one.wrap(one.tokens.ids(PROMPT))[0]
    [newline] = one.tokens.ids("\n")
    head = one.network.lm_head.weight
    with torch.no_grad():
        first = int(one.network(input_ids=torch.tensor([prompt])).logits[0, -1].argmax())
        head[[first, newline]] = head[[newline, first]]
    return one, prompt


@pytest.mark.parametrize("way", [TreeMachine, lambda model: None], ids=["shared_prefix", "own_cache"])
def test_a_line_break_before_the_first_word_ends_nothing(breaking, way):
    one, prompt = breaking
    machine = way(one)
    [[free]] = generation.generate(one, [Prompt(prompt, 12, (), 0.0, (0,))], machine)
    assert free.startswith("\n") and first_line(free)
    assert generation.generate(one, [Prompt(prompt, 12, LINE, 0.0, (0,))], machine) == [[first_line(free)]]


def test_a_server_is_not_told_to_end_at_a_line_break_before_the_first_word():
    """The server ends its text at what it was told to, as they do."""

    def answer(call):
        text, _ = before_stop("\n\nParis\nRome. Question: Who?", ())
        places = [text.find(stop) for stop in call.body.get("stop", []) if stop in text]
        message = {"role": "assistant", "content": text[: min(places, default=len(text))]}
        return Reply.of({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})

    requests = [
        Request(str(number), "generate", None, "Where?", max_new_tokens=8, stop=stop, samples=1, temperature=0.0)
        for number, stop in enumerate([LINE, ("\n", "Question:"), ("Question:",)])
    ]
    with Wire(answer).running() as url:
        answerer = ApiAnswerer(AnswerOptions(api=url, api_model="some", kinds=["generate"]))
        found = [response.texts for response in answerer.answer(requests, {})]
    assert found == [("Paris",), ("Paris",), ("\n\nParis\nRome. ",)]


def test_a_model_that_thinks_on_after_a_block_has_answered_after_the_last():
    assert after_thinking("a</think> b</think>\n c", "</think>") == "c"
    assert after_thinking("<think>a</think><think>b</think>c") == "c"
    assert after_thinking("no block, and no end of one") == "no block, and no end of one"
