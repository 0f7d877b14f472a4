//! The directory of login names: maps a name on machines to its user (interface 4.17 to 4.19).

use crate::calls::{Done, FindUser, FoundUser, RemoveLogin, SetLogin};
use crate::engine::core::Engine;
use crate::engine::model::rejections;
use crate::engine::operations::users::{self, LoginRemoved, LoginSet};
use crate::{Handle, Result};

impl Handle<FindUser> for Engine {
    fn handle(&self, call: &FindUser) -> Result<FoundUser> {
        self.begin();
        let (app, login) = (self.app.app_id, call.login.clone());
        let found = self.look(move |view| users::of_login(view, app, login.as_str()))?;
        let (user, left) = found.ok_or_else(|| rejections::login_not_found(&call.login))?;
        let mut found = FoundUser::new(user.user_id, call.login.clone());
        found.confirmed = user.confirmed;
        found.authenticator = user.authenticator_used;
        found.devices = user.device_types();
        found.recovery_codes_left = left;
        found.message = Some("User found.".into());
        Ok(found)
    }
}

impl Handle<SetLogin> for Engine {
    fn handle(&self, call: &SetLogin) -> Result<Done> {
        let now = self.begin();
        let (app, user_id, login) = (self.app.app_id, call.user_id, call.login.clone());
        let trail = self.trail::<SetLogin>(now, None)?;
        let set = self.run(move |view| {
            let set = users::set_login(view, app, user_id, login.as_str())?;
            if set == LoginSet::Done {
                trail.done(view, user_id);
            }
            Ok(set)
        })?;
        match set {
            LoginSet::Done => Ok(Done::with_message("Login name was set.")),
            LoginSet::NoUser => Err(rejections::user_not_found()),
            LoginSet::Taken => Err(rejections::login_taken()),
            LoginSet::HasAnother(login) => Err(rejections::has_login(&login)),
        }
    }
}

impl Handle<RemoveLogin> for Engine {
    fn handle(&self, call: &RemoveLogin) -> Result<Done> {
        let now = self.begin();
        let (app, login) = (self.app.app_id, call.login.clone());
        let trail = self.trail::<RemoveLogin>(now, None)?;
        let removed = self.run(move |view| {
            let removed = users::remove_login(view, app, login.as_str())?;
            if let LoginRemoved::Done(user_id) = removed {
                trail.done(view, user_id);
            }
            Ok(removed)
        })?;
        match removed {
            LoginRemoved::Done(_) => Ok(Done::with_message("Login name was removed.")),
            LoginRemoved::Unknown => Err(rejections::login_not_found(&call.login)),
            LoginRemoved::OnlyName => Err(rejections::only_name()),
        }
    }
}
