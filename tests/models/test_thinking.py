"""Models that think before they answer are asked for the answer, and a text that ends before it is never judged."""

from dataclasses import replace

import pytest
from tests.models import thinkers
from tests.models.servers import Reply, Wire
from tests.models.thinkers import ANSWER, BARE, CLOSED, FINAL, GEMMA4, GRANITE, HARMONY, MAGISTRAL, QWEN3, R1

from almanac import tables
from almanac.cli import main
from almanac.errors import AlmanacError
from almanac.models.answering import LocalAnswerer
from almanac.models.api import ApiAnswerer
from almanac.models.framing import framing_of
from almanac.models.options import AnswerOptions
from almanac.models.registry import load
from almanac.models.scoring import generation
from almanac.models.scoring.boundaries import full_text
from almanac.models.scoring.forest.machines import TreeMachine
from almanac.models.scoring.samples import Prompt
from almanac.models.stopping import BLOCKS, after_thinking, thinks
from almanac.models.tokens import Tokens
from almanac.models.wrappers import find
from almanac.rows import Context, Request, Response

ROOM = 40  # Tokens in which the model comes to its answer.
SWITCH, OPENED = "off: the chat template has a switch for it", "off: what the chat template opens for it is closed"
TURN = "<|im_start|>assistant\n"
FORMS = {"bare": BARE, "qwen3": QWEN3, "r1": R1, "granite": GRANITE, "harmony": HARMONY}
FORMS |= {"gemma4": GEMMA4, "magistral": MAGISTRAL}


@pytest.fixture(scope="module")
def thinker(tmp_path_factory):
    """Return a function that makes the folder of a model that thinks, once."""
    made = {}

    def make(template, special=False):
        if (template, special) not in made:
            made[template, special] = thinkers.make(tmp_path_factory.mktemp("thinker"), FORMS[template], special)
        return made[template, special]

    return make


def asked(number=1, **more):
    given = {"kind": "generate", "max_new_tokens": 4, "stop": ("\n",)} | more
    return Request(f"{number}", context_id=None, text="Where is Rome?", instruction="", **given)


def answered(folder, *requests, **settings):
    return LocalAnswerer(load(str(folder), AnswerOptions(device="cpu", **settings))).answer(requests, {})


def ending(framing, **more):
    [request] = framing.arrange([asked(**more)], {}).requests
    return full_text(request, framing.arrange([asked(**more)], {}).contexts).partition("Where is Rome?")[2]


@pytest.mark.parametrize(
    ("template", "off", "on", "told"),
    [
        (BARE, TURN, TURN, None),
        (QWEN3, TURN + CLOSED, TURN, SWITCH),
        (GRANITE, TURN, TURN + "<think>\n", SWITCH),
        (R1, TURN + CLOSED, TURN + "<think>\n", OPENED),
        (HARMONY, "<|start|>assistant" + FINAL, "<|start|>assistant", OPENED),
    ],
)
def test_an_answer_begins_outside_of_thinking_unless_the_model_is_let_think(template, off, on, told):
    words = thinkers.tokenizer(template)
    quiet, thinking = framing_of(None, words, "x"), framing_of(None, words, "x", thinking=8)
    choices = {"kind": "choices", "choices": ("Italy", "Peru"), "max_new_tokens": None, "stop": None}
    assert [ending(quiet), ending(quiet, **choices), ending(thinking, **choices)] == [
        "<|im_end|>\n" + off if template is not HARMONY else "<|end|>" + off
    ] * 3
    assert ending(thinking).endswith(on)
    assert (quiet.thinking_mode, thinking.thinking_mode) == (told, "at most 8 tokens before an answer")
    same = [find("chat").digest, [template, False]]
    assert quiet.digest == tables.identity([*same, told] if told else same)
    assert thinking.digest not in (quiet.digest, framing_of(None, words, "x", thinking=9).digest)


@pytest.mark.parametrize(
    ("text", "ends", "answer"),
    [
        ("Italy", None, "Italy"),
        (" \nItaly", None, " \nItaly"),
        ("I think <think> is a tag", None, "I think <think> is a tag"),
        ("<think>\nHm.\n</think>\n\nItaly", None, "Italy"),
        ("\n<think></think> Italy", None, "Italy"),
        ("<think>a</think><think>b</think>Italy", None, "Italy"),
        ("<think>\nItaly", None, None),
        ("Italy", "</think>", None),
        ("Hm. </think>\nItaly", "</think>", "Italy"),
        ("<think>\nIt ends in [/THINK] or in <channel|>. </think>\nItaly", "[/THINK]", "Italy"),
        ("[THINK]Hm.[/THINK]Italy", None, "Italy"),
        ("[THINK]Hm. </think>", None, None),
        ("<|channel>thought\nHm.\n<channel|>Italy", None, "Italy"),
        ("<|channel>thought\n<channel|>\nItaly", None, "Italy"),
        ("<|channel>thought\nItaly", None, None),
        ("<|channel|>analysis<|message|>Hm.assistant<|channel|>final<|message|>Italy", None, "Italy"),
        ("<|channel|>final<|message|>Italy", None, "Italy"),
        ("<|channel|>analysis<|message|>Italy", None, None),
        ("", None, ""),
    ],
)
def test_an_answer_is_what_follows_the_thinking(text, ends, answer):
    assert after_thinking(text, ends) == answer


@pytest.mark.parametrize(
    ("text", "does"),
    [
        ("Italy", False),
        ("<think>\n\n</think>\n\nItaly", False),
        ("<|channel>thought\n<channel|>Italy", False),
        ("<|channel|>final<|message|>Italy", False),
        ("<think>Hm.</think>Italy", True),
        ("<|channel>thought\nHm.<channel|>Italy", True),
        ("<|channel|>analysis<|message|>Hm.<|channel|>final<|message|>Italy", True),
        ("[THINK]Hm", True),
    ],
)
def test_an_empty_block_is_no_thinking(text, does):
    assert thinks(text) == does


@pytest.mark.parametrize("special", [False, pytest.param(True, marks=pytest.mark.whole)], ids=["plain", "special"])
@pytest.mark.parametrize("template", ["bare", "qwen3", "r1", "harmony", "gemma4", "magistral"])
def test_thinking_is_no_answer_and_what_is_cut_off_in_it_fails(thinker, template, special):
    folder = thinker(template, special)
    [short] = answered(folder, asked())
    if template in ("bare", "magistral"):
        # Nothing says that it thinks: it does.
        assert short.status == "failed"
        assert short.texts is None
        assert short.reason.startswith(
            "the model thinks before it answers, and its text ends before the answer does (4 "
        )
        [whole] = answered(folder, asked(max_new_tokens=ROOM))
        assert (whole.status, whole.texts) == ("ok", (ANSWER,))
    elif template == "gemma4":  # An empty block of thinking is none, though it needs room.
        [whole] = answered(folder, asked(max_new_tokens=12))
        assert (whole.status, whole.texts) == ("ok", (ANSWER,))
    else:
        assert (short.status, short.texts) == ("ok", (ANSWER,))
    [cut] = answered(folder, asked(), thinking_tokens=4)
    assert (cut.status, "(8 new tokens at most)" in cut.reason) == ("failed", True)
    [thought] = answered(folder, asked(samples=2), thinking_tokens=ROOM)
    assert (thought.status, thought.texts) == ("ok", (ANSWER, ANSWER))


@pytest.mark.parametrize("way", [TreeMachine, lambda model: None], ids=["shared_prefix", "own_cache"])
def test_what_an_answer_may_be_long_is_counted_from_its_beginning(thinker, way):
    model = load(str(thinker("bare")), AnswerOptions(device="cpu"))
    (chat, _), (closed, _), *_ = thinkers.texts(model.tokens.tokenizer)

    def written(text, new, thinking, stop=(), opened=None):
        ids, _ = model.wrap(model.tokens.ids(text))
        return generation.generate(model, [Prompt(ids, new, stop, 0.0, (0,), thinking, opened)], way(model))[0][0]

    first = written(closed, 1, 0)
    assert ANSWER.startswith(first) and first != ANSWER
    assert written(chat, 1 + ROOM, ROOM) == first
    assert written(chat, 1 + ROOM, ROOM, ("\n",)) == first
    assert written(chat + "<think>\n", 1 + ROOM, ROOM, opened="</think>") == first
    assert written(chat, 4 + ROOM, ROOM, ("y",)) == ANSWER[:-1]
    # One token less than it needs: the answer, too, would be cut off, and shorter than was asked for.
    needed = next(new for new in range(1, ROOM) if written(chat, new, 0) is not None)
    assert written(chat, needed, 0) == ANSWER
    assert written(chat, needed - 1, 0) is None


def test_choices_are_scored_after_the_thinking_that_the_template_opens(thinker):
    folder = thinker("r1")
    choices = {"kind": "choices", "choices": (ANSWER, "Peru"), "max_new_tokens": None, "stop": None}
    (chat, _), (closed, _), *_ = thinkers.texts(thinkers.tokenizer(R1))
    asking = [Request(text, "choices", None, text, choices=(ANSWER, "Peru")) for text in (closed, chat + "<think>\n")]
    found, right, within = answered(folder, asked(**choices), *asking)
    assert found.logprobs == pytest.approx(right.logprobs, abs=1e-5)
    assert right.logprobs[0] > -0.5 > within.logprobs[0] + 1
    [thinking] = answered(folder, asked(**choices), thinking_tokens=ROOM)
    assert thinking.logprobs == pytest.approx(found.logprobs, abs=1e-5)  # In another batch.


def test_a_text_that_is_too_long_with_its_thinking_is_too_long(thinker):
    assert [answered(thinker("r1"), asked(), thinking_tokens=room)[0].status for room in (100, 190)] == [
        "ok",
        "too_long",
    ]


def test_a_response_file_says_what_becomes_of_thinking(thinker, tmp_path):
    tables.write(tmp_path / "contexts.parquet", Context, [])
    tables.write(tmp_path / "requests.parquet", Request, [asked()])

    def answer(name, *more):
        files = ["--requests", tmp_path / "requests.parquet", "--contexts", tmp_path / "contexts.parquet"]
        command = ["answer", "--model", thinker("r1"), "--device", "cpu", "--threads", "1", *files, *more]
        assert main([str(word) for word in (*command, "--output", tmp_path / name)]) == 0
        [response] = tables.read(tmp_path / name, Response)
        return response, tables.read_metadata(tmp_path / name)["almanac.thinking"]

    quiet, said = answer("off.parquet")
    assert (quiet.texts, said) == ((ANSWER,), OPENED)
    thought, said = answer("on.parquet", "--thinking-tokens", ROOM)
    assert (thought.texts, said) == ((ANSWER,), f"at most {ROOM} tokens before an answer")
    assert thought.model_digest != quiet.model_digest


@pytest.mark.parametrize("special", [False, True], ids=["plain", "special"])
@pytest.mark.parametrize(("begin", "end"), BLOCKS.items())
def test_of_special_tokens_only_those_that_mark_thinking_stand_in_a_text(special, begin, end):
    tokens = Tokens(thinkers.tokenizer(BARE, special))
    text = f"<s>{begin}a<|im_end|>{end}<unk>b</s>"
    assert tokens.decode(tokens.ids(text)) == f"{begin}a{end}b"
    assert tokens.decode(tokens.ids("<s>a<|im_end|><unk>b</s>")) == "ab"


# Servers.


def test_what_was_whole_with_fewer_tokens_to_think_with_is_not_paid_for_again(tmp_path):
    """A server that thinks unseen, of one question longer than of others."""

    def answer(call):
        if call.method == "GET":
            return Reply.of({"data": [{"id": "m"}]})
        short = call.body["max_tokens"] < (1000 if "Peru" in str(call.body) else 200)
        said = ("", "length") if short else (ANSWER, "stop")
        return Reply.of({"choices": [{"message": {"content": said[0]}, "finish_reason": said[1]}]})

    questions = [replace(asked(at), text=text) for at, text in enumerate(("Rome?", "Peru?", "Lima?"))]
    tables.write(tmp_path / "contexts.parquet", Context, [])
    tables.write(tmp_path / "requests.parquet", Request, questions)
    wire = Wire(answer)

    def told(url, tokens):
        """The rows, and which questions were asked for them."""
        wire.calls.clear()
        files = ["--requests", tmp_path / "requests.parquet", "--contexts", tmp_path / "contexts.parquet"]
        words = ["answer", "--api", url, "--kinds", "generate", "--thinking-tokens", tokens, *files]
        assert main([str(word) for word in (*words, "--output", tmp_path / "out.parquet")]) == 0
        rows = tables.read(tmp_path / "out.parquet", Response)
        assert {row.model_digest for row in rows} == {tables.read_metadata(tmp_path / "out.parquet")["almanac.model"]}
        asked = [text for text in ("Rome?", "Peru?", "Lima?") if any(text in str(body) for body in wire.bodies)]
        return [row.status for row in rows], asked

    with wire.running() as url:
        assert told(url, 512) == (["ok", "failed", "ok"], ["Rome?", "Peru?", "Lima?"])
        assert told(url, 1024) == (["ok", "ok", "ok"], ["Peru?"])
        assert told(url, 512) == (["ok", "failed", "ok"], ["Peru?"]), "more tokens are no proof that fewer would do"
        assert told(url, 1024) == (["ok", "ok", "ok"], [])


def served(folder, field, request=None, **more):
    """Return the response of a server, and what it was sent."""
    wire = thinkers.wire(folder, field)
    with wire.running() as url:
        server = ApiAnswerer(AnswerOptions(api=url, kinds=("generate",), **more))
        [response] = server.answer([request or asked(stop=("\n", "Peru"))], {})
    return response, wire.bodies[-1]


@pytest.mark.parametrize("field", ["reasoning", "reasoning_content", None])
@pytest.mark.parametrize("template", ["bare", "r1"])
def test_a_servers_thinking_needs_room_and_is_no_answer(thinker, template, field):
    folder = thinker(template)
    if (template, field) != ("r1", None):  # This one is refused for another reason.
        with pytest.raises(AlmanacError, match="leave no room for that; set thinking_tokens: 4096, or switch"):
            served(folder, field)
    short, _ = served(folder, field, thinking_tokens=4)
    assert short.status == "failed"
    whole, sent = served(folder, field, thinking_tokens=ROOM)
    assert (whole.status, whole.texts) == ("ok", (ANSWER,))
    assert (sent["max_tokens"], "stop" in sent) == (4 + ROOM, False)


@pytest.mark.parametrize("field", ["reasoning", None])
@pytest.mark.parametrize("template", ["bare", "r1"])
def test_a_servers_answer_is_as_long_as_a_local_models_where_its_tokens_can_be_counted(thinker, template, field):
    folder, request = thinker(template), asked(max_new_tokens=1)
    [local] = answered(folder, request, thinking_tokens=ROOM)
    counted, _ = served(folder, field, request, thinking_tokens=ROOM, api_tokenizer=str(folder))
    every, _ = served(folder, field, request, thinking_tokens=ROOM)
    assert (counted.status, counted.texts) == ("ok", local.texts) != ("ok", (ANSWER,))
    assert every.texts == (ANSWER,)


@pytest.mark.parametrize(
    ("template", "special", "room", "message"),
    [
        ("r1", False, 0, "thinking that is cut off looks like an answer"),
        ("harmony", False, ROOM, "it leaves out the tags that separate"),
        ("gemma4", True, 0, "it leaves out the tags that separate"),
    ],
)
def test_a_server_that_hides_where_thinking_ends_is_refused(thinker, template, special, room, message):
    with pytest.raises(AlmanacError, match=message):
        served(thinker(template, special), None, thinking_tokens=room)


def test_a_servers_thinking_is_switched_off_by_its_template_or_by_a_text_with_nothing_to_think(thinker):
    off, sent = served(thinker("qwen3"), "reasoning", api_extra=('chat_template_kwargs={"enable_thinking": false}',))
    assert (off.status, off.texts) == ("ok", (ANSWER,))
    folder = thinker("r1")
    closed, sent = served(folder, None, api_generate_with="completions", api_tokenizer=str(folder))
    assert (closed.status, closed.texts) == ("ok", (ANSWER,))
    assert sent["prompt"].endswith(TURN + CLOSED)
    with_room = {"api_generate_with": "completions", "api_tokenizer": str(folder), "thinking_tokens": ROOM}
    thought, sent = served(folder, None, **with_room)
    assert (thought.texts, sent["prompt"].endswith(TURN + "<think>\n")) == ((ANSWER,), True)


def test_an_empty_answer_of_a_chat_that_the_limit_ended_was_spent_on_hidden_thinking(thinker):
    wire = thinkers.wire(thinker("bare"), "hidden")  # As vendors do, who do not show it.
    with wire.running() as url:
        [found] = ApiAnswerer(AnswerOptions(api=url, kinds=("generate",))).answer([asked()], {})
    assert (found.status, "raise thinking_tokens" in found.reason) == ("failed", True)


def hidden(thought, lacking=lambda call: True):
    """A server that thinks unseen, so that its chats are empty without room; it may count the tokens of that."""

    def answer(call):
        if call.method == "GET":
            return Reply.of({"data": [{"id": "m"}]})
        told = {"usage": {"completion_tokens_details": {"reasoning_tokens": thought}}}
        if call.body["max_tokens"] < 200 and lacking(call):
            return Reply.of({"choices": [{"message": {"content": ""}, "finish_reason": "length"}]} | told)
        return Reply.of({"choices": [{"message": {"content": ANSWER}, "finish_reason": "stop"}]} | told)

    return Wire(answer)


def test_a_server_that_counts_tokens_of_hidden_thinking_is_refused_before_anything_is_asked():
    wire = hidden(128)
    with wire.running() as url:
        with pytest.raises(AlmanacError, match="leave no room for that; set thinking_tokens: 4096, or switch"):
            ApiAnswerer(AnswerOptions(api=url, kinds=("generate",)))
        assert len(wire.bodies) == 2
        [found] = ApiAnswerer(AnswerOptions(api=url, kinds=("generate",), thinking_tokens=512)).answer([asked()], {})
        extra = AnswerOptions(api=url, kinds=("generate",), api_extra=("max_tokens=512",))
        assert ApiAnswerer(extra).answer([asked()], {})[0].texts == found.texts == (ANSWER,)


@pytest.mark.parametrize("told", [0, None])
def test_a_run_ends_whose_first_answers_all_end_within_hidden_thinking(told):
    wire, many = hidden(told), [replace(asked(), request_id=str(number)) for number in range(60)]
    with wire.running() as url:
        answerer = ApiAnswerer(AnswerOptions(api=url, kinds=("generate",), api_concurrency=2))
        with pytest.raises(AlmanacError, match="the first 16 answers failed: the model thinks before it"):
            answerer.answer(many, {})
    assert len(wire.bodies) < 25
    with hidden(
        told, lambda call: call.body["max_tokens"] == 1 or thinkers.QUESTION in str(call.body)
    ).running() as url:
        found = ApiAnswerer(AnswerOptions(api=url, kinds=("generate",))).answer(many, {})
    assert {one.status for one in found} == {"failed"}, "others may be answered"
