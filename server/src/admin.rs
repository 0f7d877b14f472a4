//! The commands of the program, one file for each noun, and the rooms that they share.

// What the commands share.
pub(crate) mod config;
pub(crate) mod database;
pub(crate) mod input;
pub(crate) mod output;

// The commands.
pub(crate) mod app;
pub(crate) mod approval;
pub(crate) mod audit;
pub(crate) mod backups;
pub(crate) mod call;
pub(crate) mod device;
pub(crate) mod doctor;
pub(crate) mod enrol;
pub(crate) mod forward;
#[cfg(unix)]
pub(crate) mod init;
pub(crate) mod jobs;
pub(crate) mod key;
pub(crate) mod keyring;
pub(crate) mod limits;
pub(crate) mod lookup;
pub(crate) mod maintain;
#[cfg(test)]
mod manual;
pub(crate) mod moving;
pub(crate) mod operator;
pub(crate) mod pam;
#[cfg(unix)]
pub(crate) mod relay;
#[cfg(unix)]
pub(crate) mod reload;
pub(crate) mod route;
pub(crate) mod serve;
pub(crate) mod user;
