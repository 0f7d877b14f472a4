# Packages for operating systems. Included by the Makefile.

# The flags of the distribution, which dpkg-dev knows.
deb: export CFLAGS = $(shell dpkg-buildflags --get CPPFLAGS 2>/dev/null) $(shell dpkg-buildflags --get CFLAGS 2>/dev/null)

.PHONY: deb
deb: release ## Makes Debian packages in build/deb: MAINTAINER="Name <address>"
	MAINTAINER='$(MAINTAINER)' packaging/deb.sh $(TARGET)/release/install build/deb

# podman, docker or buildah.
BUILDER ?= $(firstword $(foreach builder,podman docker buildah,$(shell command -v $(builder))))

.PHONY: container
container: ## Builds the container image seconder:VERSION: BUILDER=podman
	@[ -n "$(BUILDER)" ] || { echo "make container requires podman, docker or buildah" >&2; exit 1; }
	$(BUILDER) build -f packaging/Containerfile -t "seconder:$$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)" .
