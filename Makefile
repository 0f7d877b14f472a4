# What people and machines run. `make` alone lists it.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

CARGO ?= cargo
RUSTC ?= rustc
CC ?= cc
CFLAGS ?= -std=c11 -O1 -Wall -Wextra -pedantic -Werror

VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
SONAME := libseconder.so.$(firstword $(subst ., ,$(VERSION)))
TARGET := $(or $(CARGO_TARGET_DIR),target)
VENV := build/venv
PY := $(VENV)/bin/python

# The features of the library and the programs that are tested. Cargo compiles a crate again for each other set of
# features, so everything that tests run uses these and takes the same crates: those of default-members.
TESTED := --features seconder/header,seconder-server/otlp
# One test, by its name. The programs are named too: without them, cargo would choose other features for what they
# share with the test. Their ignored tests, which write man pages, are skipped. Programs and libraries are built
# with a test, because tests add features to what they share.
ONE_TEST := $(CARGO) test -q $(TESTED) --bins --test
WITH_A_TEST := --bins --lib --test tidy

# The library for Rust, of which the demo and the library for C are made without compiling it again. Tests use their
# own, and a demo on a fresh machine builds no more than it needs.
RUST_LIBRARY := $(or $(RUST_LIBRARY),$(if $(filter demo,$(MAKECMDGOALS)),-p seconder -p seconder-c --lib,$(TESTED) $(WITH_A_TEST)))

# Features are built one by one, so that none leans on another.
FEATURES := "" callbacks engine postgres https unix client-certificates compact tls12 xml,unix engine,unix capi

# The library for C has two builds: full, and client, without the engine.
C_BUILD ?= full
C_FEATURES = $(C_FEATURES_$(C_BUILD))
C_FEATURES_full := --features engine
C_FEATURES_client := --no-default-features
ifeq ($(C_FEATURES),)
$(error C_BUILD=$(C_BUILD): there is no such build of the library for C: it is full or client)
endif

# The C interface and the Python module are never built in one run of cargo: what is asked of one
# would be built into the other.
C_LIBRARY := rustc -p seconder-c --lib --crate-type staticlib
PAM_MODULE := build -p seconder-pam
HOST = $(shell rustc -vV | sed -n 's/^host: //p')
# For use. A login maps the module for seconds, so its size counts: without the texts of Debug, on
# which nothing depends, and the places of panics it is a twentieth smaller. The stable compiler has
# both behind a switch of its own. They are not for the programs that run while this is built, so a
# target is named. The C library knows packed relocations since version 2.36.
PAM_FLAGS = -Zfmt-debug=none -Zlocation-detail=none $(shell getconf GNU_LIBC_VERSION 2>/dev/null | \
	awk '$$1 == "glibc" && $$2 >= 2.36 { print "-Clink-arg=-Wl,-z,pack-relative-relocs" }') \
	$(if $(findstring x86_64,$(HOST)),-Clink-arg=-Wl$(,)--icf=all)
PAM_RELEASE = RUSTC_BOOTSTRAP=1 RUSTFLAGS="$(PAM_FLAGS)" packaging/without-paths $(CARGO) $(PAM_MODULE) \
	--profile release-small --target $(HOST)
PAM_RELEASED = $(TARGET)/$(HOST)/release-small/libpam_seconder.so
PYTHON_MODULE := VIRTUAL_ENV="$$PWD/$(VENV)" $(VENV)/bin/maturin develop -m bindings/python/Cargo.toml
# One wheel serves every Python from 3.10 on. Those without the lock need their own; PyO3 knows none
# before 3.14, from which on CPython supports them.
FREE_THREADED := python3.14t
PYTHON_TYPED := packaging/try_wheel.py packaging/exits.py bindings/python/seconder bindings/python/seconder_pytest bindings/python/tests examples/demo.py examples/demo_serve.py examples/provider.py examples/tracing.py examples/web fuzz/api

# Depends on nothing of the library, so it runs while the library cannot be built.
GENERATE := $(CARGO) run -q -p seconder-generate --

say = @printf '\n== %s ==\n' "$(1)"

.PHONY: help
help: ## Lists the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s  %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

define run_demo_c
	$(call say,The demo in C)
	@$(CC) $(CFLAGS) -Iinclude examples/demo.c -o build/demo-c -Lbuild/lib -lseconder -Wl$(,)-rpath$(,)"$$PWD/build/lib"
	@build/demo-c
endef
define run_demo_python
	$(call say,The demo in Python)
	@$(PY) examples/demo.py
endef

.PHONY: demo
demo: tools-demo rust-demo c-library python-module ## Runs the demonstration in Rust, C and Python; installs what it requires
	$(call say,The demo in Rust)
	@build/demo-rust
	$(run_demo_c)
	$(run_demo_python)
ifeq ($(DEMO),serve)
	@tests/tools.sh approver-demo
	$(call say,The approver for you to try)
	$(call building,the program,three minutes)
	@$(CARGO) build -p seconder-server
	@$(PY) examples/demo_serve.py $(TARGET)/debug/seconder
endif

# A whole run has three lanes: one that compiles, and two that run what is compiled. The order is in tests/lanes.mk.
.PHONY: test
# Compiling takes a fifth less without the files for incremental compilation. Cargo keeps the two kinds apart, so a
# folder that has such files uses them.
ifeq ($(wildcard $(TARGET)/debug/incremental/*),)
test: export CARGO_INCREMENTAL ?= 0
endif
test: tools-rust ## Runs every test; installs what they require
	@rm -f build/times.tsv
	@$(MAKE) --no-print-directory -j 3 --output-sync=target every-test $(MAKEOVERRIDES)
	@$(MAKE) --no-print-directory test-times
	$(call say,Everything was tested)

.PHONY: every-test
every-test: lint test-rust test-approver test-python test-safety test-pam test-features test-free-threaded test-bench docs test-readme test-install

ifneq ($(filter every-test,$(MAKECMDGOALS)),)
include tests/lanes.mk
else
.NOTPARALLEL:
endif

# Databases of tests are synced to the disk at each write, unless their folder is in memory. Programs are run there
# too, which some systems forbid for this one.
MEMORY := $(shell file=$$(mktemp -p /dev/shm 2>/dev/null) && echo true >"$$file" && chmod 700 "$$file" && \
	"$$file" 2>/dev/null && echo /dev/shm; rm -f "$$file")
ifneq ($(MEMORY),)
lint test-rust test-python test-approver test-pam test-safety test-bench test-quick test-flaky: export TMPDIR := $(MEMORY)
endif
# Tests wait for each other, for time-outs and for programs more than they compute.
test-rust test-quick: export RUST_TEST_THREADS ?= 4

# After a build, this takes two minutes at most.
.PHONY: test-quick
test-quick: lint c-library python-module ## Checks what a change breaks most likely: style, lints, the libraries, one path per language
	$(call say,The libraries)
	$(CARGO) test -q $(TESTED) --lib
	$(call say,The demo in Rust)
	@$(CARGO) run -q $(TESTED) --example demo
	$(run_demo_c)
	$(run_demo_python)

# What depends on the order of threads, processes and time, by the names of its modules. Several rounds run at once:
# they are the load for each other.
RACES := racing:: cancelling:: deadline:: interrupt:: connections:: lookup:: proxy:: secure:: local:: clock:: jobs:: \
	keys:: process:: audit:: limits:: hostile two_sqlites backup overload:: http2:: faults:: requests:: signals:: \
	reload:: restarts:: activation:: certificates:: relay:: conformance::threads batch:: remote:: daemons::
PYTHON_RACES := $(addprefix bindings/python/tests/test_,$(addsuffix .py,threads cancel cancel_network fork fork_remote waiting aio parallel jobs))
ROUNDS ?= 20
.PHONY: test-flaky
test-flaky: c-library panic-library rust-tests tools-python python-module ## Repeats the tests of races and of time under load, ROUNDS times (20)
	$(call say,Races in Rust and C)
	tests/under_load $(ROUNDS) $(CARGO) test -q $(TESTED) --lib --tests -- $(RACES)
	tests/under_load $(ROUNDS) $(ONE_TEST) safety -- --ignored tools_for_races
	$(call say,Races in Python)
	tests/under_load $(ROUNDS) $(PY) -m pytest $(PYTHON_RACES)

.PHONY: test-times
test-times: ## Prints where the time of the last `make test` went
	@tests/times build/times.tsv

CLIPPY := RUSTC_WORKSPACE_WRAPPER="$$PWD/tests/clippy" $(CARGO)
.PHONY: lint
lint: ## Checks formatting, lints and style
	$(call say,Format)
	$(CARGO) fmt --all --check
	$(call say,Lints)
	$(CLIPPY) test -q --no-run --all-targets $(TESTED),seconder/panic-test
	for crate in seconder-python seconder-pam seconder-generate; do \
		$(CLIPPY) build -q -p $$crate; \
		$(CLIPPY) test -q --no-run --all-targets -p $$crate; \
	done
	$(call say,Generated source)
	$(GENERATE) --check
# A whole run has them among the tests.
ifeq ($(filter every-test,$(MAKECMDGOALS)),)
	$(call say,The style rules)
	$(ONE_TEST) tidy --test faces
endif

.PHONY: rust-tests
rust-tests:
	@$(CARGO) test -q $(TESTED) --no-run

# The programs as the tests have them. Stages use copies, because cargo replaces its own when a test builds packages.
PROGRAMS := build/programs
.PHONY: programs
programs:
	@$(CARGO) build -q $(TESTED) $(WITH_A_TEST)
	@install -D -m 755 -t $(PROGRAMS) $(TARGET)/debug/seconder $(TARGET)/debug/seconder-login

# In C too: the library of `panic-library` has no engine.
.PHONY: test-rust
test-rust: c-library panic-library rust-tests
	$(call say,The libraries and the programs)
	$(CARGO) test -q $(TESTED)
	$(CARGO) test -q -p seconder-generate

.PHONY: test-features
test-features:
	$(call say,Features one by one)
	for features in $(FEATURES); do \
		echo "features: $$features"; \
		LINTS=compiler $(CLIPPY) build -q -p seconder --lib --no-default-features --features "$$features"; \
	done

# Two nodes on one PostgreSQL database, each of which is killed every other second, and what clients and
# providers saw of it. `make test` does it for some seconds.
KILLS ?= 60
.PHONY: test-killed
test-killed: tools-test ## Kills services that share a database, KILLS times (60), and checks messages and codes
	SECONDER_KILLS=$(KILLS) $(ONE_TEST) killed -- --nocapture \
		the_same_is_true_of_two_nodes_on_postgresql

# Memory, threads, descriptors, signals, forks, wrong arguments and panics, natively, under valgrind
# and with sanitizers.
.PHONY: test-safety
test-safety: panic-library c-library sanitized-library sanitized-module pam-module programs tools-python
	$(call say,What a process keeps that loads the library)
	$(ONE_TEST) safety -- --ignored --skip write_
	SECONDER_PROGRAM="$(abspath $(PROGRAMS))/seconder" SECONDER_MODULE="$(abspath $(PAM_BUILT))" \
		SECONDER_SANITIZED_MODULE="$(abspath $(SANITIZED_MODULE))" \
		bindings/pam/tests/run $(abspath $(PY)) bindings/pam/tests/test_memory.py

# The library without an engine, with a function that panics.
.PHONY: panic-library
panic-library:
	@$(CARGO) $(C_LIBRARY) --no-default-features --features panic-test -q
	@$(call link_libraries,$(TARGET)/debug,build/$@.linked)
	@$(call install_libraries,build/$@.linked,build/$@)

# The library and the PAM module with AddressSanitizer, the library with a function that panics. Dependencies are
# compiled as usual, SQLite too: valgrind watches them. The program that loads the library brings the sanitizer's
# functions.
SANITIZED := RUSTC_WORKSPACE_WRAPPER="$$PWD/tests/sanitized" $(CARGO)
SANITIZED_MODULE := build/sanitized-module/pam_seconder.so
.PHONY: sanitized-library
sanitized-library:
	@$(SANITIZED) $(C_LIBRARY) --features panic-test -q
	@LIBRARY_LDFLAGS=-Wl,-z,undefs $(call link_libraries,$(TARGET)/debug,build/$@.linked)
	@$(call install_libraries,build/$@.linked,build/$@)

.PHONY: sanitized-module
sanitized-module:
	@$(SANITIZED) $(PAM_MODULE) -q
	@install -D -m 644 $(TARGET)/debug/libpam_seconder.so $(SANITIZED_MODULE)

# Runs the tests of the C interface's FFI layer by an interpreter that sees undefined behaviour. It
# is no part of `make test`: the stable toolchain has no Miri.
.PHONY: miri
miri: ## Runs what Miri can run, where a nightly toolchain has it
	@$(CARGO) +nightly miri --version >/dev/null 2>&1 || { \
		echo "Miri is not installed: rustup toolchain install nightly --component miri,rust-src" >&2; exit 1; }
	MIRIFLAGS=-Zmiri-strict-provenance $(CARGO) +nightly miri test -q -p seconder --features capi --lib \
		--target-dir build/miri capi::

# Looks for data races in the library and in its SQLite. The standard library is built too, so this
# is no part of `make test` either.
.PHONY: tsan
tsan: ## Looks for data races, where a nightly toolchain has its sources
	@test -d "$$(rustc +nightly --print sysroot 2>/dev/null)/lib/rustlib/src/rust/library" || { \
		echo "The sources are not there: rustup toolchain install nightly --component rust-src" >&2; exit 1; }
	TSAN_OPTIONS="suppressions=$$PWD/tests/safety/races.txt" RUSTFLAGS=-Zsanitizer=thread \
		CC_$(subst -,_,$(HOST))=clang CFLAGS_$(subst -,_,$(HOST))="-fsanitize=thread -g" \
		$(CARGO) +nightly test -q -p seconder -Zbuild-std --target $(HOST) --target-dir build/tsan \
		--lib --test engine --test connections --test deadline --test secure

.PHONY: test-python
test-python: tools-python python-module programs
	$(call say,The Python module)
	SECONDER_PROGRAM="$(abspath $(PROGRAMS))/seconder" $(PY) -m pytest -n 3 --dist loadgroup bindings/python
	$(call say,The types of the Python module)
	$(PY) -m mypy --config-file bindings/python/pyproject.toml --cache-dir build/mypy $(PYTHON_TYPED)
	$(PY) -m mypy.stubtest seconder --concise --mypy-config-file bindings/python/pyproject.toml \
		--allowlist bindings/python/tests/stubtest.txt
	PATH="$$PWD/$(VENV)/bin:$$PATH" PYRIGHT_PYTHON_IGNORE_WARNINGS=1 \
		pyright --verifytypes seconder --ignoreexternal

# The page that phones show, in three browsers, with a real service and a push service of the tests.
.PHONY: test-approver
test-approver: tools-approver python-module programs
	$(call say,The approver in browsers)
	SECONDER_PROGRAM="$(abspath $(PROGRAMS))/seconder" $(PY) -m pytest -n 2 \
		--reruns 1 --only-rerun InvalidSessionIdException tests/approver
	$(PY) -m mypy --strict --config-file= --cache-dir build/mypy-approver tests/approver

.PHONY: test-free-threaded
test-free-threaded: tools-demo
	$(call say,The Python module without the lock)
	@for python in $(FREE_THREADED); do \
		if command -v $$python >/dev/null; then \
			tests/free_threaded.sh $$python; \
		else \
			echo "With $$python nothing was tested: it is not here"; \
		fi; \
	done

# Also for other systems and processors than this one: `native` is the one for this machine.
PLATFORMS := manylinux_2_28_x86_64 manylinux_2_28_aarch64 musllinux_1_2_x86_64 musllinux_1_2_aarch64
.PHONY: wheels
wheels: tools-wheels ## Builds the packages of the Python module and the program, into dist/: PLATFORMS=native
	PATH="$$PWD/$(VENV)/bin:$$PATH" FREE_THREADED="$(FREE_THREADED)" packaging/wheels dist $(PLATFORMS)
	@ls dist

.PHONY: test-wheels
test-wheels: tools-wheels ## Logs users in with each wheel in dist/, those of other processors under qemu
	$(call say,The wheels)
	packaging/test-wheels dist

.PHONY: screenshots
screenshots: tools-python tools-approver python-module programs ## Takes the screenshots of docs/web.md and docs/approver.md again
	SCREENSHOTS="$$PWD/docs/images" $(PY) -m pytest bindings/python/tests/contrib/test_web_browser.py
	SCREENSHOTS="$$PWD/docs/images" SECONDER_PROGRAM="$(abspath $(PROGRAMS))/seconder" \
		$(PY) -m pytest tests/approver/test_pages.py

.PHONY: test-readme
test-readme: export RUST_LIBRARY := $(RUST_LIBRARY)
test-readme: c-library python-module
	$(call say,The programs of the README)
	$(ONE_TEST) readme -- --ignored --skip write_
	$(call say,The demonstration of docs/delivery.md)
	$(ONE_TEST) demonstration -- --ignored --skip write_

.PHONY: test-install
test-install: c-library pam-module programs
	$(call say,The installation)
	@install -m 755 $(PROGRAMS)/seconder $(PROGRAMS)/seconder-login $(TARGET)/debug/install/
	tests/install.sh
	tests/monitoring.sh
	tests/deb.sh

# A real service and real programs. As root, in a mount namespace of its own.
.PHONY: test-pam
test-pam: tools-python pam-module programs
	$(call say,The PAM module)
	$(CARGO) test -q -p seconder-pam
	SECONDER_PROGRAM="$(abspath $(PROGRAMS))/seconder" SECONDER_MODULE="$(abspath $(PAM_BUILT))" \
		bindings/pam/tests/run $(abspath $(PY)) bindings/pam/tests $(PAM_OPTIONS)
	$(call say,The types of its tests)
	$(PY) -m mypy --strict --config-file= --cache-dir build/mypy-pam bindings/pam/tests

.PHONY: docs
docs: tools-docs python-module ## Builds the site of the documents in build/docs
	$(call say,The documents)
	rm -rf build/docs
	build/venv-docs/bin/sphinx-build -q -W --keep-going -c docs/site -d build/doctrees docs build/docs

.PHONY: test-bench
test-bench: tools-bench bench-quick
	$(call say,The benchmark runs)
	@$(MAKE) --no-print-directory -s bench QUICK=1 BUILT=1 $(MAKEOVERRIDES)

# What is compared is built for use; with QUICK, what the tests have built is taken.
BENCH := build/bench
BENCH_VENV := build/venv-bench
BENCH_SERVER := $(CARGO) bench -q --bench server $(if $(QUICK),--profile dev $(TESTED),-p seconder --no-default-features --features https)
BENCH_OF_SERVER := $(CARGO) bench -q $(if $(QUICK),--profile dev $(TESTED),-p seconder-server)
BENCH_STORES := $(BENCH_OF_SERVER) --bench stores
BENCH_MESSAGES := $(BENCH_OF_SERVER) --bench messages
BENCH_SERVING := $(BENCH_OF_SERVER) --bench serving
BENCH_PHONES := $(BENCH_OF_SERVER) --bench phones
BENCH_RUN := benches/run.py --programs $(BENCH) --peers-python $(BENCH_VENV)/bin/python

.PHONY: bench
bench: tools-bench $(if $(PRIVACYIDEA),tools-privacyidea) $(if $(BUILT),,$(if $(QUICK),bench-quick,bench-release)) ## Compares size and speed with others; QUICK=1 only shows that it runs, ONLY="from C" takes some rows, PRIVACYIDEA=1 adds that peer
	@$(BENCH_SERVER) --no-run
	@$(BENCH_OF_SERVER) --bench stores --bench messages --bench serving --bench phones --no-run
	@CC="$(CC)" benches/programs.sh $(BENCH)/full $(BENCH)
	@$(BENCH_VENV)/bin/python $(BENCH_RUN) --server "$(BENCH_SERVER)" --stores "$(BENCH_STORES)" --messages "$(BENCH_MESSAGES)" \
		--serving "$(BENCH_SERVING)" --phones "$(BENCH_PHONES)" --serve $(if $(QUICK),$(PROGRAMS),$(TARGET)/release)/seconder \
		$(if $(PRIVACYIDEA),--privacyidea-python build/venv-privacyidea/bin/python) \
		$(if $(QUICK),--quick --python $(PY),--python $(BENCH_VENV)/bin/python) --only "$(ONLY)"

.PHONY: bench-quick
bench-quick: c-library python-module pam-module programs
	@for kind in thin full; do \
		install -D -m 755 build/lib/$(SONAME) $(BENCH)/$$kind/$(SONAME); \
	done
	@install -m 644 $(PAM_BUILT) $(BENCH)/

.PHONY: bench-release
bench-release:
	$(call say,Building what is compared)
	for kind in thin full; do \
		features=$$([ $$kind = thin ] && echo "$(C_FEATURES_client)" || echo "$(C_FEATURES_full)"); \
		packaging/without-paths $(CARGO) $(C_LIBRARY) -q $$features --release; \
		$(call link_libraries,$(TARGET)/release,$(BENCH)/$$kind); \
		packaging/split $(BENCH)/$$kind/libseconder.so; \
		mv $(BENCH)/$$kind/libseconder.so $(BENCH)/$$kind/$(SONAME); \
	done
	$(PAM_RELEASE) -q
	@install -m 644 $(PAM_RELEASED) $(BENCH)/pam_seconder.so
	packaging/split $(BENCH)/pam_seconder.so
	packaging/without-paths $(CARGO) build -q --release -p seconder-server
	VIRTUAL_ENV="$$PWD/$(BENCH_VENV)" packaging/without-paths $(VENV)/bin/maturin develop -q --release -m bindings/python/Cargo.toml

.PHONY: fuzz
fuzz: tools-demo python-module ## Fuzzes everything that reads what others sent, and the calls, a minute each: SECONDS=60
	fuzz/run $(or $(SECONDS),60) $(PY)

# A target for each kind of work of tests/tools.sh, which sets up what that requires and nothing else.
TOOLS := $(addprefix tools-,rust demo docs web python approver wheels bench privacyidea test)
.PHONY: $(TOOLS)
$(TOOLS): tools-%:
	@tests/tools.sh $*

# Says how long a build takes the first time on two cores, because most of them print nothing meanwhile.
building = $(call say,Building $(1) ($(2) the first time))

# Compiled by hand, because `cargo run --example demo` would also build the dependencies of the tests.
WITH_LIBRARY = $(RUSTC) --edition 2024 --extern $(1)=$(TARGET)/debug/lib$(1).rlib -L dependency=$(TARGET)/debug/deps
.PHONY: rust-library
rust-library:
	$(call building,the library,a minute)
	@$(CARGO) build -q $(RUST_LIBRARY)

.PHONY: rust-demo
rust-demo: rust-library
	@mkdir -p build
	@$(call WITH_LIBRARY,seconder) examples/demo.rs -o build/demo-rust

.PHONY: c-library
c-library: rust-library
	@echo 'extern crate seconder_c;' | $(call WITH_LIBRARY,seconder_c) --crate-name library --crate-type staticlib -o $(TARGET)/debug/libseconder_c.a -
	@$(call link_libraries,$(TARGET)/debug,$(TARGET)/debug/install)
	@$(call install_libraries,$(TARGET)/debug/install,build/lib)

PAM_BUILT := $(TARGET)/debug/install/pam_seconder.so
.PHONY: pam-module
pam-module:
	$(call building,the PAM module,10 seconds)
	@$(CARGO) $(PAM_MODULE) -q
	@install -D -m 644 $(TARGET)/debug/libpam_seconder.so $(PAM_BUILT)

.PHONY: python-module
python-module: tools-demo
	$(call building,the Python module,half a minute)
	@$(PYTHON_MODULE)

.PHONY: notices
notices: ## Regenerates the licences of the dependencies
	packaging/notices.py LICENSE-THIRD-PARTY

.PHONY: generate
generate: ## Writes what follows from the declarations of the calls: in C, C++ and Python
	$(GENERATE)

.PHONY: header
header: ## Regenerates include/seconder.h
	$(CARGO) test -q $(TESTED) --test capi -- --ignored write_header

.PHONY: man
man: ## Regenerates the man pages
	$(CARGO) test -q $(TESTED) --test man -- --ignored write_pages
	$(CARGO) test -q $(TESTED) --bin seconder -- --ignored write_program_pages
	$(CARGO) test -q $(TESTED) --bin seconder-login -- --ignored write_login_pages

.PHONY: abi-baseline
abi-baseline: c-library ## Regenerates the ABI baseline of the C interface: read CONTRIBUTING.md first
	$(CARGO) test -q $(TESTED) --test capi -- --ignored write_baseline write_layout

.PHONY: clean
clean: ## Removes what was built
	$(CARGO) clean
	rm -rf build dist

include packaging/install.mk
include packaging/packages.mk

, := ,
