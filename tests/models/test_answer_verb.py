"""The verb `answer`: requests stream through, a killed run goes on to the same bytes, files say what made them."""

import collections
import gc
import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import almanac
from almanac import sealed, tables, unfinished
from almanac.cli import main
from almanac.errors import INTERRUPTED
from almanac.models import windows
from almanac.models.answering import LocalAnswerer
from almanac.models.digest import digests, tokenizer_digest
from almanac.rows import Context, Request, Response
from almanac.suites.asked import Asked
from almanac.tables import identity
from almanac.verbs import answer as verb

CONTEXTS = [Context(identity(text), text) for text in ("Paris is the capital of France.", "The clock of Bordira is")]
WINDOW = 5
KEPT = 3
# A process of its own with windows of a few requests, which is killed when it has answered one more than it has kept.
KILLED = f"""
import os, signal, sys
sys.path.insert(0, sys.argv[1])
from almanac.cli import main
from almanac.models import windows
from almanac.models.parts import DoneParts
windows.REQUESTS = {WINDOW}
add = DoneParts.add
def add_or_die(parts, responses):
    if len(parts.paths) == {KEPT}:
        os.kill(os.getpid(), int(sys.argv[2]))
    add(parts, responses)
DoneParts.add = add_or_die
sys.exit(main(sys.argv[3:]))
"""


def requests_of(count):
    """Requests of every kind, most of them choices, in the order in which `ask` writes them."""
    asked = Asked()
    for index in range(count):
        context_id = None if index % 3 == 2 else CONTEXTS[index % 2].context_id
        asked.request(Request("", "choices", context_id, f" Item {index} is", (" red", " 3M")))
    asked.request(Request("", "spans", None, "Paris is red", span_starts=(0,), span_ends=(5,)))
    asked.request(Request("", "generate", None, "Paris is", max_new_tokens=3))
    asked.request(Request("", "fill", None, "Paris is [MASK]", top_k=2))
    rows = tables.from_arrow(Request, asked.take().requests)
    return sorted(rows, key=lambda row: (row.kind, row.context_id or "", row.text, row.request_id))


@pytest.fixture
def job(tmp_path, monkeypatch):
    """Write requests and contexts; return a function that gives the command for an output."""
    monkeypatch.setattr(windows, "REQUESTS", WINDOW)
    tables.write(tmp_path / "requests-0.parquet", Request, requests_of(30))
    tables.write(tmp_path / "contexts.parquet", Context, CONTEXTS)

    def command(checkpoint, output, *more):
        words = ["answer", "--model", checkpoint, "--requests", tmp_path / "requests-0.parquet", "--threads", 1]
        words += ["--contexts", tmp_path / "contexts.parquet", "--output", tmp_path / output, "--device", "cpu", *more]
        return [str(word) for word in words]

    return command


def test_every_request_has_its_response_in_its_place(job, checkpoint, model, tmp_path, capsys):
    assert main(job(checkpoint("llama"), "out.parquet")) == 0
    asked = tables.read(tmp_path / "requests-0.parquet", Request)
    found = tables.read(tmp_path / "out.parquet", Response)
    assert [one.request_id for one in found] == [one.request_id for one in asked]
    answerer = LocalAnswerer(model("llama"))
    texts = {one.context_id: one.text for one in CONTEXTS}
    for one, whole in zip(found, answerer.answer(asked, texts), strict=True):
        assert (one.status, one.texts, one.tokens, one.token_counts) == (
            whole.status,
            whole.texts,
            whole.tokens,
            whole.token_counts,
        )
        assert (one.logprobs or ()) == pytest.approx(whole.logprobs or (), abs=5e-5)
    assert "33 requests: {'ok': 33}" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["contexts.parquet", "out.parquet", "requests-0.parquet"]


def test_the_file_says_what_made_it(job, checkpoint, model, tmp_path):
    folder = checkpoint("llama")
    assert main(job(folder, "out.parquet", "--engine", "reference")) == 0
    said = tables.read_metadata(tmp_path / "out.parquet")
    assert said["almanac.model"] == model("llama").digest
    assert said["almanac.weights"] == digests(folder, "float32", "x").weights
    assert said["almanac.tokenizer"] == tokenizer_digest(folder)
    assert said["almanac.requests"] == sealed.sha256(tmp_path / "requests-0.parquet")
    assert said["almanac.contexts"] == sealed.sha256(tmp_path / "contexts.parquet")
    assert (said["almanac.dtype"], said["almanac.device"]) == ("float32", "cpu")
    assert said["almanac.engine"] == "reference/1"
    assert {"almanac.torch", "almanac.transformers", "almanac.version"} <= set(said)
    assert {row.model_digest for row in tables.read(tmp_path / "out.parquet", Response)} == {said["almanac.model"]}


def test_the_self_test_is_part_of_what_is_said(job, checkpoint, tmp_path):
    assert main(job(checkpoint("llama"), "out.parquet")) == 0
    said = tables.read_metadata(tmp_path / "out.parquet")
    assert said["almanac.engine"].startswith("forest/")
    assert "nats" in said["almanac.self_test"]


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_lower_precision_is_another_model_and_said(job, checkpoint, model, tmp_path, dtype):
    assert main(job(checkpoint("llama"), "out.parquet", "--dtype", dtype)) == 0
    said = tables.read_metadata(tmp_path / "out.parquet")
    assert said["almanac.dtype"] == dtype
    assert said["almanac.model"] != model("llama").digest
    assert said["almanac.weights"] == digests(checkpoint("llama"), "float32", "x").weights
    assert {row.status for row in tables.read(tmp_path / "out.parquet", Response)} == {"ok"}


@pytest.mark.parametrize(("number", "status"), [(signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, 130)])
def test_a_stopped_run_goes_on_to_the_bytes_of_an_unbroken_one(job, checkpoint, tmp_path, capsys, number, status):
    command = job(checkpoint("llama"), "out.parquet")
    script = [sys.executable, "-c", KILLED, str(Path(almanac.__file__).parents[1]), str(int(number)), *command]
    run = subprocess.run(script, capture_output=True, env=os.environ | {"OMP_NUM_THREADS": "1"}, check=False, text=True)
    assert run.returncode == status, run.stderr
    assert "Traceback" not in run.stderr
    assert run.stderr.endswith(f"almanac answer: {INTERRUPTED}\n") == (number == signal.SIGINT)
    parts = tmp_path / ".out.parquet.parts"
    assert len(list(parts.glob("*/0*.parquet"))) == KEPT
    assert not (tmp_path / "out.parquet").exists()
    assert main(command) == 0
    assert f"{KEPT * WINDOW} of 33 requests were answered before; going on" in capsys.readouterr().err
    assert not parts.exists()
    assert main(job(checkpoint("llama"), "unbroken.parquet")) == 0
    assert (tmp_path / "out.parquet").read_bytes() == (tmp_path / "unbroken.parquet").read_bytes()


class Recording:
    """The real answerer, which counts what it is asked and what is held meanwhile."""

    def __init__(self, answerer, stop_after=None, paid=False):
        self.answerer, self.stop_after, self.is_paid = answerer, stop_after, paid
        self.asked, self.alive = [], []
        self.digest, self.record, self.reusable_digests = answerer.digest, answerer.record, answerer.reusable_digests

    def answer(self, requests, contexts, on_progress=None, keep=None):
        if self.stop_after is not None and len(self.asked) == self.stop_after:
            raise InterruptedError
        self.asked.append([one.request_id for one in requests])
        if len(self.asked) % 8 == 1:  # Looking at every object takes longer than answering.
            self.alive.append(held())
        return self.answerer.answer(requests, contexts, on_progress, keep)


def answered(folder, answerer, output="out.parquet", reuse=None, kinds=("choices", "spans", "generate", "fill")):
    files = verb.Files(folder / "requests-0.parquet", folder / "contexts.parquet", folder / output, reuse)
    verb.answer_parts(answerer, files, windows.survey(files.requests, files.contexts), kinds)()
    return files.output


@pytest.fixture
def no_earlier_objects():
    """Let `gc.get_objects` give what is made from here on alone: half a million objects are there before."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def held():
    kinds = collections.Counter(type(one) for one in gc.get_objects())
    return kinds[Request], kinds[Response]


@pytest.mark.parametrize("count", [10, 100, 1000])
def test_what_is_held_does_not_grow_with_the_file(job, model, no_earlier_objects, tmp_path, count, monkeypatch):
    """The window and the one before it, at 10 requests and at 1,000: `benchmarks/memory.py` at a thousandth."""
    monkeypatch.setattr(windows, "REQUESTS", 16)
    tables.write(tmp_path / "requests-0.parquet", Request, requests_of(count))
    recording = Recording(LocalAnswerer(model("llama"), "reference"))
    gc.collect()
    asked, given = held()
    answered(tmp_path, recording)
    assert sum(map(len, recording.asked)) == count + 3
    assert max(one for one, _ in recording.alive) - asked <= 2 * windows.REQUESTS
    assert max(one for _, one in recording.alive) - given <= 2 * windows.REQUESTS


def test_a_run_that_stopped_asks_only_what_is_left(job, model, tmp_path):
    answerer = LocalAnswerer(model("llama"), "reference")
    whole = answered(tmp_path, Recording(answerer), "whole.parquet")
    first, second = Recording(answerer, stop_after=4), Recording(answerer)
    with pytest.raises(InterruptedError):
        answered(tmp_path, first)
    assert answered(tmp_path, second).read_bytes() == whole.read_bytes()
    ids = [one.request_id for one in tables.read(tmp_path / "requests-0.parquet", Request)]
    assert [one for window in first.asked + second.asked for one in window] == ids


def test_one_process_at_a_time_answers_a_file(job, checkpoint, tmp_path, capsys):
    """A job that has outlived its run answers what the next run would ask, too."""
    command = job(checkpoint("llama"), "out.parquet")
    words = [sys.executable, "-m", "almanac", *command]
    with unfinished.alone(tmp_path / "out.parquet"):
        second = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
        said = (
            f"another process makes it (process {os.getpid()} on {socket.gethostname()}); waiting until that has ended"
        )
        while said not in (line := second.stderr.readline()):
            assert line, "it ended"
        assert main([*command[: command.index("--output")], "--output", str(tmp_path / "made.parquet")]) == 0
        (tmp_path / "made.parquet").rename(tmp_path / "out.parquet")
        before = (tmp_path / "out.parquet").read_bytes()
    assert "is there already, of these requests and this model; it stays" in second.communicate(timeout=600)[1]
    assert (second.returncode, (tmp_path / "out.parquet").read_bytes()) == (0, before)
    assert sorted(path.name for path in tmp_path.glob(".*")) == []


@pytest.mark.parametrize("change", ["model", "requests", "contexts", "kinds", "engine"])
def test_the_parts_of_another_job_are_not_gone_on_with(job, model, tmp_path, change):
    first = Recording(LocalAnswerer(model("llama"), "reference"), stop_after=4)
    with pytest.raises(InterruptedError):
        answered(tmp_path, first)
    if change == "requests":
        tables.write(tmp_path / "requests-0.parquet", Request, requests_of(29))
    if change == "contexts":
        tables.write(tmp_path / "contexts.parquet", Context, [*CONTEXTS, Context("c", "more")])
    other = model("gpt2" if change == "model" else "llama")
    second = Recording(LocalAnswerer(other, "prefix_cache" if change == "engine" else "reference"))
    answered(tmp_path, second, kinds=("choices",) if change == "kinds" else ("choices", "spans", "generate", "fill"))
    asked = tables.read(tmp_path / "requests-0.parquet", Request)
    wanted = [one.request_id for one in asked if change != "kinds" or one.kind == "choices"]
    assert [one for window in second.asked for one in window] == wanted


def test_exact_matches_are_copied_and_the_rest_is_asked(job, model, tmp_path, capsys):
    answerer = LocalAnswerer(model("llama"), "reference")
    earlier = answered(tmp_path, answerer, "earlier.parquet")
    everything = answered(tmp_path, recording := Recording(answerer), "copied.parquet", earlier)
    assert [one for window in recording.asked for one in window] == []
    assert tables.read(everything, Response) == tables.read(earlier, Response)
    assert f"33 responses were copied from {earlier}" in capsys.readouterr().err
    tables.write(tmp_path / "requests-0.parquet", Request, requests_of(40))
    answered(tmp_path, more := Recording(answerer), "more.parquet", earlier)
    assert len([one for window in more.asked for one in window]) == 10


def test_a_kind_that_the_model_is_declared_not_to_answer_is_declined(job, model, tmp_path):
    recording = Recording(LocalAnswerer(model("llama"), "reference"))
    found = tables.read(answered(tmp_path, recording, kinds=("spans", "fill")), Response)
    assert collections.Counter(one.status for one in found) == {"unsupported": 31, "ok": 2}
    assert {one.reason for one in found if one.status == "unsupported"} == {
        "the model is declared not to answer requests of the kind 'choices'",
        "the model is declared not to answer requests of the kind 'generate'",
    }


def test_no_requests_give_an_empty_file_that_says_what_made_it(job, model, tmp_path):
    tables.write(tmp_path / "requests-0.parquet", Request, [])
    output = answered(tmp_path, LocalAnswerer(model("llama"), "reference"))
    assert tables.read(output, Response) == []
    assert tables.read_metadata(output)["almanac.model"] == model("llama").digest


@pytest.mark.parametrize("wrong", ["requests", "contexts", "reuse", "output", "missing context"])
def test_a_wrong_file_is_named_before_a_model_is_loaded(job, tmp_path, capsys, wrong):
    (tmp_path / "file").write_text("no table")
    path = {"missing context": tmp_path / "contexts.parquet"}.get(wrong, tmp_path / "file")
    words = job("/nowhere/model", "out.parquet")
    if wrong == "missing context":
        tables.write(path, Context, CONTEXTS[:1])
    elif f"--{wrong}" in words:
        words[words.index(f"--{wrong}") + 1] = str(path / "out" if wrong == "output" else path)
    else:
        words += [f"--{wrong}", str(path)]
    assert main(words) == 1
    message = capsys.readouterr().err
    assert str(path) in message
    assert "/nowhere/model" not in message


@pytest.mark.parametrize("more", [[], ["--model", "m", "--api", "http://localhost:1/v1"]])
def test_either_a_checkpoint_or_a_server_is_given(job, tmp_path, capsys, more):
    command = job("FOLDER", "out.parquet")
    at = command.index("--model")
    assert main([*command[:at], *command[at + 2 :], *more]) == 1
    assert "give either --model FOLDER or --api URL" in capsys.readouterr().err


def test_progress_counts_the_requests_of_the_file(job, checkpoint, capsys):
    assert main(job(checkpoint("llama"), "out.parquet", "--engine", "reference")) == 0
    assert "requests: 33 of 33" in capsys.readouterr().err


@pytest.fixture
def two_jobs(job, tmp_path, checkpoint):
    """Return a function that gives the command for two request files at once."""
    tables.write(tmp_path / "requests-1.parquet", Request, requests_of(7))

    def command(outputs, requests=("requests-0.parquet", "requests-1.parquet")):
        words = ["answer", "--model", checkpoint("llama"), "--threads", "1", "--device", "cpu", "--requests"]
        words += [tmp_path / name for name in requests]
        words += ["--contexts", *[tmp_path / "contexts.parquet"] * 2]
        words += ["--output", *(tmp_path / name for name in outputs)]
        return [str(word) for word in words]

    return command


def test_files_answered_together_are_as_answered_alone(two_jobs, job, tmp_path, checkpoint, capsys):
    assert main(two_jobs(["a.parquet", "b.parquet"])) == 0
    assert "a.parquet: 33 requests" in (printed := capsys.readouterr().err)
    assert "b.parquet: 10 requests" in printed and "requests of file 2 of 2: 10 of 10" in printed
    assert main(job(checkpoint("llama"), "alone.parquet")) == 0
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "alone.parquet").read_bytes()
    asked = [one.request_id for one in tables.read(tmp_path / "requests-1.parquet", Request)]
    assert [one.request_id for one in tables.read(tmp_path / "b.parquet", Response)] == asked


def test_flags_given_once_for_each_request_file_are_all_answered(two_jobs, tmp_path):
    words = two_jobs(["a.parquet", "b.parquet"])
    start = words[: words.index("--requests")]
    contexts = ["--contexts", f"{tmp_path}/contexts.parquet"]
    groups = [
        ["--requests", f"{tmp_path}/requests-{at}.parquet", *contexts, "--output", f"{tmp_path}/{name}.parquet"]
        for at, name in enumerate("ab")
    ]
    assert main([*start, *groups[0], *groups[1]]) == 0
    assert [tables.count(tmp_path / f"{name}.parquet", Response) for name in "ab"] == [33, 10]


def test_a_response_file_of_the_same_job_stays_and_is_marked_young(two_jobs, tmp_path, capsys):
    assert main(two_jobs(["a.parquet", "b.parquet"])) == 0
    before = {name: (tmp_path / name).read_bytes() for name in ("a.parquet", "b.parquet")}
    for name in before:
        os.utime(tmp_path / name, (1, 1))
    tables.write(tmp_path / "requests-1.parquet", Request, requests_of(8))
    capsys.readouterr()
    assert main(two_jobs(["a.parquet", "b.parquet"])) == 0
    printed = capsys.readouterr().err
    assert "a.parquet is there already" in printed
    assert "b.parquet is there already" not in printed
    assert (tmp_path / "a.parquet").read_bytes() == before["a.parquet"]
    assert len(tables.read(tmp_path / "b.parquet", Response)) == 11
    assert all((tmp_path / name).stat().st_mtime > 1 for name in before)


def test_a_damaged_response_file_is_made_anew(two_jobs, tmp_path):
    assert main(two_jobs(["a.parquet", "b.parquet"])) == 0
    whole = (tmp_path / "a.parquet").read_bytes()
    (tmp_path / "a.parquet").write_bytes(whole[: len(whole) // 2])
    assert main(two_jobs(["a.parquet", "b.parquet"])) == 0
    assert (tmp_path / "a.parquet").read_bytes() == whole


def test_what_is_answered_of_one_file_is_kept_until_all_are(job, model, tmp_path):
    answerer = LocalAnswerer(model("llama"), "reference")
    files = verb.Files(tmp_path / "requests-0.parquet", tmp_path / "contexts.parquet", tmp_path / "out.parquet")
    survey = windows.survey(files.requests, files.contexts)
    verb.answer_parts(answerer, files, survey)  # The run ends here: another file's turn came and it was killed.
    assert not files.output.exists()
    finish = verb.answer_parts(recording := Recording(answerer), files, survey)
    assert recording.asked == []
    finish()
    assert len(tables.read(files.output, Response)) == survey.requests


@pytest.mark.parametrize(
    ("outputs", "requests", "message"),
    [
        (["a"], ["requests-0.parquet", "requests-1.parquet"], "2 of --requests, 2 of --contexts, 1 of --output"),
        (["a", "a"], ["requests-0.parquet", "requests-1.parquet"], "a is given 2 times"),
        (["a", "x/../a"], ["requests-0.parquet", "requests-1.parquet"], "a is given 2 times"),
    ],
)
def test_lists_that_do_not_fit_together_are_refused(two_jobs, capsys, outputs, requests, message):
    assert main(two_jobs(outputs, requests)) == 1
    assert message in capsys.readouterr().err


def test_what_was_copied_is_not_taken_for_answered(job, model, tmp_path):
    answerer = LocalAnswerer(model("llama"), "reference")
    earlier = answered(tmp_path, answerer, "earlier.parquet")
    answered(tmp_path, answerer, "copied.parquet", earlier)
    answered(tmp_path, recording := Recording(answerer), "copied.parquet")
    assert len([one for window in recording.asked for one in window]) == 33


def test_what_is_there_stays_when_the_file_that_it_copied_from_has_changed(job, model, tmp_path):
    """Of an earlier round what failed was asked again: what its file has now is not asked of this round either."""
    answerer = LocalAnswerer(model("llama"), "reference")
    whole = tables.read(answered(tmp_path, answerer, "earlier.parquet"), Response)
    said = tables.read_metadata(tmp_path / "earlier.parquet")
    tables.write(tmp_path / "earlier.parquet", Response, whole[:20], said)
    later = answered(tmp_path, answerer, "later.parquet", tmp_path / "earlier.parquet")
    failed = [Response(row.request_id, "failed", "HTTP 500", model_digest=row.model_digest) for row in whole]
    tables.write(later, Response, [failed[0], *whole[1:-1], failed[-1]], tables.read_metadata(later))
    tables.write(tmp_path / "earlier.parquet", Response, whole[:10], said)
    answered(tmp_path, recording := Recording(answerer), "later.parquet", tmp_path / "earlier.parquet")
    assert [one for window in recording.asked for one in window] == [whole[-1].request_id]
    assert tables.read(later, Response)[:-1] == whole[:-1]


@pytest.mark.parametrize(("paid", "version", "again"), [(True, None, False), (True, "1", True), (False, None, True)])
def test_answers_that_are_paid_for_stay_when_other_requests_are_asked_too(job, model, tmp_path, paid, version, again):
    answerer = LocalAnswerer(model("llama"), "reference")
    whole = tables.read(tmp_path / "requests-0.parquet", Request)
    tables.write(tmp_path / "requests-0.parquet", Request, whole[:20])
    before = answered(tmp_path, Recording(answerer, paid=paid))
    rows, said = tables.read(before, Response), tables.read_metadata(before)
    tables.write(before, Response, rows, said | ({} if version is None else {"almanac.version": version}))
    shutil.rmtree(tmp_path / ".out.parquet.paid", ignore_errors=True)
    tables.write(tmp_path / "requests-0.parquet", Request, whole[5:])
    after = tables.read(answered(tmp_path, recording := Recording(answerer, paid=paid)), Response)
    assert [row.request_id for row in after] == [row.request_id for row in whole[5:]]
    asked = [one for window in recording.asked for one in window]
    assert asked == [row.request_id for row in (whole[5:] if again else whole[20:])]
    assert again or after[:15] == rows[5:]


class Served(Recording):
    """One whose answers are paid for and kept one by one; a run that is killed leaves half of a window in a journal."""

    def __init__(self, answerer, stop_after=None):
        super().__init__(answerer, stop_after, paid=True)

    def answer(self, requests, contexts, on_progress=None, keep=None):
        stops = self.stop_after is not None and len(self.asked) == self.stop_after
        given = super().answer(requests, contexts) if not stops else self.answerer.answer(requests[:5], contexts)
        for one in given:
            keep(one)
        if stops:
            raise InterruptedError
        return given


def shard(folder, answerer, rows, number=0):
    tables.write(folder / f"requests-{number}.parquet", Request, rows)
    files = (folder / f"{what}-{number}.parquet" for what in ("requests", "responses"))
    requests, output = files
    contexts = folder / "contexts.parquet"
    verb.answer_parts(answerer, verb.Files(requests, contexts, output), windows.survey(requests, contexts))()
    return tables.read(output, Response)


def asked_of(recording):
    return [one for window in recording.asked for one in window]


def test_nothing_that_was_paid_for_is_lost_when_shards_change_or_a_setting_is_taken_back(job, model, tmp_path):
    answerer = LocalAnswerer(model("llama"), "reference")
    whole = tables.read(tmp_path / "requests-0.parquet", Request)
    first = {row.request_id: row for row in shard(tmp_path, Served(answerer), whole)}
    recording = Served(answerer)
    # Of two shards where there was one, the first has replaced its file when the second begins.
    for rows, number in ((whole[::2], 0), (whole[1::2], 1), (whole, 0), (whole[:7], 0), (whole[3:], 0)):
        found = shard(tmp_path, recording, rows, number)
        assert found == [first[row.request_id] for row in rows]
    assert not asked_of(recording)
    # Where the job fails after all, Snakemake writes what was there before over the file, or removes it.
    before = (tmp_path / "responses-0.parquet").read_bytes()
    shard(tmp_path, recording, whole)
    with (tmp_path / "responses-0.parquet").open("wb") as restored:
        restored.write(before)
    shard(tmp_path, recording, whole)
    (tmp_path / "responses-0.parquet").unlink()
    shard(tmp_path, recording, whole)
    assert not asked_of(recording)
    # The copies may be removed: the file itself is kept before it is replaced.
    shutil.rmtree(tmp_path / ".responses-0.parquet.paid")
    for rows, number in ((whole[::2], 0), (whole[1::2], 1)):
        shard(tmp_path, recording, rows, number)
    assert not asked_of(recording)
    for number in (0, 1):
        shutil.rmtree(tmp_path / f".responses-{number}.parquet.paid")
        (tmp_path / f"responses-{number}.parquet").unlink()
    shard(tmp_path, recording, whole[:4])
    assert asked_of(recording) == [row.request_id for row in whole[:4]]


def test_what_a_killed_run_was_told_is_not_asked_again_where_something_else_is_asked(job, model, tmp_path, monkeypatch):
    monkeypatch.setattr(windows, "REQUESTS", 10)
    answerer = LocalAnswerer(model("llama"), "reference")
    whole = tables.read(tmp_path / "requests-0.parquet", Request)
    killed = Served(answerer, stop_after=1)
    with pytest.raises(InterruptedError):
        shard(tmp_path, killed, whole[:30])
    another, same = Served(answerer), Served(answerer)
    shard(tmp_path, another, whole[2:5])
    shard(tmp_path, same, whole[1:])
    assert not asked_of(another)
    assert asked_of(same) == [row.request_id for row in whole[15:]]
    assert not list(tmp_path.glob(".*.parts"))


def test_what_killed_jobs_of_several_shards_were_told_is_not_asked_again_by_one(job, model, tmp_path, monkeypatch):
    monkeypatch.setattr(windows, "REQUESTS", 5)
    answerer = LocalAnswerer(model("llama"), "reference")
    whole = tables.read(tmp_path / "requests-0.parquet", Request)
    for number, rows in enumerate((whole[::2], whole[1::2])):
        with pytest.raises(InterruptedError):
            shard(tmp_path, Served(answerer, stop_after=1), rows, number)
    shard(tmp_path, one := Served(answerer), whole)
    told = {row.request_id for rows in (whole[::2], whole[1::2]) for row in rows[:10]}
    assert asked_of(one) == [row.request_id for row in whole if row.request_id not in told]


def test_what_a_server_found_too_long_is_asked_again_alone_and_a_local_models_is_not(job, model, tmp_path):
    """A server that is started anew may read more."""
    answerer = LocalAnswerer(model("llama"), "reference")
    for paid in (True, False):
        output = answered(tmp_path, Recording(answerer, paid=paid))
        rows, said = tables.read(output, Response), tables.read_metadata(output)
        long = Response(rows[0].request_id, "too_long", "it is", model_digest=rows[0].model_digest)
        tables.write(output, Response, [long, *rows[1:]], said)
        shutil.rmtree(tmp_path / ".out.parquet.paid", ignore_errors=True)
        answered(tmp_path, recording := Recording(answerer, paid=paid))
        assert asked_of(recording) == ([long.request_id] if paid else [])
        output.unlink()


def test_of_a_response_file_with_failures_they_alone_are_asked_again(job, model, tmp_path):
    answerer = LocalAnswerer(model("llama"), "reference")
    output = answered(tmp_path, answerer)
    rows = tables.read(output, Response)
    failed, refused = (
        Response(row.request_id, status, "the server said so", model_digest=row.model_digest)
        for row, status in zip(rows[:2], ("failed", "refused"), strict=True)
    )
    tables.write(output, Response, [failed, refused, *rows[2:]], tables.read_metadata(output))
    again = tables.read(answered(tmp_path, recording := Recording(answerer)), Response)
    assert again[0].logprobs == pytest.approx(rows[0].logprobs, abs=5e-5) and again[1:] == [refused, *rows[2:]]
    assert [one for window in recording.asked for one in window] == [rows[0].request_id]
