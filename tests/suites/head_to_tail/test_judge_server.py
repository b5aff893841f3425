"""The judge behind transformers' own server, which dies half-way: its verdicts stay, and the rest is asked again."""

import contextlib

import pytest
from tests.models.servers import Reply, Wire, transformers_server
from tests.models.tiny_networks import llama
from tests.models.tiny_tokenizers import byte_level
from tests.suites.head_to_tail.world import knows_the_head, trial

from almanac import tables
from almanac.cli import main
from almanac.rows import Response

SAID = 5  # calls that are answered before the server dies


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    """A model of random weights that reads prompts of some length: what it says of an answer is no verdict."""
    folder = tmp_path_factory.mktemp("models") / "judge"
    words = byte_level()
    words.chat_template = "{% for message in messages %}{{ message['content'] }}\n{% endfor %}"
    words.save_pretrained(folder)
    llama(len(words), 8192).save_pretrained(folder)
    return folder


@pytest.mark.whole
def test_a_judge_whose_server_dies_half_way_is_asked_the_rest_by_the_next_run(checkpoint, tmp_path, capsys):
    asked = trial(tmp_path, judge="j", cap=2).answer(knows_the_head).ask()
    questions = asked.requests(1)
    output = tmp_path / "said.parquet"
    (requests,) = asked.rounds[1].requests
    words = ["answer", "--requests", str(requests), "--contexts", str(requests.parent / "contexts.parquet")]
    words += ["--output", str(output), "--api-model", str(checkpoint), "--kinds", "generate"]
    words += ["--api-retries", "0", "--api-concurrency", "1"]
    heard, server = [], contextlib.ExitStack()

    def pass_on(call):
        text = (call.body or {}).get("messages", [{}])[-1].get("content")
        if text is not None and len(heard) == SAID:
            server.close()
        try:
            reply = call.pass_on(target)
        except ConnectionError:
            return Reply(200, b"{}", cut=True)
        if text is not None:
            heard.append(text)
        return reply

    second = contextlib.ExitStack()
    target = server.enter_context(transformers_server(checkpoint, tmp_path / "first.log"))
    with Wire(pass_on).running() as url, second:
        assert main([*words, "--api", url]) == 1
        assert "see whether the server is up" in capsys.readouterr().err
        assert len(heard) == SAID and not output.exists()
        heard.append("the next run has begun")
        target = second.enter_context(transformers_server(checkpoint, tmp_path / "second.log"))
        assert main([*words, "--api", url]) == 0
    said = tables.read(output, Response)
    assert {row.request_id for row in said if row.status == "ok"} == set(questions)
    paid = {text for text in heard[:SAID] if "Prediction" in text}
    assert paid and not paid & set(heard[SAID:]), "what was paid for is not asked again"
    judged = [row for row in asked.respond(said).outcomes() if row.reading == "judge"]
    assert judged and not [row for row in judged if row.outcome == "error"]
