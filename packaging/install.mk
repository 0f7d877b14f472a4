# Where things go when they are installed, by the names that GNU gives the folders. Included by the
# Makefile.

PREFIX ?= /usr/local
DESTDIR ?=
BINDIR ?= $(PREFIX)/bin
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
MANDIR ?= $(PREFIX)/share/man
DATADIR ?= $(PREFIX)/share
PKGCONFIGDIR ?= $(LIBDIR)/pkgconfig
CMAKEDIR ?= $(LIBDIR)/cmake/Seconder
DOCDIR ?= $(PREFIX)/share/doc/seconder

# What a program needs beside the static library, as rustc --print native-static-libs tells.
NATIVE_LIBRARIES := gcc_s util rt pthread m dl c

# Where the built files are.
FROM ?= $(TARGET)/release

.PHONY: install
install: release install-files ## Installs library, headers, man pages and program: PREFIX=/usr/local DESTDIR=

.PHONY: release
release: ## Builds what is installed
	$(CARGO) $(C_LIBRARY) --release
	$(CARGO) build --release -p seconder-server

.PHONY: install-files
install-files: install-library install-development install-program install-licences ## Installs what `make release` has built, and builds nothing as root: FROM=target/release

.PHONY: install-library
install-library:
	$(call install_libraries,$(FROM),$(DESTDIR)$(LIBDIR))

.PHONY: install-development
install-development:
	install -d "$(DESTDIR)$(INCLUDEDIR)" "$(DESTDIR)$(PKGCONFIGDIR)" "$(DESTDIR)$(CMAKEDIR)"
	install -m 644 include/seconder.h include/seconder.hpp "$(DESTDIR)$(INCLUDEDIR)/"
	$(fill_in) seconder.pc.in | install -m 644 /dev/stdin "$(DESTDIR)$(PKGCONFIGDIR)/seconder.pc"
	for file in SeconderConfig SeconderConfigVersion; do \
		$(fill_in) "cmake/$$file.cmake.in" | \
			install -m 644 /dev/stdin "$(DESTDIR)$(CMAKEDIR)/$$file.cmake"; \
	done
	install -D -m 644 packaging/valgrind.supp "$(DESTDIR)$(DATADIR)/seconder/valgrind.supp"
	packaging/install-pages "$(DESTDIR)$(MANDIR)" man/*.3

.PHONY: install-program
install-program:
	install -d "$(DESTDIR)$(BINDIR)"
	install -m 755 "$(FROM)/seconder" "$(DESTDIR)$(BINDIR)/"
	packaging/install-pages "$(DESTDIR)$(MANDIR)" man/*.8

.PHONY: install-licences
install-licences:
	install -d "$(DESTDIR)$(DOCDIR)"
	install -m 644 LICENSE-* "$(DESTDIR)$(DOCDIR)/"

.PHONY: uninstall
uninstall: ## Removes what `make install` put there, with the same PREFIX= DESTDIR=
	rm -f "$(DESTDIR)$(LIBDIR)/"libseconder.{a,so} "$(DESTDIR)$(LIBDIR)/"libseconder.so.*
	rm -f "$(DESTDIR)$(INCLUDEDIR)/"seconder.{h,hpp} "$(DESTDIR)$(PKGCONFIGDIR)/seconder.pc"
	rm -f "$(DESTDIR)$(CMAKEDIR)/"SeconderConfig{,Version}.cmake
	rm -f "$(DESTDIR)$(MANDIR)/man3/"seconder{,_*}.3 "$(DESTDIR)$(MANDIR)/man8/seconder.8"
	rm -f "$(DESTDIR)$(BINDIR)/seconder"
	rm -f "$(DESTDIR)$(DATADIR)/seconder/valgrind.supp" "$(DESTDIR)$(DOCDIR)/"LICENSE-{APACHE,MIT,THIRD-PARTY}
	rmdir "$(DESTDIR)$(CMAKEDIR)" "$(DESTDIR)$(DATADIR)/seconder" "$(DESTDIR)$(DOCDIR)" 2>/dev/null || true

# A folder tree that was installed can be moved: what is in it is found from where a file itself is.
# Names may have spaces, so that they are no lists of words: the mark is where a name begins.
beneath_prefix = $(subst ^,,$(subst ^$(PREFIX)/,$${prefix}/,^$(1)))
fill_in = sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@VERSION@|$(VERSION)|' -e 's|@SONAME@|$(SONAME)|' \
	-e 's|@NATIVE_FLAGS@|$(NATIVE_LIBRARIES:%=-l%)|' \
	-e 's|@NATIVE_LIST@|$(subst $() ,;,$(NATIVE_LIBRARIES))|' \
	-e 's|@LIBDIR@|$(call beneath_prefix,$(LIBDIR))|' \
	-e 's|@INCLUDEDIR@|$(call beneath_prefix,$(INCLUDEDIR))|' \
	-e "s|@CMAKE_TO_LIB@|$$(realpath -ms --relative-to='$(CMAKEDIR)' '$(LIBDIR)')|" \
	-e "s|@CMAKE_TO_INCLUDE@|$$(realpath -ms --relative-to='$(CMAKEDIR)' '$(INCLUDEDIR)')|"

# The libraries from folder $(1) to folder $(2), by the names that linkers and loaders look for.
define install_libraries
	install -d "$(2)"
	@install -m 644 "$(1)/libseconder.a" "$(2)/"
	@install -m 755 "$(1)/libseconder.so" "$(2)/libseconder.so.$(VERSION)"
	@ln -sf libseconder.so.$(VERSION) "$(2)/$(SONAME)"
	@ln -sf $(SONAME) "$(2)/libseconder.so"
endef
