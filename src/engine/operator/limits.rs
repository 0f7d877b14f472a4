//! Operations on the limits of the application.

use super::apps::AppSettings;
use super::declaration::{Operation, operation};
use crate::Result;
use crate::engine::core::Engine;
use crate::engine::handlers::applications;
use crate::engine::model::limits::Limits;
use crate::engine::operations::applications as stored;

operation! {
    /// Returns the limits of the application, as they are stored.
    ShowLimits = "limits.show" -> Limits {}
}

impl ShowLimits {
    fn run(&self, engine: &Engine) -> Result<Limits> {
        let id = engine.app.app_id;
        let app = engine.look(move |view| stored::of_id(view, id))?;
        app.map(|app| app.settings.limits).ok_or_else(applications::removed)
    }
}

operation! {
    /// Changes limits of the application, and returns all of them. `seconder serve` applies them
    /// within seconds, other programs that have the database open when they open it again.
    SetLimits = "limits.set" -> Limits {
        /// Those to change, as `name=value`, separated by spaces or commas: see [`Limits::set`].
        limits: String,
    }
}

impl SetLimits {
    fn run(&self, engine: &Engine) -> Result<Limits> {
        Limits::default().set(&self.limits)?;
        let change = AppSettings { limits: Some(self.limits.clone()), ..AppSettings::default() };
        let trail = engine.trail_of(SetLimits::NAME, engine.now(), None)?;
        engine.run(move |view| stored::configure(view, &change, &trail))?;
        engine.shared.forget_applications();
        ShowLimits {}.run(engine)
    }
}
