//! The options for the names of a service.

use crate::admin::input::COMMON;
use clap::Args;
use seconder::Result;
use seconder::wire::Names;

/// The names that --names does not give.
#[derive(Args)]
pub(crate) struct SingleNames {
    /// Field that holds a user's id, such as svc_id; overrides --names.
    #[arg(long, value_name = "NAME", help_heading = COMMON)]
    pub(crate) id_field: Option<String>,
    /// Device type of the browser, such as svc_chrome; overrides --names.
    #[arg(long, value_name = "NAME", help_heading = COMMON)]
    pub(crate) chrome_device: Option<String>,
    /// Prefix of the header names, such as X-Svc-; overrides --names.
    #[arg(long, value_name = "PREFIX", help_heading = COMMON)]
    pub(crate) header_prefix: Option<String>,
    /// First part of the paths of approval requests, in place of push.
    #[arg(long, value_name = "WORD", help_heading = COMMON)]
    pub(crate) push_path: Option<String>,
}

impl SingleNames {
    /// Returns the names with this word for `svc`, except for names that are given; `None` if neither the word nor a
    /// name is.
    pub(crate) fn beside(&self, word: Option<&str>) -> Result<Option<Names>> {
        let options = [&self.push_path, &self.id_field, &self.chrome_device, &self.header_prefix];
        if word.is_none() && options.iter().all(|option| option.is_none()) {
            return Ok(None);
        }
        let mut names = word.map_or(Ok(Names::default()), Names::new)?;
        if let Some(word) = &self.push_path {
            names = names.push_path(word)?;
        }
        if let Some(field) = &self.id_field {
            names = names.id_field(field)?;
        }
        if let Some(device) = &self.chrome_device {
            names = names.chrome_device(device)?;
        }
        if let Some(prefix) = &self.header_prefix {
            names = names.header_prefix(prefix)?;
        }
        Ok(Some(names))
    }
}
