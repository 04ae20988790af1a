#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""build_with.py BUILDER NUMBER: builds the space of that number (spaces.py) with a Python builder
and prints as JSON how many configurations it has, the seconds that it took (the median of five
where it is quick), and the memory of the process. Run by against_builders.py in a process of its
own, so that it can be ended."""

import json
import re
import resource
import statistics
import sys
import time

import spaces


def with_python_constraint2(space, texts):
    from constraint import Problem
    problem = Problem()
    for name, values in space.parameters.items():
        problem.addVariable(name, list(values))
    for text in texts:
        problem.addConstraint(text)
    return len(problem.getSolutions())


def with_kernel_tuner(space, texts):
    from kernel_tuner.searchspace import Searchspace
    parameters = {name: list(values) for name, values in space.parameters.items()}
    # None of its own limits on threads: the constraints are the space's.
    return Searchspace(parameters, texts, 2**62, block_size_names=[]).size


def with_pyatf(space, texts):
    from pyatf import TP, Set
    from pyatf.search_space import SearchSpace
    names = list(space.parameters)
    of_last = {name: [] for name in names}
    used = {name: {name} for name in names}
    for text in texts:
        own = [name for name in names if re.search(rf"\b{name}\b", text)]
        of_last[own[-1]].append(f"({text})")
        used[own[-1]].update(own)
    tuning_parameters = []
    for name in names:
        constraint = None
        if of_last[name]:
            arguments = ", ".join(sorted(used[name]))
            # Texts of spaces.py, which is beside this file.
            constraint = eval(f"lambda {arguments}: {' and '.join(of_last[name])}")
        tuning_parameters.append(TP(name, Set(*space.parameters[name]), constraint))
    return SearchSpace(*tuning_parameters, enable_1d_access=True, verbosity=0).constrained_size


BUILDERS = {"python-constraint2": with_python_constraint2, "kernel-tuner": with_kernel_tuner,
            "pyatf": with_pyatf}


def main():
    builder = BUILDERS[sys.argv[1]]
    space = spaces.all_spaces()[int(sys.argv[2])]
    texts = [spaces.python_text(constraint) for constraint in space.constraints]
    # Loading the package is no part of building.
    builder(spaces.Space("warm", {"a": [1, 2], "b": [1, 2]}, []), ["a <= b"])
    times = []
    while not times or (len(times) < 5 and times[0] < 0.1):
        begin = time.perf_counter()
        valid = builder(space, texts)
        times.append(time.perf_counter() - begin)
    seconds = statistics.median(times)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"valid": valid, "seconds": seconds, "peak_bytes": peak}))


if __name__ == "__main__":
    main()
