//! Functions of the program, as an engine in this process calls them. What a function of the C interface does with an
//! engine is in the macro of the same name in [`super::ffi`].

mod deliver;
mod jobs;
mod lookup;
mod post;
