"""Tries the mutations of .build/mutate with the suites that reach them, and prints those that nobody noticed."""
import collections
import concurrent.futures
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

HOME = os.path.realpath(".build/mutate")
TREE = HOME + "/tree"
# Suites that read the sources themselves.
WITHOUT = {"TidyTests"}
PARALLEL = 3
# How long a suite may take, as a multiple of what it took without a mutation; and what is added.
PATIENCE, PAUSE = 4, 30
# Suites are tried in lots that took this many seconds together without a mutation.
LOTS = (5, 25, 90)


def tests(program, suites, environment, seconds):
    """Runs suites. Returns whether all passed, and how long it took."""
    pattern = "^(" + "|".join(re.escape(suite) for suite in suites) + ")(/|$)"
    began = time.monotonic()
    # Tests leave files and programs when they crash.
    with tempfile.TemporaryDirectory(dir=os.environ["COFFER_TEST_SCRATCH"], ignore_cleanup_errors=True) as scratch:
        os.chmod(scratch, 0o711)
        run = subprocess.Popen(
            [program, "--testing-library", "swift-testing", "--filter", pattern], cwd=TREE,
            env=os.environ | {"COFFER_TEST_SCRATCH": scratch} | environment, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            code = run.wait(seconds)
        except subprocess.TimeoutExpired:
            code = None
        try:
            os.killpg(run.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        run.wait()
    return code == 0, time.monotonic() - began


def trace(program, suite):
    """Which mutations a suite reaches."""
    folder = tempfile.mkdtemp(dir="/tmp")
    os.chmod(folder, 0o777)
    passed, seconds = tests(program, [suite], {"MUTANT": "trace", "MUTANT_TRACE": folder}, 400)
    reached = sorted(int(name) for name in os.listdir(folder))
    shutil.rmtree(folder)
    return {"passed": passed, "seconds": seconds, "reached": reached}


def lots(suites, traces):
    """The suites in lots, the fastest first. What goes beyond the last lot is left out."""
    found, at, sum_ = collections.defaultdict(list), 0, 0.0
    for suite in sorted(suites, key=lambda s: traces[s]["seconds"]):
        sum_ += traces[suite]["seconds"]
        while at < len(LOTS) and sum_ > LOTS[at] and found[at]:
            at, sum_ = at + 1, traces[suite]["seconds"]
        if at == len(LOTS):
            break
        found[at].append(suite)
    return [found[lot] for lot in sorted(found) if found[lot]]


def attempt(program, mutant, traces):
    """What became of a mutation: how long until it was noticed, and by which suites; or that nobody noticed."""
    reaching = [s for s in traces if mutant["number"] in traces[s]["reached"] and traces[s]["passed"]]
    for suites in lots(reaching, traces):
        seconds = sum(traces[s]["seconds"] for s in suites) * PATIENCE + PAUSE
        passed, _ = tests(program, suites, {"MUTANT": str(mutant["number"])}, seconds)
        if not passed:
            return "noticed"
    return "missed" if reaching else "unreached"


def kept(path, keys, work):
    """Does the work of every key, three at a time, and keeps each result at once, so that an interrupted run goes on."""
    results = {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            results = json.load(file)
    missing = [key for key in keys if str(key) not in results]
    with concurrent.futures.ThreadPoolExecutor(PARALLEL) as pool:
        running = {pool.submit(work, key): key for key in missing}
        for done in concurrent.futures.as_completed(running):
            results[str(running[done])] = done.result()
            with open(path + ".new", "w", encoding="utf-8") as file:
                json.dump(results, file)
            os.replace(path + ".new", path)
            if len(results) % 20 == 0:
                print(f"{len(results)} of {len(keys)}", flush=True)
    return results


def main():
    with open(f"{HOME}/mutants.json", encoding="utf-8") as file:
        mutants = {m["number"]: m for m in json.load(file)}
    place = ["swift", "build", "--package-path", TREE, "--scratch-path", f"{HOME}/build", "--show-bin-path"]
    program = subprocess.check_output(place, text=True).strip() + "/cofferPackageTests.xctest"
    listed = subprocess.check_output([program, "--testing-library", "swift-testing", "--list-tests"], text=True, cwd=TREE)
    suites = sorted({line.split("/")[0] for line in listed.split("\n") if "/" in line})
    suites = [suite for suite in suites if suite.split(".")[0] not in WITHOUT]
    print(f"which mutations {len(suites)} suites reach", flush=True)
    traces = kept(f"{HOME}/traces.json", suites, lambda suite: trace(program, suite))
    failing = [suite for suite in suites if not traces[suite]["passed"]]
    if failing:
        print("left out, since they fail without a mutation: " + ", ".join(failing), flush=True)
    print(f"{len(mutants)} mutations", flush=True)
    results = kept(f"{HOME}/results.json", list(mutants), lambda number: attempt(program, mutants[number], traces))
    for verdict in ("unreached", "missed"):
        for number, mutant in mutants.items():
            if results[str(number)] == verdict:
                print(f"{verdict}: {mutant['file']}:{mutant['line']}\n  - {mutant['was']}\n  + {mutant['is']}")
    counts = collections.Counter(results[str(number)] for number in mutants)
    print(f"{counts['noticed']} of {len(mutants)} noticed, {counts['missed']} missed, {counts['unreached']} not reached")


main()
