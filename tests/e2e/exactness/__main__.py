"""Runs cases in processes of their own until statements or seconds are spent; prints how to repeat what failed."""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import traceback

from harness.seed import SEED
from harness.server import binary

E2E = pathlib.Path(__file__).resolve().parents[1]
HINTS_WRONG_MAX = 0.01
FAILURES_MAX = 20
CASE_SECONDS_MAX = 300


def main() -> int:
    asked = parse()
    if asked.case is not None:
        return run_case(asked)
    summary = run_many(asked.seed, asked.statements, asked.seconds, asked.jobs, asked.each, stop=not asked.go_on)
    print(text_of(summary))
    return 1 if summary["failures"] else 0


def parse():
    p = argparse.ArgumentParser(prog="python3 -m exactness", description=__doc__)
    p.add_argument("--seed", type=int, default=SEED)
    p.add_argument("--statements", type=int, default=None, help="in all; 100000 unless --seconds is given")
    p.add_argument("--seconds", type=float, default=None)
    p.add_argument("--each", type=int, default=1200, help="statements of one case")
    p.add_argument("--jobs", type=int, default=2)
    p.add_argument("--case", type=int, default=None, help="only this case, in this process")
    p.add_argument("--keep", default=None, help="a directory for the case's files")
    p.add_argument("--go-on", action="store_true", help="do not stop at the first failure")
    asked = p.parse_args()
    if asked.statements is None and asked.seconds is None:
        asked.statements = 100_000
    return asked


def run_case(asked) -> int:
    """The last line of the output is a JSON object."""
    from .case import Case, Deviation
    home = pathlib.Path(asked.keep or tempfile.mkdtemp(prefix="exactness-"))
    home.mkdir(exist_ok=True)
    try:
        result = Case(asked.seed, asked.case, home, asked.each).run()
    except Deviation as e:
        result = {"failure": str(e)}
    except Exception:
        result = {"failure": traceback.format_exc()}
    if "failure" in result and (home / "litefeed-0.log").exists():
        result["failure"] += "\nlitefeed said:\n" + (home / "litefeed-0.log").read_text("utf-8", "replace")[-2000:]
    if not asked.keep:
        shutil.rmtree(home, ignore_errors=True)
    sys.stdout.write(json.dumps(result) + "\n")
    sys.stdout.flush()
    os._exit(1 if "failure" in result else 0)  # no waiting for processes that a failure left behind


def command_of(seed: int, case: int, each: int) -> list[str]:
    return [sys.executable, "-m", "exactness", "--seed", str(seed), "--case", str(case), "--each", str(each)]


def run_many(seed, statements, seconds, jobs, each, stop=True, say=print) -> dict:
    binary()
    say(f"exactness: seed {seed}, {statements or 'any number of'} statements, {seconds or 'any number of'} seconds")
    started = time.monotonic()
    total = {"seed": seed, "cases": 0, "failures": []}
    running: dict[subprocess.Popen, tuple] = {}
    number = 0

    def enough():
        return ((statements is not None and total.get("statements", 0) + each * len(running) >= statements)
                or (seconds is not None and time.monotonic() - started >= seconds)
                or len(total["failures"]) >= (1 if stop else FAILURES_MAX))

    while running or not enough():
        while len(running) < jobs and not enough():
            output = tempfile.TemporaryFile()
            process = subprocess.Popen(command_of(seed, number, each), cwd=E2E, stdout=output)
            running[process] = (number, output, time.monotonic() + CASE_SECONDS_MAX * max(1, each / 1200))
            number += 1
        for process in [p for p in running if p.poll() is not None]:
            case, output, _ = running.pop(process)
            output.seek(0)
            take(total, output.read().decode(), case, process.returncode, seed, each, say)
            output.close()
        for process, (_, _, deadline) in running.items():
            if time.monotonic() > deadline:
                process.kill()
        time.sleep(0.01)
    total["seconds"] = round(time.monotonic() - started, 1)
    if total.get("hints") and total["wrong_hints"] > HINTS_WRONG_MAX * total["hints"]:
        total["failures"].append(f"{total['wrong_hints']} of {total['hints']} hints were wrong")
    return total


def take(total: dict, output: str, case: int, code: int, seed: int, each: int, say):
    try:
        result = json.loads(output.splitlines()[-1])
    except (IndexError, ValueError):
        result = {"failure": f"the case ended with {code}: {output[-2000:]}"}
    total["cases"] += 1
    if "failure" in result:
        repeat = " ".join(command_of(seed, case, each))
        text = f"seed {seed}, case {case}. To repeat, in {E2E.name}: {repeat}\n{result['failure']}"
        total["failures"].append(text)
        say(text)
        return
    for name, value in result.items():
        if name != "seconds":
            total[name] = total.get(name, 0) + value


def text_of(total: dict) -> str:
    hints = total.get("hints", 0)
    rate = 100 * total.get("wrong_hints", 0) / hints if hints else 0
    return (f"exactness: seed {total['seed']}, {total.get('statements', 0)} statements ({total.get('errors', 0)} refused, "
            f"{total.get('busy', 0)} busy) in {total['cases']} cases ({total.get('several', 0)} with several writers, {total.get('void', 0)} void), "
            f"{total['seconds']} s; {total.get('rests', 0)} rests, {total.get('pages', 0)} pages "
            f"({total.get('second_pages', 0)} go on in a run, {total.get('second_pages_after_commit', 0)} of them after a commit), {total.get('cuts', 0)} cuts; "
            f"hints {hints}, wrong {total.get('wrong_hints', 0)} ({rate:.3f} %), and "
            f"{total.get('repeated_wrong_hints', 0)} of {total.get('repeated_hints', 0)} right after a first read in pages; failures {len(total['failures'])}")


if __name__ == "__main__":
    sys.exit(main())
