"""Generation through transformers' own server: its texts are those of `generate`; it cannot score, and that is said."""

import pytest
import torch
from tests.models.servers import Reply, proxy, transformers_server
from transformers import AutoModelForCausalLM, AutoTokenizer

from almanac.errors import AlmanacError
from almanac.models.api import ApiAnswerer
from almanac.models.options import AnswerOptions
from almanac.rows import Request

pytestmark = pytest.mark.whole

TEMPLATE = "{% for message in messages %}{{ message['role'] }}: {{ message['content'] }}\n{% endfor %}assistant:"
QUESTIONS = ["Where was Ada Lovelace born?", "Paris is the capital of", "naïve café 東京"]


@pytest.fixture(scope="module")
def folder(checkpoint, tmp_path_factory):
    """A checkpoint with a chat template; it samples wherever it is asked for a temperature above 0."""
    folder = tmp_path_factory.mktemp("chat")
    network = AutoModelForCausalLM.from_pretrained(checkpoint("llama"))
    network.generation_config.do_sample = True
    network.save_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(checkpoint("llama"))
    tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def url(folder, tmp_path_factory):
    with transformers_server(folder, tmp_path_factory.mktemp("log") / "serve.log") as url:
        yield url


def options(url, folder, **more):
    # One call at a time: the server draws from one generator for all.
    base = {"api": url, "api_model": str(folder), "kinds": ("generate",), "api_concurrency": 1, "api_retries": 2}
    return AnswerOptions(**base | more)


def asked(text, **more):
    return Request(f"{text} {sorted(more.items())}", "generate", None, text, **{"max_new_tokens": 8} | more)


@pytest.fixture(scope="module")
def generated(folder):
    """What `generate` gives here, greedily."""
    network, tokenizer = AutoModelForCausalLM.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)

    def run(text, chat):
        prompt = f"user: {text}\nassistant:" if chat else text
        ids = tokenizer(prompt, return_tensors="pt", add_special_tokens=not chat)["input_ids"]
        with torch.inference_mode():
            out = network.generate(
                input_ids=ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=8
            )
        return tokenizer.decode(out[0, ids.shape[1] :], skip_special_tokens=True)

    return run


@pytest.mark.parametrize("way", ["chat", "completions"])
def test_greedy_texts_are_those_of_generate(url, folder, generated, way):
    answerer = ApiAnswerer(options(url, folder, api_generate_with=way))
    found = answerer.answer([asked(text) for text in QUESTIONS], {})
    expected = [(generated(text, way == "chat"),) for text in QUESTIONS]
    assert [response.texts for response in found] == expected
    assert {response.status for response in found} == {"ok"}


def test_samples_stops_and_contexts(url, folder, generated):
    answerer = ApiAnswerer(options(url, folder))
    whole = generated(QUESTIONS[0], True)
    stop = whole[len(whole) // 2 :][:2]
    requests = [
        asked(QUESTIONS[0], stop=(stop,)),
        asked(QUESTIONS[0], samples=3),
        asked(QUESTIONS[1], samples=3, temperature=1.5, seed=7),
        asked(QUESTIONS[1], samples=2, temperature=1.5, seed=7),
        Request("context", "generate", "c", "born?", max_new_tokens=8),
    ]
    stopped, greedy, three, two, context = answerer.answer(requests, {"c": "Where was Ada Lovelace "})
    assert stopped.texts == (whole[: whole.index(stop)],)
    assert greedy.texts == (whole,) * 3
    assert len(set(three.texts)) == 3
    assert two.texts == three.texts[:2]  # A sample's seed is its own.
    assert context.texts == (whole,)


def test_requests_that_make_no_sense_fail_alone(url, folder):
    requests = [
        asked("The", max_new_tokens=0),
        asked("The", temperature=1.0),
        Request("c", "choices", None, "The", choices=(" tape",)),
    ]
    statuses = [response.status for response in ApiAnswerer(options(url, folder)).answer(requests, {})]
    assert statuses == ["failed", "failed", "unsupported"]


def test_busy_and_broken_answers_are_asked_again(url, folder, generated):
    faults = [
        lambda forward: Reply.of({"error": {"message": "busy"}}, 429, Retry_After="1"),
        lambda forward: Reply.of({"error": {"message": "broken"}}, 500),
        lambda forward: Reply(200, forward().body, cut=True),
    ]
    answerer = ApiAnswerer(options(url, folder, api_retries=4))
    wire = proxy(url, faults)
    with wire.running() as between:
        answerer._server.url = between
        [response] = answerer.answer([asked(QUESTIONS[0])], {})
    assert response.texts == (generated(QUESTIONS[0], True),)
    assert len(wire.calls) == 4


def test_a_filtered_text_is_refused(url, folder):
    def filtered(answer):
        answer["choices"][0]["finish_reason"] = "content_filter"
        return answer

    answerer = ApiAnswerer(options(url, folder))
    with proxy(url, change=filtered).running() as between:
        answerer._server.url = between
        [response] = answerer.answer([asked(QUESTIONS[0])], {})
    assert (response.status, response.texts) == ("refused", None)


@pytest.mark.parametrize("by", ["filter", "error"])
def test_a_sample_that_is_refused_is_an_empty_text(url, folder, by):
    calls = []

    def filtered(answer):
        calls.append(answer)
        if by == "filter" and len(calls) == 2:
            answer["choices"][0]["finish_reason"] = "content_filter"
        return answer

    refuses = [lambda forward: Reply.of({"error": {"code": "content_filter"}}, 400)] if by == "error" else []
    question = asked(QUESTIONS[1], samples=3, temperature=1.5, seed=7)
    answerer = ApiAnswerer(options(url, folder, api_concurrency=1))
    [whole] = answerer.answer([question], {})
    with proxy(url, refuses, change=filtered).running() as between:
        answerer._server.url = between
        [response] = answerer.answer([question], {})
    assert (response.status, response.reason) == ("ok", None)
    place = response.texts.index("")
    assert response.texts == (*whole.texts[:place], "", *whole.texts[place + 1 :]) != whole.texts


def test_it_is_refused_where_it_should_score(url, folder):
    with pytest.raises(AlmanacError, match=r"no log-probabilities of the prompt.*declare kinds: \[generate\]"):
        ApiAnswerer(options(url, folder, kinds=("choices", "generate")))


def test_a_model_that_it_does_not_serve_is_named(url):
    with pytest.raises(AlmanacError, match=r"the model 'other' does not generate: HTTP 400.*pinned"):
        ApiAnswerer(options(url, "other"))


def test_further_keys_reach_the_server(url, folder):
    wire = proxy(url)
    with wire.running() as between:
        ApiAnswerer(options(between, folder, api_extra=("top_p=0.5", "temperature=null")))
    assert wire.bodies[-1]["top_p"] == 0.5
    assert "temperature" not in wire.bodies[-1]
    wrong = {"top_p": "no KEY=JSON", "n=3": "api_samples", 'model="x"': "api_model", "=3": "a key has a name"}
    for word, says in wrong.items():
        with pytest.raises(AlmanacError, match=says):
            ApiAnswerer(options(url, folder, api_extra=(word,)))


@pytest.mark.parametrize(
    "said",
    [
        "prompt is too long: 208310 tokens > 200000 maximum",
        "The input token count (40000) exceeds the maximum number of tokens allowed (32768).",
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 2048. Given: 2000 `inputs` tokens",
        "Please reduce the length of the messages or completion.",
        "The prompt tokens must be <= 2048.",
    ],
)
def test_servers_have_many_words_for_a_text_that_is_too_long(url, folder, said):
    answerer = ApiAnswerer(options(url, folder))
    with proxy(url, [lambda forward: Reply.of({"error": {"message": said}}, 400)]).running() as between:
        answerer._server.url = between
        [response] = answerer.answer([asked(QUESTIONS[0])], {})
    assert response.status == "too_long"


def test_an_answers_limit_that_a_server_refuses_is_no_text_that_is_too_long(url, folder):
    answerer = ApiAnswerer(options(url, folder))
    said = {"error": {"message": "max_tokens must be <= 8"}}
    with proxy(url, [lambda forward: Reply.of(said, 400)]).running() as between:
        answerer._server.url = between
        [response] = answerer.answer([asked(QUESTIONS[0])], {})
    assert response.status == "failed"
