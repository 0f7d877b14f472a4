//! The calls that a login makes.

use seconder::calls::{
    Approval, ApprovalCreated, CodeRequested, CreateApproval, Done, FindUser, OfflinePrepared,
    PrepareOffline, ReportOffline, RequestCall, RequestSms, UserStatus, UserStatusReply,
    Verification,
};
use seconder::model::UserId;
use seconder::{ApprovalWait, Handle, Result, Service, Sleeper, Verify};

/// The calls that a login makes: a [`Service`], or its stand-in in tests.
pub trait Backend {
    /// Returns the service's user of a login name, by its directory; `None` if no user has it.
    ///
    /// # Errors
    /// See [`Error`].
    fn find_user(&self, login: &str) -> Result<Option<UserId>>;
    /// Returns the service's record of the user.
    ///
    /// # Errors
    /// See [`Error`].
    fn user_status(&self, call: &UserStatus) -> Result<UserStatusReply>;
    /// Checks a code.
    ///
    /// # Errors
    /// See [`Error`].
    fn verify(&self, call: &Verify) -> Result<Verification>;
    /// Sends a code by SMS.
    ///
    /// # Errors
    /// See [`Error`].
    fn request_sms(&self, call: &RequestSms) -> Result<CodeRequested>;
    /// Sends a code by voice call.
    ///
    /// # Errors
    /// See [`Error`].
    fn request_call(&self, call: &RequestCall) -> Result<CodeRequested>;
    /// Asks the user to approve the login.
    ///
    /// # Errors
    /// See [`Error`].
    fn create_approval(&self, call: &CreateApproval) -> Result<ApprovalCreated>;
    /// Waits for the user's response.
    ///
    /// # Errors
    /// See [`Error`]; and any error of the sleeper.
    fn wait_for_approval(&self, wait: ApprovalWait, sleeper: &mut dyn Sleeper) -> Result<Approval>;
    /// Prepares logins while the service is unreachable.
    ///
    /// # Errors
    /// See [`Error`].
    fn prepare_offline(&self, call: &PrepareOffline) -> Result<OfflinePrepared>;
    /// Reports logins that were accepted while the service was unreachable.
    ///
    /// # Errors
    /// See [`Error`].
    fn report_offline(&self, call: &ReportOffline) -> Result<Done>;
}

impl Backend for Service {
    fn find_user(&self, login: &str) -> Result<Option<UserId>> {
        // No user of the service can have such a name.
        let Ok(login) = login.parse() else { return Ok(None) };
        Ok(FindUser::found(self.handle(&FindUser::new(login)))?.map(|found| found.user_id))
    }
    fn user_status(&self, call: &UserStatus) -> Result<UserStatusReply> {
        self.handle(call)
    }
    fn verify(&self, call: &Verify) -> Result<Verification> {
        self.handle(call)
    }
    fn request_sms(&self, call: &RequestSms) -> Result<CodeRequested> {
        self.handle(call)
    }
    fn request_call(&self, call: &RequestCall) -> Result<CodeRequested> {
        self.handle(call)
    }
    fn create_approval(&self, call: &CreateApproval) -> Result<ApprovalCreated> {
        self.handle(call)
    }
    fn wait_for_approval(&self, wait: ApprovalWait, sleeper: &mut dyn Sleeper) -> Result<Approval> {
        self.wait_for_approval_with(wait, sleeper)
    }
    fn prepare_offline(&self, call: &PrepareOffline) -> Result<OfflinePrepared> {
        self.handle(call)
    }
    fn report_offline(&self, call: &ReportOffline) -> Result<Done> {
        self.handle(call)
    }
}
