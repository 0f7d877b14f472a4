# Installs what was built, into folders that have the names of the GNU coding standards. Included by
# the Makefile.

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
# Where PAM looks for modules: next to the one that every system has. PREFIX does not change it.
PAMDIR ?= $(or $(patsubst %/,%,$(dir $(firstword $(wildcard /usr/lib/*/security/pam_unix.so \
	/usr/lib64/security/pam_unix.so /usr/lib/security/pam_unix.so /lib/*/security/pam_unix.so \
	/lib64/security/pam_unix.so /lib/security/pam_unix.so)))),$(LIBDIR)/security)

# The libraries that a program needs beside the static one, as printed by
# rustc --print native-static-libs, but for gcc_s: compilers add the unwinder themselves, from libgcc_s
# or, with -static, for which there is no libgcc_s, from libgcc_eh.
NATIVE_LIBRARIES := util rt pthread m dl c

# The examples in C and C++, which man pages refer to.
EXAMPLES := $(wildcard examples/*.c examples/*.cpp)

# Examples of units, which need an administrator's decisions.
UNITS := $(addprefix packaging/systemd/seconder.,service socket sysusers tmpfiles)

# Alerts and a dashboard for those who watch the service.
MONITORING := $(wildcard packaging/monitoring/*)

# The page of the PAM module, which Debian has in its package. That of the configuration is with
# seconder-login, which reads it too, and `seconder check-pam`.
PAM_PAGES := man/pam_seconder.8

# Where the built files are.
FROM ?= $(TARGET)/release/install

.PHONY: install
install: release install-files ## Installs everything: PREFIX=/usr/local DESTDIR=

# The C that is bundled, SQLite above all, notices a stack or a buffer that is overwritten. Flags of the
# caller come after these.
HARDENED := CFLAGS="$$(cat packaging/c-flags) $${CFLAGS-}"

.PHONY: release
release: ## Builds what `make install` installs
	$(HARDENED) packaging/without-paths $(CARGO) $(C_LIBRARY) $(C_FEATURES) --release
	$(HARDENED) packaging/without-paths $(CARGO) build --release -p seconder-server
	$(HARDENED) packaging/without-paths $(CARGO) build --release -p seconder-login
	$(HARDENED) $(PAM_RELEASE)
	@$(call link_libraries,$(TARGET)/release,$(TARGET)/release/install)
	@install -m 755 $(TARGET)/release/seconder $(TARGET)/release/seconder-login $(TARGET)/release/install/
	@install -m 644 $(PAM_RELEASED) $(TARGET)/release/install/pam_seconder.so
	packaging/split $(addprefix $(TARGET)/release/install/,libseconder.a libseconder.so seconder seconder-login pam_seconder.so)
	packaging/without-paths --check $(TARGET)/release/install/*
	@for file in libseconder.so seconder; do \
		nm -D $(TARGET)/release/install/$$file | grep __stack_chk_fail >/dev/null || \
			{ echo "$$file was built without stack protectors" >&2; exit 1; }; \
	done

.PHONY: install-files
install-files: install-library install-development install-program install-pam install-licences
install-files: ## Installs what `make release` built, without building as root: FROM=target/release/install

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
	install -d "$(DESTDIR)$(DATADIR)/seconder"
	install -m 644 packaging/valgrind.supp packaging/helgrind.supp "$(DESTDIR)$(DATADIR)/seconder/"
	packaging/install-pages "$(DESTDIR)$(MANDIR)" man/*.3
	install -d "$(DESTDIR)$(DOCDIR)/examples"
	install -m 644 $(EXAMPLES) "$(DESTDIR)$(DOCDIR)/examples/"

.PHONY: install-program
install-program:
	install -d "$(DESTDIR)$(BINDIR)"
	install -m 755 "$(FROM)/seconder" "$(FROM)/seconder-login" "$(DESTDIR)$(BINDIR)/"
	packaging/install-pages "$(DESTDIR)$(MANDIR)" $(filter-out $(PAM_PAGES),$(wildcard man/*.8 man/*.7 man/*.5))
	install -d "$(DESTDIR)$(DATADIR)/bash-completion/completions"
	"$(FROM)/seconder" completions bash | \
		install -m 644 /dev/stdin "$(DESTDIR)$(DATADIR)/bash-completion/completions/seconder"
	install -d "$(DESTDIR)$(DOCDIR)/systemd"
	install -m 644 $(UNITS) "$(DESTDIR)$(DOCDIR)/systemd/"
	install -d "$(DESTDIR)$(DOCDIR)/monitoring"
	install -m 644 $(MONITORING) "$(DESTDIR)$(DOCDIR)/monitoring/"

# A module that is there is used only where a file of /etc/pam.d says so.
.PHONY: install-pam
install-pam:
	install -d "$(DESTDIR)$(PAMDIR)"
	install -m 644 "$(FROM)/pam_seconder.so" "$(DESTDIR)$(PAMDIR)/"
	packaging/install-pages "$(DESTDIR)$(MANDIR)" $(PAM_PAGES)

.PHONY: install-licences
install-licences:
	install -d "$(DESTDIR)$(DOCDIR)"
	install -m 644 LICENSE-* "$(DESTDIR)$(DOCDIR)/"

.PHONY: uninstall
uninstall: ## Removes what `make install` put there, with the same PREFIX= DESTDIR=
	rm -f "$(DESTDIR)$(LIBDIR)/"libseconder.{a,so} "$(DESTDIR)$(LIBDIR)/"libseconder.so.*
	rm -f "$(DESTDIR)$(INCLUDEDIR)/"seconder.{h,hpp} "$(DESTDIR)$(PKGCONFIGDIR)/seconder.pc"
	rm -f "$(DESTDIR)$(CMAKEDIR)/"SeconderConfig{,Version}.cmake
	rm -f "$(DESTDIR)$(MANDIR)/man3/"seconder{,-*,_*}.3 "$(DESTDIR)$(MANDIR)/man7/"seconder-*.7
	rm -f "$(DESTDIR)$(MANDIR)/man8/"{seconder,seconder-login,pam_seconder}.8 "$(DESTDIR)$(MANDIR)/man5/"seconder{,-pam}.conf.5
	rm -f "$(DESTDIR)$(BINDIR)/"seconder{,-login} "$(DESTDIR)$(PAMDIR)/pam_seconder.so"
	rm -f "$(DESTDIR)$(DATADIR)/seconder/"{valgrind,helgrind}.supp
	rm -f "$(DESTDIR)$(DATADIR)/bash-completion/completions/seconder"
	rm -f "$(DESTDIR)$(DOCDIR)/"LICENSE-{APACHE,MIT,THIRD-PARTY}
	rm -f $(EXAMPLES:%="$(DESTDIR)$(DOCDIR)/%")
	rm -f $(UNITS:packaging/%="$(DESTDIR)$(DOCDIR)/%") $(MONITORING:packaging/%="$(DESTDIR)$(DOCDIR)/%")
	@# A folder that still has files of others stays.
	rmdir "$(DESTDIR)$(CMAKEDIR)" "$(DESTDIR)$(DATADIR)/seconder" \
		"$(DESTDIR)$(DOCDIR)/examples" "$(DESTDIR)$(DOCDIR)/systemd" \
		"$(DESTDIR)$(DOCDIR)/monitoring" "$(DESTDIR)$(DOCDIR)" \
		2>/dev/null || true

# An installed tree can be moved, because its files find each other relative to their own location.
# Names may have spaces, at which `patsubst` would split them, so `subst` is used; the mark ^ stands
# for the beginning of the name.
beneath_prefix = $(subst ^,,$(subst ^$(PREFIX)/,$${prefix}/,^$(1)))
fill_in = sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@VERSION@|$(VERSION)|' -e 's|@SONAME@|$(SONAME)|' \
	-e 's|@NATIVE_FLAGS@|$(NATIVE_LIBRARIES:%=-l%)|' \
	-e 's|@NATIVE_LIST@|$(subst $() ,;,$(NATIVE_LIBRARIES))|' \
	-e 's|@LIBDIR@|$(call beneath_prefix,$(LIBDIR))|' \
	-e 's|@INCLUDEDIR@|$(call beneath_prefix,$(INCLUDEDIR))|' \
	-e "s|@CMAKE_TO_LIB@|$$(realpath -ms --relative-to='$(CMAKEDIR)' '$(LIBDIR)')|" \
	-e "s|@CMAKE_TO_INCLUDE@|$$(realpath -ms --relative-to='$(CMAKEDIR)' '$(INCLUDEDIR)')|"

# Makes the libraries that are installed of the one that cargo left in folder $(1), in folder $(2).
link_libraries = CC="$(CC)" packaging/libraries "$(1)/libseconder_c.a" "$(2)" $(VERSION)

# Installs the libraries from folder $(1) into folder $(2), under the names that linkers and loaders
# look for.
define install_libraries
	install -d "$(2)"
	@install -m 644 "$(1)/libseconder.a" "$(2)/"
	@install -m 755 "$(1)/libseconder.so" "$(2)/libseconder.so.$(VERSION)"
	@ln -sf libseconder.so.$(VERSION) "$(2)/$(SONAME)"
	@ln -sf $(SONAME) "$(2)/libseconder.so"
endef
