# SPDX-License-Identifier: MIT
#
# The developers' commands. `make` lists them.

JOBS ?= $(shell nproc)
CTEST = ctest --output-on-failure --no-tests=error
SOURCES = $(shell git ls-files --cached --others --exclude-standard '*.cpp' '*.hpp' '*.cu')

.PHONY: help check fmt tidy asan tsan coverage bless bench campaign cluster-test docs

help:
	@sed -n 's/^## //p' $(MAKEFILE_LIST)

## check         what CI does: dependencies, build, all tests
check:
	scripts/test.sh

## fmt           clang-format on all sources
fmt:
	clang-format -i $(SOURCES)

## tidy          clang-tidy on all sources, a warning is an error
tidy:
	cmake --preset tidy
	cmake --build --preset tidy -j $(JOBS)

## asan          build with ASan and UBSan, and all tests but those of a cluster
asan:
	cmake --preset asan
	cmake --build --preset asan -j $(JOBS)
	ctest --preset asan -LE 'cluster|style|bench'

## tsan          build with ThreadSanitizer, and the unit tests
tsan:
	cmake --preset tsan
	cmake --build --preset tsan -j $(JOBS)
	ctest --preset tsan -L 'unit|contract' -LE cluster

## coverage      instrumented build, unit tests, line coverage by file (needs gcov)
coverage:
	cmake --preset coverage
	cmake --build --preset coverage -j $(JOBS)
	ctest --preset coverage -L unit
	scripts/coverage.sh build/coverage

## bless         rewrites the golden files from what the programs say now; read the diff
bless:
	cmake --preset dev
	cmake --build --preset dev -j $(JOBS)
	SLURMTUNE_BLESS=1 ctest --preset dev -L golden
	git --no-pager diff --stat -- tests/golden

## bench         the benchmarks, as short as they are still meaningful
bench:
	cmake --preset release
	cmake --build --preset release -j $(JOBS)
	ctest --preset release -L bench --verbose

## campaign      the benchmarks at length, all faults, long tests: an idle machine with Slurm and MPI, two hours or more
campaign:
	@echo "campaign: needs an idle machine, scripts/install-deps.sh test, and two hours or more"
	cmake --preset release
	cmake --build --preset release -j $(JOBS)
	SLURMTUNE_BENCH_PAIRS=$${SLURMTUNE_BENCH_PAIRS:-30} ctest --preset release -L 'bench|campaign' --verbose --timeout 14400

## cluster-test  the tests that need a Slurm cluster, on a private one
cluster-test:
	cmake --preset dev
	cmake --build --preset dev -j $(JOBS)
	ctest --preset dev -L cluster -LE campaign

## docs          checks that every link between our Markdown files leads somewhere
docs:
	scripts/check-links.py
