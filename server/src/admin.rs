//! The commands of the program, one file for each noun.

pub(crate) mod app;
pub(crate) mod approval;
pub(crate) mod arguments;
pub(crate) mod audit;
pub(crate) mod call;
pub(crate) mod commands;
pub(crate) mod config;
pub(crate) mod device;
pub(crate) mod doctor;
pub(crate) mod enrol;
pub(crate) mod exit;
pub(crate) mod forward;
pub(crate) mod given;
#[cfg(unix)]
pub(crate) mod init;
pub(crate) mod jobs;
pub(crate) mod keyring;
pub(crate) mod limits;
pub(crate) mod lookup;
pub(crate) mod maintain;
#[cfg(test)]
mod manual;
pub(crate) mod moment;
pub(crate) mod moving;
pub(crate) mod operator;
#[cfg(unix)]
pub(crate) mod owner;
pub(crate) mod pam;
pub(crate) mod part;
pub(crate) mod prompt;
pub(crate) mod qr;
pub(crate) mod route;
pub(crate) mod table;
pub(crate) mod target;
pub(crate) mod user;
