//! The user whom a command is for, and the state of that user's account.

use crate::admin::database::target::Target;
use crate::invalid;
use clap::Args;
use seconder::calls::{FoundUser, UserStatusReply};
use seconder::engine::DeviceType;
use seconder::model::{LoginName, UserId};
use seconder::{Result, Service};

#[derive(Args)]
#[group(required = true, multiple = false)]
pub(crate) struct Who {
    /// Id of the user.
    #[arg(long, value_name = "ID")]
    user: Option<UserId>,
    /// Login name of the user.
    #[arg(long, value_name = "NAME")]
    login: Option<LoginName>,
}

impl Who {
    /// Opens the service, and returns it with its user.
    pub(super) fn of(&self, target: &Target) -> Result<(Service, UserId)> {
        let service = target.open()?;
        let (user_id, _) = self.find(&service)?;
        Ok((service, user_id))
    }

    /// Returns the user, with the entry of the directory of login names, if a name was given.
    pub(super) fn find(&self, service: &Service) -> Result<(UserId, Option<FoundUser>)> {
        match (self.user, &self.login) {
            (Some(user), _) => Ok((user, None)),
            (None, Some(login)) => {
                let found = service.find_user(login)?;
                Ok((found.user_id, Some(found)))
            }
            (None, None) => Err(invalid("user", "must be given, or the login name".to_owned())),
        }
    }
}

/// Returns the status of a user, with these names.
pub(super) fn status_of(service: &Service, user_id: UserId) -> Result<UserStatusReply> {
    let mut status = service.user_status(user_id)?;
    let devices = status.factors.iter_mut().flat_map(|factors| &mut factors.devices);
    for name in devices.filter_map(|device| device.r#type.as_mut()).chain(&mut status.devices) {
        *name = device_type(service, name);
    }
    Ok(status)
}

/// Returns the application's name for a type of devices, if the target is a database. A service uses it itself.
pub(super) fn device_type(service: &Service, name: &str) -> String {
    let engine = service.engine();
    engine.map_or(name, |engine| DeviceType::shown(name, engine.names())).to_owned()
}
