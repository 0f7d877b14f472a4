# Packages for systems. Included by the Makefile.

.PHONY: deb
deb: ## Makes Debian packages in build/deb: MAINTAINER="Name <address>"
	$(CARGO) $(C_LIBRARY) --release
	$(CARGO) build --release -p seconder-server
	MAINTAINER='$(MAINTAINER)' packaging/deb.sh $(TARGET)/release build/deb
