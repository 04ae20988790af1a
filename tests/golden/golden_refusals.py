# SPDX-License-Identifier: MIT
"""Bad input and bad calls: exit code 2, one message on standard error, nothing left behind."""

import shutil

from golden_suite import BLESS, HERE, tree


def refused(suite, args, cwd, label):
    """Standard error of a call that has to be refused."""
    before = tree(suite.root)
    result = suite.run(args, cwd)
    problems = []
    if result.returncode != 2:
        problems.append(f"exit code {result.returncode}, not 2")
    if result.stdout:
        problems.append(f"it says on standard output: {result.stdout}")
    if not result.stderr.startswith("slurmtune: ") or result.stderr.count("\n") != 1:
        problems.append(f"not one message: {result.stderr!r}")
    if tree(suite.root) != before:
        changed = set(tree(suite.root).items()) ^ set(before.items())
        problems.append(f"it left behind {sorted({name for name, _ in changed})}")
    for problem in problems:
        suite.fail(f"{label}: slurmtune {' '.join(args)}: {problem}")
    return result.stderr


def bad_input(suite):
    cases = sorted(path for path in (HERE / "bad-input").iterdir() if path.is_dir())
    if len(cases) < 30:
        suite.fail(f"only {len(cases)} bad studies found")
    for case in cases:
        place = suite.copy(case)
        expected = case / "expected.txt"
        (place / "expected.txt").unlink(missing_ok=True)
        submit = ["submit", "study.toml", "--submit", "scripts", "--dir", "out"]
        texts = {refused(suite, args, place, case.name)
                 for args in (["plan", "study.toml", "--submit", "scripts"], submit)}
        suite.seen.add(expected)
        if len(texts) != 1:
            suite.fail(f"{case.name}: plan and submit say different things: {texts}")
            continue
        message = suite.normal(texts.pop()).removeprefix("slurmtune: ")
        if BLESS:
            expected.write_text(message)
        elif not expected.exists() or expected.read_text() != message:
            golden = expected.read_text() if expected.exists() else "(no file)"
            suite.fail(f"{case.name}:\n  expected {golden}  got      {message}")
        shutil.rmtree(place)


def bad_call_places(suite):
    """Directories and files that the bad calls stumble over."""
    place = suite.copy(HERE / "studies" / "grid")
    # The cases below write a [slurm] of their own behind it.
    study = (place / "study.toml").read_text()
    (place / "study.toml").write_text(study[:study.index("\n[slurm]\n")])
    (place / "empty").mkdir()
    (place / "full").mkdir()
    (place / "full" / "thesis.tex").write_text("mine\n")
    (place / "file").write_text("a file in the way\n")
    (place / "empty.toml").write_text("")
    (place / "hosts").write_text("n1 slots=4\nn2 slots=4\nn1 slots=8\n")
    gpt2 = '{"model_type": "gpt2", "n_layer": 2, "vocab_size": 50257,\n "n_head": 7, "n_embd": %s}\n'
    (place / "huge.json").write_text(gpt2 % "1e200")
    (place / "odd.json").write_text(gpt2 % "1024")
    (place / "tune.json").write_text('{"train_micro_batch_size_per_gpu": "auto"}\n')
    (place / "batch.json").write_text('{"train_batch_size": 64}\n')
    (place / "empty-list.json").write_text('{"zero_optimization": {"reduce_bucket_size": []},\n'
                                           ' "autotuning": {"fast": false}}\n')
    (place / "zero.json").write_text('{"zero_optimization": {"stage": 2}}\n')
    (place / "pretrain_gpt.py").write_text("")
    (place / "acc.yaml").write_text("distributed_type: DEEPSPEED\ndeepspeed_config:\n"
                                    "  zero_stage: 3\n  offload_param_device: cpu\n")
    text = (HERE / "studies" / "deepspeed" / "study.toml").read_text()
    (place / "no-config.toml").write_text(text)
    (place / "no-site.toml").write_text((place / "study.toml").read_text() +
                                        "\n[slurm]\nsite = \"perlmuter\"\n")
    generic = (place / "study.toml").read_text()
    (place / "asks.toml").write_text(generic + '\n[slurm]\nsite = "frontier"\n')
    (place / "twice.toml").write_text(generic + '\n[slurm]\nsite = "frontier"\naccount = "a"\n'
                                      'array_options = ["--gpus-per-node=4"]\n')
    (place / "eight.toml").write_text(generic + '\n[slurm]\nsite = "lumi-g"\naccount = "a"\n'
                                      'partition = "small-g"\nlanes = 8\n')
    (place / "slip.toml").write_text((place / "study.toml").read_text().replace(
        'minimize = "step_s"', 'maximize = "throughputt"'))
    (place / "deep-slip.toml").write_text('format = 1\nname = "x"\n[trial]\n'
                                          'command = ["train.py", "{ds_config}"]\n'
                                          '[deepspeed]\nconfig = "tune.json"\n'
                                          '[objective]\nmaximize = "throughputt"\n')
    (place / "no-model.toml").write_text((place / "study.toml").read_text() +
                                         '\n[model]\nhidden = 64\nconfig = "gpt2-large"\n')
    (place / "empty-space.toml").write_text(
        generic + '\n[[constraint]]\nexpr = "block > 16"\n[[constraint]]\n'
        'expr = "block < 32 || overlap"\n[[constraint]]\nexpr = "!overlap"\n')
    (place / "other.toml").write_text((place / "study.toml").read_text() + "\n[budget]\n"
                                      "max_node_hours = 90.0\n")
    (place / "late.toml").write_text((place / "study.toml").read_text() + "\n[budget]\n"
                                     "finish_by = \"2020-01-01T00:00:00Z\"\n")
    budget = generic + "\n[budget]\n"
    (place / "window.toml").write_text(budget + 'window = "20:00-07:00"\n')
    (place / "short.toml").write_text(budget + 'window = "12:00-12:10"\n')
    (place / "brief.toml").write_text(generic.replace("[measure]\n", "[measure]\ntotal_s = 20.0\n") +
                                      "\n[slurm]\nsubmit_jobs_max = 2\nwalltime_max_s = 300\n")
    (place / "refuse.toml").write_text(budget + 'max_node_hours = 0.5\nif_over = "refuse"\n')
    (place / "few.toml").write_text(budget + 'max_experiments = 2\nif_over = "refuse"\n')
    (place / "no-workdir.toml").write_text((place / "study.toml").read_text().replace(
        "[trial]\n", "[trial]\nworkdir = \"not/here\"\n"))
    (place / "no-script.toml").write_text((place / "study.toml").read_text().replace(
        "[\"stencil\",", "[\"python3\", \"solve.py\",").replace("\"srun\"", "\"auto\""))
    suite.done(["submit", "study.toml", "--submit", "scripts", "--dir", "study"], place)
    return place


SCRIPTS = ["--submit", "scripts"]
BAD_CALLS = {
    "no-command": [],
    "estimate-of-nothing": ["estimate"],
    "estimate-without-gpu": ["estimate", "--params", "7e9"],
    "estimate-unknown-gpu": ["estimate", "--params", "7e9", "--gpu-memory", "B7000"],
    "estimate-unknown-optimizer": ["estimate", "--params", "7e9", "--gpu-memory", "80GiB",
                                   "--optimizer", "mine"],
    "estimate-not-a-number": ["estimate", "--params", "nan", "--gpu-memory", "80GiB"],
    "estimate-too-many": ["estimate", "--params", "1e300", "--gpu-memory", "80GiB"],
    "estimate-half-a-layer": ["estimate", "--params", "7e9", "--layers", "2.5", "--gpu-memory",
                              "80GiB"],
    "estimate-heads": ["estimate", "--params", "7e9", "--hidden", "1024", "--heads", "7",
                       "--gpu-memory", "80GiB"],
    "estimate-kv-heads": ["estimate", "--params", "7e9", "--heads", "8", "--kv-heads", "16",
                          "--gpu-memory", "80GiB"],
    "estimate-more-trained": ["estimate", "--params", "7e9", "--trainable-params", "8e9",
                              "--gpu-memory", "80GiB"],
    "estimate-pipeline": ["estimate", "--params", "7e9", "--layers", "2", "--pipeline", "4",
                          "--nodes", "4", "--gpu-memory", "80GiB"],
    "estimate-no-size": ["estimate", "--params", "7e9", "--gpu-memory", "nan"],
    "estimate-huge-config": ["estimate", "--model", "huge.json", "--gpu-memory", "80GiB"],
    "estimate-odd-config": ["estimate", "--model", "odd.json", "--gpu-memory", "80GiB"],
    "estimate-hub-name": ["estimate", "--model", "gpt2-large", "--gpu-memory", "80GiB"],
    "estimate-missing-config": ["estimate", "--model", "nowhere/config.json"],
    "estimate-uneven-layout": ["estimate", "--params", "7e9", "--gpu-memory", "80GiB", "--tensor",
                               "3", "--nodes", "2"],
    "estimate-generic-study": ["estimate", "study.toml"],
    "unknown-command": ["plna", "study.toml"],
    "unknown-flag": ["plan", "study.toml", "--jsno"],
    "no-study-given": ["plan"],
    "two-studies": ["plan", "study.toml", "other.toml"],
    "unknown-submit-word": ["submit", "study.toml", "--submit", "grpah"],
    "missing-study": ["plan", "nowhere.toml"],
    "missing-study-submit": ["submit", "nowhere.toml", *SCRIPTS, "--dir", "new"],
    "directory-as-study": ["plan", "empty"],
    "empty-study": ["plan", "empty.toml"],
    "missing-ds-config": ["submit", "no-config.toml", *SCRIPTS, "--dir", "new"],
    "unknown-site": ["submit", "no-site.toml", *SCRIPTS, "--dir", "new"],
    "unknown-site-flag": ["plan", "study.toml", "--site", "frontire"],
    "missing-site-file": ["plan", "study.toml", "--site", "sites/mine.toml"],
    "site-asks": ["submit", "asks.toml", *SCRIPTS],
    "site-gpus-asked-twice": ["plan", "twice.toml"],
    "site-queue-limits": ["plan", "eight.toml"],
    "objective-slip": ["plan", "slip.toml"],
    "objective-slip-of-deepspeed": ["plan", "deep-slip.toml"],
    "model-config-not-there": ["plan", "no-model.toml"],
    "site-check-unknown-site": ["site", "check", "--site", "lumi"],
    "site-of-nothing": ["site"],
    "site-init-file-in-the-way": ["site", "init", "-o", "file"],
    "site-init-nowhere": ["site", "init", "-o", "/nowhere/x.toml"],
    "status-interval-in-hexadecimal": ["status", "study", "--watch", "--interval", "0x30"],
    "estimate-in-hexadecimal": ["estimate", "--params", "0x10", "--gpu-memory", "80GiB"],
    "space-of-nothing": ["space"],
    "space-is-empty": ["space", "empty-space.toml"],
    "file-in-the-way": ["submit", "study.toml", *SCRIPTS, "--dir", "file"],
    "file-above": ["submit", "study.toml", *SCRIPTS, "--dir", "file/below"],
    "read-only-place": ["submit", "study.toml", *SCRIPTS, "--dir", "/proc/slurmtune-study"],
    "no-such-place": ["submit", "study.toml", *SCRIPTS, "--dir", "not/here/yet"],
    "place-holds-something": ["submit", "study.toml", *SCRIPTS, "--dir", "full"],
    "place-holds-another-study": ["submit", "other.toml", *SCRIPTS, "--dir", "study"],
    "submit-locally": ["submit", "study.toml", "--submit", "local", "--dir", "new"],
    "tune-scripts": ["tune", "study.toml", *SCRIPTS, "--dir", "new"],
    "launch-nothing": ["tune", "--"],
    "launch-without-config": ["tune", "--", "deepspeed", "train.py", "--deepspeed", "--lr", "1"],
    "launch-config-not-there": ["plan", "--", "deepspeed", "train.py", "--deepspeed", "ds.json"],
    "launch-unknown-flag": ["submit", "--", "deepspeed", "--num_gpu4", "train.py"],
    "launch-unset-variable": ["tune", "--", "deepspeed", "--num_nodes=", "train.py"],
    "launch-elastic": ["run", "--", "deepspeed", "--elastic_training", "train.py"],
    "launch-hostfile": ["plan", "--", "deepspeed", "-H", "hosts", "train.py"],
    "launch-hostfile-not-there": ["plan", "--", "deepspeed", "-H", "nohosts", "train.py"],
    "launch-and-study": ["plan", "study.toml", "--", "deepspeed", "train.py"],
    "launch-file-in-the-way": ["submit", *SCRIPTS, "--write", "study.toml", "--", "deepspeed",
                               "train.py", "--deepspeed", "tune.json"],
    "launch-write-nowhere": ["submit", *SCRIPTS, "--write", "not/here.toml", "--", "deepspeed",
                             "train.py", "--deepspeed", "tune.json"],
    "launch-slurm-key": ["submit", *SCRIPTS, "--slurm", "acount=m1", "--", "deepspeed", "train.py",
                         "--deepspeed", "tune.json"],
    "launch-site-asks": ["submit", *SCRIPTS, "--site", "lumi-g", "--", "deepspeed", "train.py",
                         "--deepspeed", "tune.json"],
    "launch-bad-name": ["submit", *SCRIPTS, "--name", "a b", "--", "deepspeed", "train.py",
                        "--deepspeed", "tune.json"],
    "launch-batch-and-ranks": ["submit", *SCRIPTS, "--", "deepspeed", "--num_gpus", "3", "train.py",
                               "--deepspeed", "batch.json"],
    "launch-empty-list": ["submit", *SCRIPTS, "--", "deepspeed", "train.py", "--deepspeed",
                          "empty-list.json"],
    "launch-tune-scripts": ["tune", *SCRIPTS, "--", "deepspeed", "train.py", "--deepspeed",
                            "tune.json"],
    "launch-run-scripts": ["run", *SCRIPTS, "--", "deepspeed", "train.py", "--deepspeed",
                           "tune.json"],
    "launch-submit-locally": ["submit", "--submit", "local", "--", "deepspeed", "train.py",
                              "--deepspeed", "tune.json"],
    "launch-place-holds-something": ["submit", *SCRIPTS, "--dir", "full", "--", "deepspeed",
                                     "train.py", "--deepspeed", "tune.json"],
    "launch-script-not-there": ["tune", "--submit", "local", "--", "deepspeed", "train.py",
                                "--deepspeed", "tune.json"],
    "script-not-there": ["tune", "no-script.toml", "--submit", "local", "--dir", "new"],
    "launch-in-quotes": ["tune", "--", "deepspeed train.py --deepspeed tune.json"],
    "launch-in-bash": ["tune", "--", "bash", "-c", "deepspeed train.py --deepspeed tune.json"],
    "launch-in-a-script": ["tune", "--", "bash", "train.sh"],
    "launch-env-i": ["tune", "--", "env", "-i", "deepspeed", "train.py"],
    "launch-two-programs": ["plan", "--", "mpirun", "-np", "1", "./a", ":", "-np", "1", "./b"],
    "launch-multi-prog": ["plan", "--", "srun", "-n", "2", "--multi-prog", "programs"],
    "launch-tensor-and-ranks": ["submit", *SCRIPTS, "--", "deepspeed", "--num_gpus", "16",
                                "pretrain_gpt.py", "--tensor-model-parallel-size", "3",
                                "--deepspeed_config", "tune.json"],
    "launch-accelerate-keys": ["plan", "--", "accelerate", "launch", "--config_file", "acc.yaml",
                               "train.py"],
    "launch-accelerate-config-not-there": ["plan", "--", "accelerate", "launch", "--config_file",
                                           "nowhere.yaml", "train.py"],
    "launch-stage-contradicts": ["submit", *SCRIPTS, "--", "torchrun", "pretrain_gpt.py",
                                 "--zero-stage", "1", "--deepspeed_config", "zero.json"],
    "launch-line-of-report": ["report", "study", "--", "deepspeed"],
    "launch-line-without-dashes": ["tune", "deepspeed", "--num_gpus", "2", "train.py"],
    "name-without-launch-line": ["plan", "study.toml", "--name", "other"],
    "status-of-nothing": ["status", "nowhere"],
    "status-of-no-study": ["status", "full"],
    "status-of-a-file": ["status", "study.toml"],
    "report-of-no-study": ["report", "empty"],
    "resume-of-no-study": ["resume", "empty"],
    "cancel-of-no-study": ["cancel", "empty"],
    "reduce-unknown-stage": ["reduce", "study", "--stage", "09-nothing"],
    "reduce-without-stage": ["reduce", "study"],
    "reduce-of-no-study": ["reduce", "empty", "--stage", "final"],
    "probe-more-nodes-than-here": ["probe", "--here", "--nodes", "4"],
    "probe-no-number": ["probe", "--nodes", "0"],
    "unknown-schema": ["schema", "studdy"],
    "quote-in-the-place": ["submit", "study.toml", *SCRIPTS, "--dir", "my'study"],
    "quote-in-a-local-place": ["tune", "study.toml", "--submit", "local", "--dir", "my'study"],
    "missing-workdir": ["submit", "no-workdir.toml", *SCRIPTS, "--dir", "new"],
    "missing-workdir-plan": ["plan", "no-workdir.toml"],
    "missing-workdir-tune": ["tune", "no-workdir.toml", "--submit", "local", "--dir", "new"],
    "finish-by-past": ["submit", "late.toml", *SCRIPTS, "--dir", "new"],
    "finish-by-past-plan": ["plan", "late.toml"],
    "window-of-a-local-study": ["tune", "window.toml", "--submit", "local", "--dir", "new"],
    "window-too-short": ["plan", "short.toml"],
    "too-brief-jobs-for-a-chain": ["plan", "brief.toml"],
    "over-budget": ["plan", "refuse.toml"],
    "over-experiments": ["plan", "few.toml"],
    "extend-of-no-study": ["extend", "empty", "--max-node-hours", "4"],
    "extend-by-nothing": ["extend", "study"],
    "extend-by-no-number": ["extend", "study", "--max-node-hours", "many"],
    "extend-by-less-than-nothing": ["extend", "study", "--max-node-hours", "-1"],
    "extend-by-hexadecimal": ["extend", "study", "--max-node-hours", "0x10"],
    "extend-by-more-than-a-number": ["extend", "study", "--max-experiments",
                                     "99999999999999999999"],
    "extend-by-half-an-experiment": ["extend", "study", "--max-experiments", "1.5"],
    "extend-to-the-past": ["extend", "study", "--finish-by", "2020-01-01T00:00:00Z"],
    "extend-to-no-time": ["extend", "study", "--finish-by", "soon"],
    "log-file-below-nothing": ["--log-file", "not/here/log", "plan", "study.toml"],
    "log-file-nowhere": ["--log-file", "/proc/no/log", "plan", "study.toml"],
}


UNWRITTEN = [["plan", "study.toml"], ["schema", "study"], ["--help"], ["status", "study"]]


def unwritten(suite, args, place):
    """What is said when standard output cannot be written."""
    with open("/dev/full", "w", encoding="utf-8") as full:
        result = suite.run(args, place, stdout=full)
    if result.returncode != 3 or result.stderr.count("\n") != 1:
        suite.fail(f"slurmtune {' '.join(args)} >/dev/full: exit code {result.returncode}, "
                   f"standard error: {result.stderr}")
    return result.stderr


def bad_calls(suite):
    place = bad_call_places(suite)
    text = ""
    for label, args in BAD_CALLS.items():
        said = refused(suite, args, place, label)
        text += f"$ slurmtune {' '.join(args)}\n{said}\n"
    for args in UNWRITTEN:
        text += f"$ slurmtune {' '.join(args)} >/dev/full\n{unwritten(suite, args, place)}\n"
    suite.compare("bad-calls.txt", text)
