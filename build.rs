//! The C header and the shared library's name, when the C interface is built.

fn main() {}
