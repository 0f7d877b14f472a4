//! How the module is linked.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // `nodelete`: programs unload modules after each login, and what the module's dependencies keep
    // for the whole process would leak each time. `now` and `relro` leave no table of functions to
    // overwrite.
    for option in ["nodelete", "relro", "now", "noexecstack"] {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-z,{option}");
    }
    println!("cargo:rustc-cdylib-link-arg=-Wl,--as-needed,--build-id=sha1");
}
