# What people and machines run. `make` alone lists it.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:

PREFIX ?= /usr/local
DESTDIR ?=
CARGO ?= cargo
CC ?= cc
CFLAGS ?= -std=c11 -O1 -Wall -Wextra -pedantic -Werror

VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
SONAME := libseconder.so.$(firstword $(subst ., ,$(VERSION)))
TARGET := $(or $(CARGO_TARGET_DIR),target)
VENV := build/venv
PY := $(VENV)/bin/python

# Features are built one by one, so that none leans on another.
FEATURES := "" engine remote capi,engine capi,remote

# The C interface and the Python module are never built in one run of cargo: what is asked of one
# would be built into the other.
C_LIBRARY := rustc -p seconder --lib --features capi --crate-type cdylib,staticlib
PYTHON_MODULE := VIRTUAL_ENV="$$PWD/$(VENV)" $(VENV)/bin/maturin develop -q -m bindings/python/Cargo.toml

say = @printf '\n== %s ==\n' "$(1)"

.PHONY: help
help: ## Lists what there is
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' Makefile | column -t -s '|'

.PHONY: demo
demo: tools c-library python-module ## Shows the second factor at work, in Rust, C and Python
	$(call say,The demo in Rust)
	@$(CARGO) run -q --example demo
	$(call say,The demo in C)
	@$(CC) $(CFLAGS) -Iinclude examples/demo.c -o build/demo -Lbuild/lib -lseconder -Wl$(,)-rpath$(,)"$$PWD/build/lib"
	@build/demo
	$(call say,The demo in Python)
	@$(PY) examples/demo.py

.PHONY: test
test: tools lint test-rust test-features test-c test-python test-readme test-install test-bench ## Tests everything; sets up what is missing
	$(call say,Everything was tested)

.PHONY: lint
lint: ## Format, lints and the rules of the house
	$(call say,Format)
	$(CARGO) fmt --all --check
	$(call say,Lints)
	$(CARGO) clippy -q --workspace --all-targets -- -D warnings
	$(call say,The rules of the house)
	$(CARGO) test -q --test tidy --test faces

.PHONY: test-rust
test-rust:
	$(call say,The library and the program)
	$(CARGO) test -q --workspace --exclude seconder-python

.PHONY: test-features
test-features:
	$(call say,Features one by one)
	for features in $(FEATURES); do \
		echo "features: $$features"; \
		$(CARGO) clippy -q -p seconder --lib --no-default-features --features "$$features" -- -D warnings; \
	done

.PHONY: test-c
test-c: c-library
	$(call say,The C interface)
	$(CARGO) clippy -q -p seconder --all-targets --features capi -- -D warnings
	SECONDER_LIBRARY_DIR=build/lib $(CARGO) test -q -p seconder --features capi --lib --test capi

.PHONY: test-python
test-python: python-module
	$(call say,The Python module)
	$(PY) -m pytest bindings/python

.PHONY: test-readme
test-readme: c-library python-module
	$(call say,The programs of the README)
	$(CARGO) test -q --test readme -- --include-ignored

.PHONY: test-install
test-install: c-library
	$(call say,The installation)
	$(CARGO) build -q -p seconder-server
	tests/install.sh

.PHONY: test-bench
test-bench:
	$(call say,The benchmark runs)
	@$(MAKE) -s bench QUICK=1

# What is compared is built for use; with QUICK, what the tests have built is taken.
BENCH := build/bench
BENCH_VENV := build/venv-bench
BENCH_SERVER := $(CARGO) bench -q -p seconder --bench server $(if $(QUICK),--profile dev,--no-default-features --features remote)
BENCH_RUN := benches/run.py --programs $(BENCH) --peers-python $(BENCH_VENV)/bin/python

.PHONY: bench
bench: tools $(if $(QUICK),bench-quick,bench-release) ## Compares size and speed with others; QUICK=1 only shows that it runs, ONLY="from C" takes some rows
	@$(BENCH_SERVER) --no-run
	@CC="$(CC)" benches/programs.sh $(BENCH)/full $(BENCH)
	@$(BENCH_VENV)/bin/python $(BENCH_RUN) --server "$(BENCH_SERVER)" \
		$(if $(QUICK),--quick --python $(PY),--python $(BENCH_VENV)/bin/python) --only "$(ONLY)"

.PHONY: bench-quick
bench-quick: c-library python-module
	@for kind in thin full; do \
		install -D -m 755 build/lib/$(SONAME) $(BENCH)/$$kind/$(SONAME); \
	done

.PHONY: bench-release
bench-release:
	$(call say,Building what is compared)
	$(CARGO) rustc -q -p seconder --lib --no-default-features --features capi$(,)remote --crate-type cdylib --release
	@install -D -m 755 $(TARGET)/release/libseconder.so $(BENCH)/thin/$(SONAME)
	$(CARGO) rustc -q -p seconder --lib --features capi --crate-type cdylib --release
	@install -D -m 755 $(TARGET)/release/libseconder.so $(BENCH)/full/$(SONAME)
	VIRTUAL_ENV="$$PWD/$(BENCH_VENV)" $(VENV)/bin/maturin develop -q --release -m bindings/python/Cargo.toml

.PHONY: fuzz
fuzz: ## Fuzzes everything that reads what others sent, a minute each: SECONDS=60
	fuzz/run $(or $(SECONDS),60)

.PHONY: tools
tools:
	@tests/tools.sh $(VENV) tests/requirements.txt
	@tests/tools.sh $(BENCH_VENV) benches/requirements.txt

.PHONY: c-library
c-library:
	@$(CARGO) $(C_LIBRARY) -q
	@$(call lay_out,$(TARGET)/debug,build/lib)

.PHONY: python-module
python-module:
	@$(PYTHON_MODULE) >build/maturin.log 2>&1 || { cat build/maturin.log; exit 1; }

.PHONY: header
header: ## Writes include/seconder.h anew
	$(CARGO) test -q -p seconder --features capi --test capi -- --ignored write_header

.PHONY: install
install: ## Installs library, header and program: PREFIX=/usr/local DESTDIR=
	$(CARGO) $(C_LIBRARY) --release
	$(CARGO) build --release -p seconder-server
	$(MAKE) install-files FROM=$(TARGET)/release

# Without building: FROM is where the built files are.
.PHONY: install-files
install-files:
	@install -d "$(DESTDIR)$(PREFIX)/"{bin,include,lib/pkgconfig}
	install -m 644 include/seconder.h "$(DESTDIR)$(PREFIX)/include/"
	@$(call lay_out,$(FROM),$(DESTDIR)$(PREFIX)/lib)
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@VERSION@|$(VERSION)|' seconder.pc.in \
		> "$(DESTDIR)$(PREFIX)/lib/pkgconfig/seconder.pc"
	install -m 755 "$(FROM)/seconder" "$(DESTDIR)$(PREFIX)/bin/"

.PHONY: clean
clean: ## Removes what was built
	$(CARGO) clean
	rm -rf build

# The libraries from folder $(1) to folder $(2), by the names that linkers and loaders look for.
define lay_out
	install -d "$(2)"
	@install -m 644 "$(1)/libseconder.a" "$(2)/"
	@install -m 755 "$(1)/libseconder.so" "$(2)/libseconder.so.$(VERSION)"
	@ln -sf libseconder.so.$(VERSION) "$(2)/$(SONAME)"
	@ln -sf $(SONAME) "$(2)/libseconder.so"
endef

, := ,
