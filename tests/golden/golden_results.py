# SPDX-License-Identifier: MIT
"""Results: a machine in Python writes the verdicts that a runner would have written."""

import json

from golden_suite import HERE, submit_scripts, tree


def interval(middle, width=0.004):
    return {"low": middle * (1 - width), "mid": middle, "high": middle * (1 + width)}


def deepspeed_machine(values, repeat):
    """Seconds a step, samples and peak bytes of a configuration; or the words of its failure."""
    stage = values["zero_stage"]
    micro = values["micro_batch"]
    accumulation = values.get("gradient_accumulation", 2)
    peak = {0: 27e9, 1: 9e9, 2: 7e9, 3: 5e9}[stage] + micro * 2.2e9
    if peak > 40e9:
        return None, "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"
    fixed = {0: 0.020, 1: 0.022, 2: 0.027, 3: 0.060}[stage]
    step = accumulation * (fixed + micro * 0.010) * (1 + 0.001 * repeat)
    return {"step_s": step, "samples": micro * accumulation * 8, "peak": peak}, None


def grid_machine(values, repeat):
    if values["block"] == 32 and values["overlap"]:
        return None, "stencil: block 32 does not divide the halo"
    step = 3.2 / values["block"] + (0.02 if values.get("overlap") else 0.05)
    step /= values.get("depth", 1) ** 0.1
    return {"step_s": step * (1 + 0.001 * repeat), "samples": None, "peak": None}, None


def refusing_machine(_values, _repeat):
    return None, "KeyError: 'optimizer'"


def verdict_of(experiment, machine, outcome, second):
    figures, words = machine(experiment["values"], experiment["repeat"])
    at = f"2026-11-30T21:{second // 60:02}:{second % 60:02}.000Z"
    verdict = {"type": "verdict", "experiment": experiment["experiment"],
               "configuration": experiment["configuration"],
               "attempt": experiment.get("attempt", 0), "outcome": "ok", "reason": "max_steps",
               "evidence": None, "lane": 0, "nodes": ["n1", "n2"], "started": at, "ended": at,
               "startup_s": 20.0, "wall_s": 40.0,
               "steps": {"warmup": 2, "measured": 20, "skipped": 0, "step_s": []}, "metrics": {},
               "hardware": {"gpu": "made up", "gpu_bytes": 40e9, "driver": ""},
               "source": "deepspeed"}
    if words:
        log = f"logs/{experiment['experiment']}.log"
        verdict.update(outcome=outcome, reason="rule:golden",
                       evidence={"rank": 3, "node": "n2", "exit": 1, "signal": None, "log": log,
                                 "line": words})
        return verdict
    verdict["metrics"]["step_s"] = interval(figures["step_s"])
    if figures["samples"]:
        verdict["metrics"]["global_batch"] = figures["samples"]
        verdict["metrics"]["throughput"] = interval(figures["samples"] / figures["step_s"])
    if figures["peak"]:
        verdict["metrics"]["peak_gpu_bytes"] = figures["peak"]
    return verdict


def run_stage(place, stage, machine, outcome):
    """Writes one closed shard a slice."""
    lines = (stage / "manifest.jsonl").read_text().splitlines()
    header, experiments = json.loads(lines[0]), [json.loads(line) for line in lines[1:]]
    for number, (first, end) in enumerate(header["slices"]):
        start = {"format": "slurmtune.verdict", "version": 1, "type": "task_start",
                 "study": header["study"], "stage": header["stage"], "slice": number,
                 "array_job": 4711, "task": number, "restart": 0, "nodes": ["n1", "n2"],
                 "allocated_nodes": 2, "gpus": 8, "at": "2026-11-30T21:00:00.000Z",
                 "ends_by": None, "runner": "0.1.0"}
        shard = [start]
        shard += [verdict_of(experiment, machine, outcome, 10 + i)
                  for i, experiment in enumerate(experiments[first:end])]
        shard.append({"type": "task_end", "at": "2026-11-30T21:10:00.000Z", "reason": "done",
                      "node_seconds": 90 * (end - first)})
        path = stage / "verdicts" / f"4711_{number}.0.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in shard))


def run_study(suite, place, machine, outcome):
    """Stage after stage, as far as the reducers release them."""
    stages = [stage["stage"] for stage in json.loads((place / "plan.json").read_text())["stages"]]
    for number, name in enumerate(stages):
        stage = place / "stages" / name
        if not (stage / "manifest.jsonl").exists():
            continue
        if number == 1:
            suite.compare(f"{place.parent.name}/status-midway.txt",
                          suite.done(["status", str(place)], suite.root))
        run_stage(place, stage, machine, outcome)
        result = suite.run(["reduce", str(place), "--stage", name], suite.root)
        if result.returncode != 0:
            suite.fail(f"reduce --stage {name}: {result.stderr}")
            return
    result = suite.run(["reduce", str(place), "--stage", "final"], suite.root)
    if result.returncode != 0:
        suite.fail(f"reduce --stage final: {result.stderr}")


def results(suite):
    cases = [("deepspeed", deepspeed_machine, "gpu_oom", 0),
             ("grid", grid_machine, "config_error", 0),
             ("constant-batch", refusing_machine, "config_error", 1)]
    for name, machine, outcome, code in cases:
        place, _ = submit_scripts(suite, HERE / "studies" / name)
        run_study(suite, place, machine, outcome)
        calls = {"report.txt": ["report"], "report.json": ["report", "--json"],
                 "status.txt": ["status"], "status.json": ["status", "--json"]}
        for file, call in calls.items():
            wanted = code if call[0] == "report" else 0
            said = suite.done([call[0], str(place), *call[1:]], suite.root, wanted)
            suite.compare(f"{name}/{file}", said)
        for path in sorted([*(place / "best").iterdir(), place / "results.csv"]):
            suite.compare(f"{name}/{path.name}", path.read_text())
        # Rebuilding changes nothing: the derived files are functions of the study.
        before = tree(place)
        suite.run(["reduce", str(place), "--stage", "final"], suite.root)
        if tree(place) != before:
            suite.fail(f"{name}: a second final changed the study")
