//! Linker options of the shared library for cargo-c. What `make` installs is linked by packaging/libraries.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if cfg!(feature = "capi") {
        // The soname has only the major number, so that a newer minor version can replace the library
        // without relinking the programs that use it.
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libseconder.so.0");
        // Dependencies keep data for the whole process, such as numbering plans of several megabytes. If the
        // library could be unloaded, each dlclose() would leak it, and the next dlopen() would allocate it
        // again.
        println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
