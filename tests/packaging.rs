//! The files for packagers agree with each other and with the sources.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

#[path = "header/mod.rs"]
mod header;

use header::{read, root};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

/// Every header is installed, by `make install` and by cargo-c. A template of one is not.
#[test]
fn every_header_is_installed() {
    let (makefile, manifest) = (read("packaging/install.mk"), read("bindings/c/Cargo.toml"));
    let files = fs::read_dir(root().join("include")).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    for name in names.filter(|name| !name.ends_with(".in")) {
        let path = format!("include/{name}");
        assert!(makefile.contains(&path), "packaging/install.mk: does not install {path}");
        let asset = format!("{{ from = \"../../{path}\", to = \"\" }}");
        assert!(
            manifest.contains(&asset),
            "bindings/c/Cargo.toml: metadata.capi.install lacks {asset}"
        );
    }
    assert!(![makefile, manifest].iter().any(|text| text.contains(".hpp.in")));
}

/// Every binary must come with the licence notices of the crates that are linked into it.
#[test]
fn third_party_licence_notices_are_complete() {
    let file = "LICENSE-THIRD-PARTY";
    let checked = Command::new("packaging/notices.py")
        .arg("--check")
        .arg(file)
        .current_dir(root())
        .output()
        .unwrap();
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
    for text in ["ring 0", "rustls 0", "BSD-3-Clause", "Permission to use, copy, modify, and/or"] {
        assert!(read(file).contains(text), "{text}");
    }
}

/// What `.cargo/config.toml` says is left out is left out, because a quarter of SQLite is a tenth of the
/// library.
#[test]
fn sqlite_lacks_what_no_statement_uses() {
    let database = rusqlite::Connection::open_in_memory().unwrap();
    let mut options = database.prepare("PRAGMA compile_options").unwrap();
    let options = options.query_map([], |row| row.get::<_, String>(0)).unwrap();
    let options: Vec<String> = options.map(Result::unwrap).collect();
    let flags = read(".cargo/config.toml");
    let mut removed = 0;
    for flag in flags.split_whitespace() {
        let has = |name: &str| options.iter().any(|option| option.split('=').next() == Some(name));
        if let Some(name) = flag.strip_prefix("-USQLITE_") {
            assert!(!has(name), ".cargo/config.toml: SQLite has {name} all the same");
            removed += 1;
        }
        if let Some(name) = flag.strip_prefix("-DSQLITE_") {
            assert!(has(name.trim_end_matches('\\')), ".cargo/config.toml: SQLite lacks {name}");
            removed += 1;
        }
    }
    assert!(removed > 10, ".cargo/config.toml has no flags for SQLite");
}

/// `make install` replaces every placeholder of the templates.
#[test]
fn installed_templates_are_filled_in() {
    let folder = tempfile::tempdir().unwrap();
    let made = Command::new("sh")
        .args(["-c", "umask 077; exec make -s install-development \"$@\"", "sh"])
        .args(["PREFIX=/opt/a prefix", "LIBDIR=/opt/a prefix/lib64"])
        .arg(format!("DESTDIR={}", folder.path().display()))
        .current_dir(root())
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let lib = folder.path().join("opt/a prefix/lib64");
    let pkg_config = fs::read_to_string(lib.join("pkgconfig/seconder.pc")).unwrap();
    let cmake = fs::read_to_string(lib.join("cmake/Seconder/SeconderConfig.cmake")).unwrap();
    let version = fs::read_to_string(lib.join("cmake/Seconder/SeconderConfigVersion.cmake"));
    for text in [&pkg_config, &cmake, &version.unwrap()] {
        assert!(!text.contains('@'), "{text}");
    }
    // Every user can read them, whatever the umask of the user who installs them.
    for file in ["pkgconfig/seconder.pc", "cmake/Seconder/SeconderConfig.cmake"] {
        let mode = fs::metadata(lib.join(file)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o644, "{file}");
    }
    let path = folder.path().to_str().unwrap();
    assert!(
        !pkg_config.contains(path) && !cmake.contains(path),
        "the build folder must not appear"
    );
    assert!(pkg_config.contains("\nlibdir=${prefix}/lib64\n"), "{pkg_config}");
    assert!(pkg_config.contains("\nincludedir=${prefix}/include\n"), "{pkg_config}");
    assert!(cmake.contains("${CMAKE_CURRENT_LIST_DIR}/../..\""), "{cmake}");
    assert!(cmake.contains("${CMAKE_CURRENT_LIST_DIR}/../../../include\""), "{cmake}");
}

/// What docs/pam.md has an administrator write fits the units that it has them switch on.
#[test]
fn the_page_about_logins_fits_the_units() {
    let (page, socket) = (read("docs/pam.md"), read("packaging/systemd/seconder.socket"));
    let service = read("packaging/systemd/seconder.service");
    let value = |text: &str, key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key));
        line.unwrap_or_else(|| panic!("no {key}")).trim().to_owned()
    };
    assert_eq!(value(&page, "url = unix:"), value(&socket, "ListenStream="));
    let user = value(&page, "service_user = ");
    assert_eq!(
        [value(&socket, "SocketUser="), value(&service, "User=")],
        [user.clone(), user.clone()]
    );
    assert!(page.contains(&format!("runuser -u {user} -- ")));
    assert!(read("packaging/systemd/seconder.sysusers").contains(&format!("\nu {user} -")));
    let folder = format!("/var/lib/{}", value(&service, "StateDirectory="));
    assert!(page.contains(&format!("database=sqlite:{folder}/seconder.db")), "{folder}");
    // All read the file that the page has `seconder init` write.
    let (_, file) = page.split_once("seconder init --config ").unwrap();
    let file = file.split_whitespace().next().unwrap();
    for text in [&page, &service, &read("docs/operate.md")] {
        assert!(text.contains(&format!("--config {file}")), "{file}");
    }
    let start = value(&service, "ExecStart=");
    assert_eq!(start, format!("/usr/bin/seconder serve --config {file}"));
    assert_eq!(value(&service, "AssertPathExists="), file);
    assert!(page.contains("systemctl enable --now seconder.socket"));
}

/// systemd reads the units without a complaint, and rates the service as `OK` or better.
#[test]
fn the_units_are_valid_and_the_service_is_hardened() {
    if Command::new("systemd-analyze").arg("--version").output().is_err() {
        println!("skipped: systemd-analyze is not here");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for name in ["seconder.service", "seconder.socket"] {
        // The program need not be installed.
        let unit = read(&format!("packaging/systemd/{name}"));
        let unit = unit.replace("/usr/bin/seconder", "/bin/true");
        fs::write(folder.path().join(name), unit).unwrap();
    }
    let analyze = |arguments: &[&str]| {
        let mut command = Command::new("systemd-analyze");
        command.args(arguments).arg(folder.path().join("seconder.service")).output().unwrap()
    };
    let verified = analyze(&["verify", "--man=no"]);
    let printed = String::from_utf8_lossy(&verified.stderr);
    let of_units = printed.lines().filter(|line| line.contains("seconder"));
    assert_eq!(of_units.collect::<Vec<_>>(), [""; 0], "{printed}");
    let rated = analyze(&["security", "--offline=true", "--threshold=15", "--no-pager"]);
    assert!(rated.status.success(), "{}", String::from_utf8_lossy(&rated.stdout));
}

/// A package index shows these without the project around them.
#[test]
fn descriptions_of_packages_link_to_pages_of_the_project() {
    let manifest = read("Cargo.toml");
    let repository = value_of(&manifest, "repository");
    let pages = format!("{repository}/blob/main/");
    for file in ["bindings/python/README.md", "server/DESCRIPTION.md"] {
        let text = read(file);
        let lines: Vec<_> = text.lines().collect();
        let inline = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        let named = lines.iter().filter(|line| line.starts_with('[')).filter_map(|line| {
            let (_, link) = line.split_once("]: ")?;
            Some(link)
        });
        for link in inline.chain(named) {
            assert!(link.starts_with("https://"), "{file}: {link} is relative: use {pages}{link}");
            let Some(page) = link.strip_prefix(&pages) else { continue };
            let (page, heading) = page.split_once('#').unwrap_or((page, ""));
            assert!(root().join(page).exists(), "{file}: {page} is not there");
            let heading = heading.replace('-', " ");
            let found = read(page).to_lowercase().contains(&format!("# {heading}"));
            assert!(heading.is_empty() || found, "{file}: {page} has no heading {heading}");
        }
    }
    for file in ["bindings/python/pyproject.toml", "server/pyproject.toml"] {
        let text = read(file);
        assert_eq!(value_of(&text, "Source"), repository, "{file}");
        for page in text.split(&pages).skip(1).filter_map(|rest| rest.split('"').next()) {
            assert!(root().join(page).exists(), "{file}: {page} is not there");
        }
    }
}

/// The module and the program are released together, and installed in one version.
#[test]
fn the_extra_installs_the_program_of_the_same_version() {
    let version = value_of(&read("Cargo.toml"), "version");
    let project = read("bindings/python/pyproject.toml");
    assert!(project.contains(&format!("\nserver = [\"seconder-server=={version}\"]\n")));
}

/// The value of the first line `key = "value"`.
fn value_of(text: &str, key: &str) -> String {
    let start = format!("{key} = \"");
    let value = text.lines().find_map(|line| line.strip_prefix(&start)?.strip_suffix('"'));
    value.unwrap_or_else(|| panic!("no {key}")).to_owned()
}
