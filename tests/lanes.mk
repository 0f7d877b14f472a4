# The order of a whole run (`make test`), in which three recipes run at once. Included by the Makefile.

# Notes the time of each line of a recipe.
SHELL := tests/timed
.SHELLFLAGS = $(or $@,-) -euo pipefail -c

# Everything is installed at once, while the compiler works: two runs of apt would wait for each other.
tools-demo tools-docs tools-python tools-approver tools-bench: | tools-test

# Builds follow each other, in the order in which other stages need them. Without this, each would take a lane and
# wait there for cargo's lock on the target folder.
rust-library programs: | rust-tests
c-library: | programs
panic-library: | c-library
python-module: | panic-library
pam-module: | python-module
lint: | pam-module
sanitized-library: | lint
sanitized-module: | sanitized-library
bench-quick: | sanitized-module
test-features: | bench-quick

# While there is something to compile, two stages run beside it. The longest begin first: their order is that of
# `every-test`.
test-python test-safety test-pam test-bench docs: | test-features
# These install packages on this machine, and build again what others use.
test-install: | lint test-rust test-features test-python test-approver test-free-threaded docs test-bench test-pam test-safety
test-readme: | test-install
