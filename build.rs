//! Generates the C header when it is tested.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed=build.rs");
    #[cfg(feature = "header")]
    header::write()?;
    Ok(())
}

#[cfg(feature = "header")]
#[allow(clippy::disallowed_methods, reason = "cargo passes its parameters by the environment")]
mod header {
    use std::path::Path;

    /// The sources of the header in src/capi, in the order in which the header presents them.
    const SOURCES: &[&str] = &[
        "status",
        "error",
        "generated/error",
        "text",
        "generated/text",
        "userdata",
        "generated/deliver",
        "deliver",
        "generated/post",
        "post",
        "lookup",
        "names",
        "generated/open_options",
        "open",
        "log",
        "generated/done",
        "generated/create_user",
        "generated/delete_user",
        "generated/register_activity",
        "generated/user_status",
        "generated/find_user",
        "generated/set_login",
        "generated/remove_login",
        "generated/create_recovery_codes",
        "generated/request_code",
        "generated/verify",
        "generated/enrol_authenticator",
        "generated/confirm_authenticator",
        "generated/factors",
        "generated/remove_authenticator",
        "generated/devices",
        "generated/remove_device",
        "generated/unlock_user",
        "generated/invite_device",
        "generated/remember",
        "generated/recognise",
        "generated/forget",
        "generated/create_approval",
        "generated/check_approval",
        "approvals",
        "waiting",
        "generated/prepare_offline",
        "generated/report_offline",
        "offline",
        "generated/start_phone_verification",
        "generated/check_phone_verification",
        "generated/set_number",
        "generated/phone_verification_status",
        "generated/phone_info",
        "generated/app_details",
        "generated/app_stats",
        "engine",
        "generated/engine",
        "audit",
        "generated/audit",
        "jobs",
        "generated/jobs",
        "operate",
        "sandbox",
        "generated/sandbox",
        "callback",
        "generated/callback",
        "verifier",
        "generated/verifier",
        "totp",
        "generated/totp",
        "checks",
    ];
    /// Those in the crate of the library, which come last.
    const OF_LOGINS: &[&str] = &["prompt", "login"];

    pub(crate) fn write() -> Result<(), Box<dyn std::error::Error>> {
        let mut config = cbindgen::Config::from_file("cbindgen.toml")?;
        let codes = codes(&std::fs::read_to_string("src/codes.rs")?);
        let filled = |text: String| with_version(&text).replace("@CODES@", &codes);
        config.after_includes = config.after_includes.map(filled);
        let mut builder = cbindgen::Builder::new().with_config(config);
        for name in SOURCES {
            builder = builder.with_src(format!("src/capi/{name}.rs"));
        }
        for name in OF_LOGINS {
            builder = builder.with_src(format!("bindings/c/src/{name}.rs"));
        }
        // Cargo then reruns this script only when the header can have changed.
        for input in ["cbindgen.toml", "src/capi", "bindings/c/src", "src/codes.rs", "Cargo.toml"] {
            println!("cargo:rerun-if-changed={input}");
        }
        let folder = std::env::var("OUT_DIR")?;
        builder.generate()?.write_to_file(Path::new(&folder).join("seconder.h"));
        Ok(())
    }

    /// The constants of the error codes of services, each of which is one line of the source.
    fn codes(source: &str) -> String {
        let mut constants = Vec::new();
        for line in source.lines() {
            let declared = line.trim().strip_suffix("\";");
            if let Some((name, rest)) = declared.and_then(|line| line.split_once(" = \""))
                && let Some((code, meaning)) = rest.split_once("\", \"")
            {
                let meaning = format!("/** The service code for: {meaning}. */");
                constants.push(format!("{meaning}\n#define SECONDER_CODE_{name} \"{code}\""));
            }
        }
        constants.join("\n")
    }

    /// Fills in the version, which is stated only in Cargo.toml.
    fn with_version(text: &str) -> String {
        text.replace("@VERSION@", env!("CARGO_PKG_VERSION"))
            .replace("@MAJOR@", env!("CARGO_PKG_VERSION_MAJOR"))
            .replace("@MINOR@", env!("CARGO_PKG_VERSION_MINOR"))
            .replace("@PATCH@", env!("CARGO_PKG_VERSION_PATCH"))
    }
}
