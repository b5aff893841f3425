"""Servers for the tests: real ones, the plain reference behind the same wire, a proxy that damages."""

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import torch

from almanac.models.registry import CausalModel
from almanac.models.scoring.reference import log_softmax

TO_GGUF = Path(__file__).parents[1] / "servers" / "to_gguf.py"
PATIENCE = 240  # Seconds that a server may take to come up.
OFFLINE = {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1"}


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@contextlib.contextmanager
def running(command: Sequence[str], port: int, log: Path, health: str = "/health", **environment: str) -> Iterator[str]:
    """Run a server until the block ends; yield its base URL once it answers."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, stdout=output, stderr=subprocess.STDOUT, env={**os.environ, **OFFLINE, **environment},
            start_new_session=True,
        )  # fmt: skip
    try:
        deadline = time.monotonic() + PATIENCE
        while not _healthy(port, health):
            assert process.poll() is None, f"{command[:2]} ended: {log.read_text('utf-8', 'replace')[-2000:]}"
            assert time.monotonic() < deadline, f"{command[:2]} is not up: {log.read_text('utf-8', 'replace')[-2000:]}"
            time.sleep(0.2)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _healthy(port: int, path: str) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def transformers_server(folder: Path, log: Path) -> contextlib.AbstractContextManager[str]:
    """Run `transformers serve` on a checkpoint, in float32 on the CPU."""
    port = free_port()
    command = [str(Path(sys.executable).parent / "transformers"), "serve", str(folder), "--host", "127.0.0.1"]
    return running([*command, "--port", str(port), "--device", "cpu", "--dtype", "float32"], port, log)


def vllm_server(binary: Path, folder: Path, log: Path, length: int) -> contextlib.AbstractContextManager[str]:
    """Run vLLM on a checkpoint, in float32 on the CPU; the model's name is its folder's."""
    port = free_port()
    command = [str(binary), "serve", str(folder), "--host", "127.0.0.1", "--port", str(port), "--dtype", "float32"]
    command += ["--enforce-eager", "--max-model-len", str(length), "--served-model-name", folder.name]
    return running(command, port, log, VLLM_CPU_KVCACHE_SPACE="1", VLLM_CPU_OMP_THREADS_BIND="nobind")


def llama_cpp_server(python: Path, folder: Path, log: Path, length: int) -> contextlib.AbstractContextManager[str]:
    """Run llama-cpp-python on a checkpoint, which is first written as GGUF, in float32 on the CPU, its cache too."""
    port, file = free_port(), folder.with_suffix(".gguf")
    subprocess.run([str(python), str(TO_GGUF), str(folder), str(file)], check=True)
    command = [str(python), "-m", "llama_cpp.server", "--model", str(file), "--host", "127.0.0.1", "--port", str(port)]
    command += ["--model_alias", folder.name, "--n_ctx", str(length), "--type_k", "0", "--type_v", "0"]
    return running([*command, "--n_threads", "1"], port, log, health="/v1/models")


@dataclass
class Reply:
    """An answer on the wire; a cut one says more bytes than it sends; the reason stands in the status line."""

    status: int
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)
    cut: bool = False
    reason: str | None = None

    @classmethod
    def of(cls, value: Any, status: int = 200, **headers: str) -> "Reply":
        return cls(status, json.dumps(value).encode(), {name.replace("_", "-"): text for name, text in headers.items()})


@dataclass
class Call:
    """A call on the wire."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any

    def pass_on(self, target: str) -> Reply:
        parts = urlsplit(target)
        connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=PATIENCE)
        headers = {name: self.headers[name] for name in ("authorization", "content-type") if name in self.headers}
        connection.request(self.method, self.path, json.dumps(self.body) if self.body is not None else None, headers)
        answer = connection.getresponse()
        reply = Reply(answer.status, answer.read(), {"Content-Type": answer.headers.get("content-type", "")})
        connection.close()
        return reply


class Quiet(ThreadingHTTPServer):
    """A server that says nothing of connections that end: whom it passes calls on to may be gone by then."""

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


@dataclass
class Wire:
    """An HTTP server in this process: it keeps the calls, and the most that went on at a time."""

    answer: Callable[[Call], Reply]
    calls: list[Call] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    most: int = 0
    open: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def bodies(self) -> list[Any]:
        return [call.body for call in self.calls if call.body is not None]

    @contextlib.contextmanager
    def running(self) -> Iterator[str]:
        wire = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                size = int(self.headers.get("content-length") or 0)
                body = json.loads(self.rfile.read(size)) if size else None
                call = Call(self.command, self.path, {name.lower(): text for name, text in self.headers.items()}, body)
                with wire.lock:
                    wire.calls.append(call)
                    wire.times.append(time.monotonic())
                    wire.open += 1
                    wire.most = max(wire.most, wire.open)
                try:
                    reply = wire.answer(call)
                finally:
                    with wire.lock:
                        wire.open -= 1
                with contextlib.suppress(OSError):  # The client may have given up waiting.
                    self.send_response(reply.status, reply.reason)
                    headers = {"Content-Type": "application/json", "Content-Length": str(len(reply.body))}
                    for name, text in (headers | reply.headers).items():
                        self.send_header(name, text)
                    self.end_headers()
                    self.wfile.write(reply.body[: len(reply.body) // 2] if reply.cut else reply.body)
                    self.close_connection = self.close_connection or reply.cut

            do_POST = do_GET  # noqa: N815 (the name is the base class's)

            def log_message(self, *arguments: Any) -> None:
                pass

        server = Quiet(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/v1"
        finally:
            server.shutdown()
            server.server_close()


Fault = Callable[[Callable[[], Reply]], Reply]


def proxy(target: str, faults: Sequence[Fault] = (), change: Callable[[Any], Any] | None = None) -> Wire:
    """Pass calls on to a server: the first ones to faults, one each, and all answers' JSON through a change."""
    waiting = iter(faults)

    def answer(call: Call) -> Reply:
        fault = next(waiting, None)
        reply = fault(lambda: call.pass_on(target)) if fault is not None else call.pass_on(target)
        if change is not None and reply.status == 200:
            reply.body = json.dumps(change(json.loads(reply.body))).encode()
        return reply

    return Wire(answer)


def reference_wire(model: CausalModel, name: str = "tiny") -> Wire:
    """Serve the plain forward pass of a model as vLLM serves echoed log-probabilities: /v1/completions alone."""

    def answer(call: Call) -> Reply:
        if call.method == "GET":
            return Reply.of({"data": [{"id": name}]})
        body = call.body
        prompt = body["prompt"]
        ids = list(model.wrap(model.tokens.ids(prompt))[0]) if isinstance(prompt, str) else prompt
        if max(ids) >= model.vocabulary:
            return Reply.of({"error": {"message": f"Token id {max(ids)} is out of vocabulary"}}, 400)
        if model.max_length is not None and len(ids) > model.max_length:
            said = f"This model's maximum context length is {model.max_length} tokens, the prompt has {len(ids)}."
            return Reply.of({"error": {"message": said, "code": 400}}, 400)
        with torch.inference_mode():
            logprobs = log_softmax(model.network(input_ids=torch.tensor([ids])).logits[0])
        values = [None, *(float(logprobs[place - 1, ids[place]]) for place in range(1, len(ids)))]
        new = [int(logprobs[-1].argmax())] * min(1, body["max_tokens"])
        shown = ids * bool(body.get("echo")) + new
        values = values * bool(body.get("echo")) + [float(logprobs[-1, token]) for token in new]
        # A token after others keeps its space; one by itself may lose it, as on servers.
        text = model.tokens.decode(ids + new)[len(model.tokens.decode(ids)) :]
        tokens = [model.tokens.tokenizer.decode([token]) for token in shown]
        choice = {"text": text, "finish_reason": "length", "index": 0}
        return Reply.of({"choices": [{**choice, "logprobs": {"tokens": tokens, "token_logprobs": values}}]})

    return Wire(answer)
