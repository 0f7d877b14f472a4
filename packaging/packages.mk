# Packages for operating systems. Included by the Makefile.

.PHONY: deb
deb: release ## Makes Debian packages in build/deb: MAINTAINER="Name <address>"
	MAINTAINER='$(MAINTAINER)' packaging/deb.sh $(TARGET)/release/install build/deb
