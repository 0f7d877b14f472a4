//! The library for C and C++, `libseconder`.
//!
//! The functions of the header `include/seconder.h` are in `seconder::capi`, which this crate links as a whole.

use seconder as _;
