"""Dry runs of a Snakemake that is imported once: most of such a run's seconds go into that.

`python -m tests.workflow.planner` is started in a project. For each line, ``[words, file]`` in JSON, it runs
`snakemake WORDS` in a process of its own, which writes to the file, and answers with a line that holds the exit status.
"""

import json
import os
import signal
import sys

from snakemake import cli

cli.get_argument_parser()  # loads Snakemake's plugins


def run(words: list[str], output: str) -> int:
    """Run a command of Snakemake and return its exit status."""
    process = os.fork()
    if process:
        return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    signal.alarm(900)
    written = os.open(output, os.O_WRONLY | os.O_CREAT)
    os.dup2(written, 1)
    os.dup2(written, 2)
    sys.argv = ["snakemake", *words]
    status = 1
    try:
        cli.main()
        status = 0
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        if isinstance(ended.code, str):
            print(ended.code, file=sys.stderr)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    for line in sys.stdin:
        print(run(*json.loads(line)), flush=True)
