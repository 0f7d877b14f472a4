//! The C header and the shared library's name, when the C interface is built.

#[cfg(not(feature = "capi"))]
fn main() {
    println!("cargo:rerun-if-changed=build.rs");
}

#[cfg(feature = "capi")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Programs link with the major number alone, so that a newer minor version can take its place.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libseconder.so.0");
    // What dependencies keep for the whole process, such as numbering plans of several megabytes,
    // would be lost at dlclose() and made anew at the next dlopen(). So the library stays.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    header::write()
}

#[cfg(feature = "capi")]
#[allow(clippy::disallowed_methods, reason = "cargo tells a build script by its environment")]
mod header {
    use std::path::Path;

    /// The sources of the header, in the order in which a reader of the header meets them.
    const SOURCES: [&str; 20] = [
        "status",
        "error",
        "text",
        "userdata",
        "deliver",
        "post",
        "names",
        "open",
        "users",
        "codes",
        "approvals",
        "waiting",
        "phones",
        "application",
        "engine",
        "devices",
        "callback",
        "verifier",
        "totp",
        "checks",
    ];

    pub(crate) fn write() -> Result<(), Box<dyn std::error::Error>> {
        let mut config = cbindgen::Config::from_file("cbindgen.toml")?;
        config.after_includes = config.after_includes.map(|text| with_version(&text));
        let mut builder = cbindgen::Builder::new().with_config(config);
        for name in SOURCES {
            builder = builder.with_src(format!("src/capi/{name}.rs"));
        }
        for input in ["build.rs", "cbindgen.toml", "src/capi", "Cargo.toml"] {
            println!("cargo:rerun-if-changed={input}");
        }
        let folder = std::env::var("OUT_DIR")?;
        builder.generate()?.write_to_file(Path::new(&folder).join("seconder.h"));
        Ok(())
    }

    /// The version is stated in Cargo.toml alone.
    fn with_version(text: &str) -> String {
        text.replace("@VERSION@", env!("CARGO_PKG_VERSION"))
            .replace("@MAJOR@", env!("CARGO_PKG_VERSION_MAJOR"))
            .replace("@MINOR@", env!("CARGO_PKG_VERSION_MINOR"))
            .replace("@PATCH@", env!("CARGO_PKG_VERSION_PATCH"))
    }
}
