"""Instructed requests are the same as plain ones that are written out: in tokens, in numbers and in work."""

import copy
import dataclasses
import shutil

import pytest
from tests.models.servers import Reply, Wire, reference_wire
from tests.models.tiny_tokenizers import byte_level, metaspace

from almanac import tables
from almanac.cli import main
from almanac.errors import AlmanacError
from almanac.models.answering import LocalAnswerer
from almanac.models.api import ApiAnswerer
from almanac.models.framing import Framing, framing_of, turns
from almanac.models.options import AnswerOptions
from almanac.models.registry import load
from almanac.models.scoring.boundaries import full_text
from almanac.models.wrappers import find
from almanac.rows import Context, Request, Response

INSTRUCTION = "Answer in one word."
PASSAGE = {"p": "Paris is the capital of France."}
# Of the shapes that published templates have: ChatML; Llama 2, whose system's turn stands in the user's; Gemma, which
# refuses a system's turn; one that passes over it without a word; Llama 3.2, which writes the date.
CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
LLAMA = (
    "{% if messages[0].role == 'system' %}{% set said = '<<SYS>>\n' + messages[0].content + '\n<</SYS>>\n\n' %}"
    "{% set messages = messages[1:] %}{% else %}{% set said = '' %}{% endif %}"
    "{{ bos_token }}[INST] {{ said + messages[0].content | trim }} [/INST]"
)
GEMMA = (
    "{% if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}"
    "{{ bos_token }}{% for m in messages %}<start_of_turn>{{ m.role }}\n{{ m.content | trim }}<end_of_turn>\n"
    "{% endfor %}{% if add_generation_prompt %}<start_of_turn>model\n{% endif %}"
)
DEAF = "{{ bos_token }}{% for m in messages if m.role == 'user' %}User: {{ m.content }}\n{% endfor %}Assistant:"
DATED = "{{ bos_token }}Today: {{ strftime_now('%d %b %Y') }}\n{% for m in messages %}{{ m.content }}\n{% endfor %}"


def instructed(number, text="Where is Rome?", **more):
    given = {"kind": "generate", "max_new_tokens": 3} | more
    return Request(f"{number}", context_id=None, text=text, instruction=INSTRUCTION, **given)


def templated(template, tokenizer=byte_level):
    words = copy.deepcopy(tokenizer())
    words.chat_template = template
    return words


def whole(framing, request, contexts=PASSAGE):
    arranged = framing.arrange([request], contexts)
    assert not arranged.declined
    return full_text(arranged.requests[0], arranged.contexts)


def test_a_plain_request_is_never_touched():
    request = Request("1", "choices", "p", " It", choices=(" is",))
    arranged = framing_of("alpaca", None, "x").arrange([request], PASSAGE)
    assert arranged.requests[0] is request


@pytest.mark.parametrize("template", [CHATML, LLAMA, GEMMA, DEAF])
@pytest.mark.parametrize("tokenizer", [byte_level, metaspace])
def test_a_chat_is_what_the_template_gives_and_special_tokens_stand_once(template, tokenizer, checkpoint, tmp_path):
    words = templated(template, tokenizer)
    framing = framing_of(None, words, "x")
    assert framing.name == "chat"
    text = whole(framing, dataclasses.replace(instructed(1), context_id="p"))
    said = f"{PASSAGE['p']}\n{INSTRUCTION}"
    merged = template in (GEMMA, DEAF)
    messages = turns(said, "Where is Rome?", merged)
    assert [one["role"] for one in messages] == (["user"] if merged else ["system", "user"])
    options = {"add_generation_prompt": True, "tokenize": False}
    assert text == words.apply_chat_template(messages, **options)
    folder = tmp_path / "chat"
    shutil.copytree(checkpoint("llama" if tokenizer is byte_level else "llama2"), folder)
    words.save_pretrained(folder)
    model = load(str(folder), AnswerOptions(device="cpu"))
    ids, _ = model.wrap(model.tokens.ids(text))
    expected = words.apply_chat_template(messages, add_generation_prompt=True, return_dict=False)
    assert list(ids) == ([] if template is not CHATML else [words.bos_token_id]) + expected
    assert ids.count(words.bos_token_id) == 1


def test_a_template_that_writes_the_date_writes_the_same_one_every_day():
    assert "Today: 26 Jul 2024\n" in whole(framing_of(None, templated(DATED), "x"), instructed(1))
    format = "'%-d. %B %Y, %a %y-%m-%dT%H:%M'"
    named = DATED.replace("strftime_now('%d %b %Y')", "strftime_now(format)").replace(
        "Today", f"{{% set format = {format} %}}Today"
    )
    assert "Today: 26. July 2024, Fri 24-07-26T00:00\n" in whole(framing_of(None, templated(named), "x"), instructed(1))


@pytest.mark.parametrize(
    ("template", "message"),
    [
        (None, "wrapper: the tokenizer has no chat template; name another wrapper, as plain"),
        ("{% if", "wrapper: the tokenizer's chat template fails: TemplateSyntaxError"),
        ("{{ bos_token }}", "is lost in '<s>'; correct it, or name another wrapper"),
    ],
)
def test_a_chat_without_a_template_that_works_is_refused_by_model_and_key(template, message):
    with pytest.raises(AlmanacError, match=message) as error:
        framing_of("chat", templated(template), "models/mine")
    assert str(error.value).startswith("model models/mine: wrapper: ")


@pytest.mark.parametrize("engine", ["forest", "reference"])
def test_choices_begin_the_answer_and_have_the_numbers_of_the_text_written_out(model, checkpoint, engine):
    own = load(str(checkpoint("llama")), AnswerOptions(device="cpu", wrapper="question_answer"))
    questions = [f"Where is {name}?" for name in ("Rome", "Paris", "Bordira", "the red clock")]
    choices = ("Paris", "Italy", " the blue tape", "x")
    asked = [instructed(text, text, kind="choices", choices=choices) for text in questions]
    before = f"{INSTRUCTION}\nQuestion: "
    plain = [
        Request(text, "choices", "c", f"{text}\nAnswer:", choices=(" Paris", " Italy", " the blue tape", " x"))
        for text in questions
    ]
    ours, theirs = LocalAnswerer(own, engine), LocalAnswerer(model("llama"), engine)
    found, wanted = ours.answer(asked, {}), theirs.answer(plain, {"c": before})
    for one, other in zip(found, wanted, strict=True):
        assert (one.status, one.token_counts) == ("ok", other.token_counts)
        assert one.logprobs == pytest.approx(other.logprobs, abs=1e-5)
    if engine == "forest":  # What the questions share is computed once, as it is where it is written out.
        assert ours.backend("forest").work == theirs.backend("forest").work
        tokens = sum(len(own.tokens.ids(f"{before}{text}\nAnswer:")) for text in questions)
        assert ours.backend("forest").work.distinct < tokens


def test_requests_of_one_task_share_one_context():
    asked = [instructed(text, text) for text in ("Who?", "Where?", "When?")]
    for name in ("plain", "question_answer", "alpaca", "vicuna", "flan"):
        arranged = framing_of(name, None, "x").arrange(asked, {})
        assert len({request.context_id for request in arranged.requests}) == 1
    arranged = framing_of(None, templated(CHATML), "x").arrange(asked, {})
    assert len({request.context_id for request in arranged.requests}) == 1


def test_spans_stay_on_their_words(model, checkpoint):
    own = load(str(checkpoint("llama")), AnswerOptions(device="cpu", wrapper="alpaca"))
    spans = {"kind": "spans", "span_starts": (0, 9), "span_ends": (5, 13), "per_token": True}
    [found] = LocalAnswerer(own).answer([instructed(1, **spans)], {})
    text = whole(own.framing, instructed(1))
    at = text.index("Where is Rome?")
    written = Request("1", "spans", None, text, span_starts=(at, at + 9), span_ends=(at + 5, at + 13), per_token=True)
    [wanted] = LocalAnswerer(model("llama")).answer([written], {})
    assert found.token_logprobs == pytest.approx(wanted.token_logprobs, abs=1e-5)


def test_an_answer_stops_before_the_next_turn(model):
    framing = framing_of("question_answer", None, "x")
    [one] = framing.arrange([instructed(1, stop=(".",))], {}).requests
    assert one.stop == (".", "\nQuestion:")
    [scored] = framing.arrange([instructed(1, kind="choices", choices=("a",))], {}).requests
    assert scored.stop is None
    own = dataclasses.replace(model("llama"))
    [free] = LocalAnswerer(own).answer([instructed(1, max_new_tokens=8)], {})
    middle = free.texts[0][len(free.texts[0]) // 2 :][:2]
    wrapper = find("plain").model_copy(update={"stop": (middle,)})
    cut = dataclasses.replace(own, framing=Framing("mine", wrapper))
    [found] = LocalAnswerer(cut).answer([instructed(1, max_new_tokens=8)], {})
    assert found.texts[0] == free.texts[0][: free.texts[0].index(middle)]


def test_encoder_decoders_read_the_arranged_text(encoder):
    own = encoder("t5")
    asked = [instructed(1, kind="choices", choices=("London", "Rome")), instructed(2)]
    text = f"{INSTRUCTION}\nWhere is Rome?\n"
    plain = [Request("1", "choices", None, text, choices=("London", "Rome")), Request("2", "generate", None, text)]
    plain[1] = dataclasses.replace(plain[1], max_new_tokens=3)
    found, wanted = (LocalAnswerer(own).answer(some, {}) for some in (asked, plain))
    assert found[0].logprobs == pytest.approx(wanted[0].logprobs, abs=1e-5)
    assert found[1].texts == wanted[1].texts


def test_what_cannot_be_asked_so_says_why(model):
    asked = [
        instructed("pieces", kind="spans", pieces=("a", "b")),
        dataclasses.replace(instructed("bare", options=("a", "b")), instruction=None),
        instructed("two blanks", "Rome is [MASK]", kind="fill", top_k=1, options=("[MASK]",)),
        instructed("blank", "Rome is [MASK]", kind="fill", top_k=1),
        instructed("fine"),
    ]
    counted = []
    found = LocalAnswerer(model("llama")).answer(asked, {}, counted.append)
    assert [one.request_id for one in found] == [one.request_id for one in asked]
    assert sum(counted) == len(asked)
    assert [one.status for one in found] == ["unsupported"] * 4 + ["ok"]
    assert "an instructed request is one text" in found[0].reason
    assert "options and no instruction" in found[1].reason
    assert "holds a [MASK] too" in found[2].reason
    assert "causal models fill only a blank that ends the text" in found[3].reason


def test_a_masked_model_fills_the_blank_of_a_question(model):
    request = instructed(1, "Rome is the [MASK] of Italy.", kind="fill", top_k=3, choices=("capital", "red"))
    [found] = LocalAnswerer(model("modernbert")).answer([request], {})
    text = f"{INSTRUCTION}\n{request.text}\n"
    [wanted] = LocalAnswerer(model("modernbert")).answer(
        [Request("1", "fill", None, text, top_k=3, choices=("capital", "red"))], {}
    )
    assert (found.status, found.tokens) == ("ok", wanted.tokens)


def test_a_text_that_grows_too_long_by_its_wrapper_is_too_long(checkpoint):
    short, long = (
        load(str(checkpoint("llama")), AnswerOptions(device="cpu", wrapper=name)) for name in ("q_a", "alpaca")
    )
    request = instructed(1, max_new_tokens=30)
    assert LocalAnswerer(short).answer([request], {})[0].status == "ok"
    assert LocalAnswerer(long).answer([request], {})[0].status == "too_long"


def test_another_wrapper_is_another_model_and_nothing_is_reused(checkpoint, tmp_path, capsys):
    tables.write(tmp_path / "contexts.parquet", Context, [])
    tables.write(tmp_path / "requests.parquet", Request, [instructed(1)])

    def answer(name, *more):
        files = ["--requests", tmp_path / "requests.parquet", "--contexts", tmp_path / "contexts.parquet"]
        command = ["answer", "--model", checkpoint("llama"), "--device", "cpu", "--threads", "1", *files, *more]
        assert main([str(word) for word in (*command, "--output", tmp_path / name)]) == 0
        return tables.read(tmp_path / name, Response)[0], tables.read_metadata(tmp_path / name)["almanac.wrapper"]

    plain, said = answer("plain.parquet")
    assert said.startswith("plain ")
    reuse = ["--reuse", tmp_path / "plain.parquet"]
    other, said = answer("other.parquet", "--wrapper", "vicuna", *reuse)
    assert said == f"vicuna {framing_of('vicuna', None, '').digest}"
    assert other.model_digest != plain.model_digest
    assert "0 responses were copied" in capsys.readouterr().err
    answer("again.parquet", *reuse)
    assert "1 responses were copied" in capsys.readouterr().err


def test_a_line_break_ends_no_answer_of_a_chat():
    """The first line of a chat model's answer is often only an introduction."""
    asked = instructed(1, stop=("\n", "###"))
    framing = framing_of("chat", templated(CHATML), "x")
    [chat] = framing.arrange([asked], {}).requests
    [text] = framing_of("plain", None, "x").arrange([asked], {}).requests
    assert (chat.stop, text.stop) == (("###",), ("\n", "###"))
    assert framing.arrange([instructed(1, stop=("\n",))], {}).requests[0].stop is None
    said = "The answer is:\n\nItaly"
    seen_by(None, {"message": {"content": said}}, (said,), stop=("\n",))


def test_another_chat_template_is_another_model():
    digests = [framing_of("chat", templated(template), "x").digest for template in (CHATML, LLAMA, GEMMA)]
    assert len({*digests, framing_of("plain", None, "x").digest}) == 4


# Servers.


def seen_by(name, answer, texts=("Italy",), stop=None, **more):
    """Return what a server was sent for an instructed request, whose texts are those given."""
    calls = []

    def listen(call):
        if call.method == "POST":
            calls.append(call.body)
            return Reply.of({"choices": [answer]})
        return Reply.of({"data": [{"id": "tiny"}]})

    with Wire(listen).running() as url:
        server = ApiAnswerer(AnswerOptions(api=url, kinds=("generate",), wrapper=name, **more))
        request = dataclasses.replace(instructed(1, options=("Italy", "Peru"), stop=stop), context_id="p")
        [response] = server.answer([request], PASSAGE)
    assert (response.status, response.texts) == ("ok", texts)
    return calls[-1], server.record()["wrapper"]


def test_a_chat_server_is_sent_a_turn_of_the_system_and_one_of_the_user():
    sent, said = seen_by(None, {"message": {"content": "Italy"}})
    system = f"{PASSAGE['p']}\n{INSTRUCTION}\nChoices:\n  - Italy\n  - Peru"
    assert sent["messages"] == [
        {"role": "system", "content": system},
        {"role": "user", "content": "Where is Rome?"},
    ]
    assert said == f"chat {Framing('chat', find('chat')).digest}"
    sent, said = seen_by("chat_user", {"message": {"content": "Italy"}})
    assert sent["messages"] == [{"role": "user", "content": f"{system}\n\nWhere is Rome?"}]
    assert said.startswith("chat_user ")


def test_a_server_that_continues_texts_is_sent_the_wrapped_text():
    sent, _ = seen_by("vicuna", {"text": "Italy"}, api_generate_with="completions")
    lines = [PASSAGE["p"], INSTRUCTION, "Choices:", "  - Italy", "  - Peru", "HUMAN: Where is Rome?", "ASSISTANT:"]
    assert sent["prompt"] == "\n".join(lines)


def test_a_server_whose_tokenizer_is_known_is_sent_token_ids_with_one_bos(tmp_path):
    """A text is given BOS by the server, and this template writes one of its own."""
    words = templated(LLAMA)
    words.save_pretrained(tmp_path)
    sent, _ = seen_by("chat", {"text": "Italy"}, api_generate_with="completions", api_tokenizer=str(tmp_path))
    assert sent["prompt"][0] == words.bos_token_id and sent["prompt"].count(words.bos_token_id) == 1
    assert words.decode(sent["prompt"]).endswith("Where is Rome? [/INST]")
    plain, _ = seen_by("plain", {"text": "Italy"}, api_generate_with="completions", api_tokenizer=str(tmp_path))
    assert isinstance(plain["prompt"], str), "to which the server adds BOS"


def test_another_models_tokenizer_is_refused_where_a_server_only_writes(tmp_path):
    own, other = templated(LLAMA), templated(LLAMA, metaspace)
    own.save_pretrained(tmp_path / "own")
    other.save_pretrained(tmp_path / "other")

    def write(call):
        """End with what was read last, ids by the served model's tokenizer."""
        if call.method != "POST":
            return Reply.of({"data": [{"id": "tiny"}]})
        read = call.body["prompt"]
        return Reply.of({"choices": [{"text": (read if isinstance(read, str) else own.decode(read))[-8:]}]})

    with Wire(write).running() as url:
        options = {"api": url, "kinds": ("generate",), "wrapper": "chat", "api_generate_with": "completions"}
        ApiAnswerer(AnswerOptions(**options, api_tokenizer=str(tmp_path / "own")))
        with pytest.raises(AlmanacError, match="writes something else than after their token ids by api_tokenizer"):
            ApiAnswerer(AnswerOptions(**options, api_tokenizer=str(tmp_path / "other")))


@pytest.mark.parametrize("by_ids", [False, True], ids=["text", "ids"])
def test_a_server_scores_instructed_choices_as_a_local_model_does(model, checkpoint, by_ids):
    request = instructed(1, kind="choices", choices=("Paris", "Italy"))
    own = load(str(checkpoint("llama")), AnswerOptions(device="cpu", wrapper="question_answer"))
    with reference_wire(model("llama")).running() as url:
        options = AnswerOptions(
            api=url,
            kinds=("choices",),
            wrapper="question_answer",
            api_generate_with="completions",
            api_tokenizer=str(checkpoint("llama")) if by_ids else None,
        )
        [found] = ApiAnswerer(options).answer([request], {})
        [wanted] = LocalAnswerer(own).answer([request], {})
        assert found.logprobs == pytest.approx(wanted.logprobs, abs=1e-4)
        # Only the server knows its own chat template.
        [found] = ApiAnswerer(AnswerOptions(api=url, kinds=("choices",))).answer([request], {})
        assert (found.status, "api_tokenizer" in found.reason) == ("unsupported", True)


def test_a_text_is_no_chat():
    with pytest.raises(AlmanacError, match=r"wrapper: alpaca is one text.* set api_generate_with: completions"):
        ApiAnswerer(AnswerOptions(api="http://127.0.0.1:9/v1", wrapper="alpaca"))
    with pytest.raises(AlmanacError, match="the tokenizer has no chat template"):
        ApiAnswerer(AnswerOptions(api="http://127.0.0.1:9/v1", wrapper="chat", api_generate_with="completions"))
