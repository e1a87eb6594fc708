# The front door. CMake does the work; each target first installs what it lacks (TITHE_SETUP=off: it does not).
PREFIX       ?= /usr/local
FUZZ_SECONDS ?= 30
# The python3 that has numpy: the distribution's, where another one comes first. Only make bench asks.
PYTHON       ?= $(shell python3 -c 'import numpy' 2> /dev/null && echo python3 || echo /usr/bin/python3)

MAKEFLAGS    += --no-print-directory
cores := $(shell nproc 2>/dev/null || echo 2)
export FUZZ_SECONDS
export CMAKE_GENERATOR            ?= $(if $(shell command -v ninja 2>/dev/null),Ninja,Unix Makefiles)
export CMAKE_BUILD_PARALLEL_LEVEL ?= $(cores)
export CTEST_PARALLEL_LEVEL       ?= $(cores)

.NOTPARALLEL: # CMake and CTest are given the cores; apt-get takes one at a time
.PHONY: build demo test test-all bench install install-python fuzz format lint clean help

build: setup-build ## build the library and the command in build/ (the default)
	@test -f build/CMakeCache.txt || cmake -S . -B build -DTITHE_TESTS=OFF
	@cmake --build build

demo: setup-demo build ## build, train seven ways on one problem, and draw the result
	@tools/demo

test: setup-test ## build with gcc, with clang, and with sanitizers, and run the tests
	@tools/test

test-all: setup-test-all ## test, and what is slow or timed, thread sanitizer, valgrind, other processors and 20 s of each fuzzer
	@tools/test all

bench: setup-bench build ## measure the speed, alone and beside numpy (torch and zfp where they are installed)
	@build/tithe bench
	@cmake --build build --target bench_training && build/bench_training
	@$(PYTHON) bench/compare.py
	@$(PYTHON) bench/exchange.py

install: setup-install build ## install under PREFIX (default /usr/local); honours DESTDIR
	@DESTDIR="$(DESTDIR)" cmake --install build --prefix "$(PREFIX)"

install-python: setup-install-python build ## install the package for Python, with the libraries in it; PIP_FLAGS=--user, --target DIR, ...
	@$(PYTHON) -m pip install --no-index --no-deps --force-reinstall $(PIP_FLAGS) "$$($(PYTHON) tools/python_wheel.py)"

fuzz: setup-fuzz ## run each fuzzer for FUZZ_SECONDS (default 30)
	@tools/fuzz

format: setup-format ## format the C sources in place
	@tools/lint --format

lint: setup-lint ## check formatting, and look for mistakes without running
	@tools/lint

clean: ## remove build/
	@rm -rf build

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1|/p' $(MAKEFILE_LIST) | awk -F'|' '{ printf "  make %-14s %s\n", $$1, $$2 }'

setup-%:
	@tools/setup $*
