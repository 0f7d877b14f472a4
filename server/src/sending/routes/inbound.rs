//! Requests of providers after they have a message: reports of its outcome, and fetches of the document that a voice
//! reads out. Their secrets are in the paths.

use super::Routes;
use super::route::{OpenRoute, Route, locked};
use crate::PublicUrl;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use seconder::engine::{Engine, Message, Outcome};
use seconder::model::Secret;
use seconder::{Error, Result};
use seconder_gateways::{Delivery, Outgoing, Posted, Receipt, TakeReceipt, Urls};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::thread::{Builder, sleep};
use std::time::{Duration, Instant};

/// The time that a message waits whose document could not be stored.
const UNSTORED: Duration = Duration::from_secs(5);
/// The time that a message may take to be known after the receipt for it.
const EARLY: Duration = Duration::from_secs(5);
/// The number of receipts in a row that match nothing after which this is logged. Single ones belong to messages whose
/// jobs are forgotten, or to other programs that share the account.
const IN_A_ROW: u32 = 3;
/// The time after which it is logged again.
const LOGGED_AGAIN: Duration = Duration::from_secs(60 * 60);

/// The labels by which receipts are counted.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct ReceiptKind {
    route: String,
    /// The state: `delivered`, `failed`, `pending` or `unreadable`.
    state: &'static str,
}

/// The state besides its routes that a process needs for the requests of providers.
pub(super) struct Inbound {
    public_url: Option<PublicUrl>,
    /// The engine that stores receipts and documents. It would never be closed if the routes, which it has for its
    /// messages, had it for good.
    engine: Mutex<Option<Engine>>,
    receipts: Family<ReceiptKind, Counter>,
    /// The receipts that matched nothing, by their routes.
    unmatched: Mutex<HashMap<String, Unmatched>>,
    /// Routes with a receipt that could not be read, which was logged.
    unreadable: Mutex<HashSet<String>>,
}

/// The receipts of a route that matched no message.
#[derive(Default)]
struct Unmatched {
    /// The number of them since one matched.
    in_a_row: u32,
    /// Set while the latest one may still match.
    is_looked_at: bool,
    logged: Option<Instant>,
}

impl Inbound {
    pub(super) fn new(public_url: Option<PublicUrl>) -> Inbound {
        Inbound {
            public_url,
            engine: Mutex::default(),
            receipts: Family::default(),
            unmatched: Mutex::default(),
            unreadable: Mutex::default(),
        }
    }
}

/// The attachment to an engine: until it is dropped, received data is stored.
pub struct Attached(Routes);

impl Drop for Attached {
    fn drop(&mut self) {
        drop(locked(&self.0.0.inbound.engine).take());
    }
}

/// The resource that a provider may request by the path of a URL.
pub(crate) enum Endpoint {
    /// A report on a message.
    Receipt(RouteRef),
    /// A fetch of a document.
    Document(RouteRef, Secret),
}

/// A route that was asked for, as it was then.
pub(crate) struct RouteRef(Arc<Route>);

impl RouteRef {
    pub(crate) fn name(&self) -> &str {
        &self.0.name
    }
}

impl Routes {
    /// Has receipts and documents of these routes stored by this engine. Receipts by a connection of a gateway are not
    /// acknowledged before.
    #[must_use]
    pub fn attach(&self, engine: &Engine) -> Attached {
        *locked(&self.0.inbound.engine) = Some(engine.clone());
        Attached(self.clone())
    }

    /// Connects the gateways by which receipts for messages of earlier processes can arrive.
    pub(crate) fn start_gateways(&self) {
        for route in self.all().iter() {
            let Ok(open) = &route.open else { continue };
            if let Err(error) = open.gateway.start() {
                (self.0.log)(&format!(
                    "error: route {}: no connection was made: {error}",
                    route.name
                ));
            }
        }
    }

    fn engine(&self) -> Result<Engine> {
        let engine = locked(&self.0.inbound.engine).clone();
        engine.ok_or_else(|| crate::internal("the routes are not attached to an engine"))
    }

    /// Returns the function that takes the receipts of a gateway.
    pub(super) fn receiver(&self, name: &str) -> TakeReceipt {
        let (inner, name) = (Arc::downgrade(&self.0), name.to_owned());
        Arc::new(move |receipt| {
            let Some(inner) = inner.upgrade() else { return false };
            Routes(inner).note(&name, &receipt).is_ok()
        })
    }

    /// Returns the numbers of receipts.
    pub(crate) fn receipts(&self) -> Family<ReceiptKind, Counter> {
        self.0.inbound.receipts.clone()
    }

    /// Counts a receipt.
    pub(crate) fn count_receipt(&self, name: &str, state: Option<&Delivery>) {
        let state = match state {
            Some(Delivery::Delivered) => "delivered",
            Some(Delivery::Failed(_)) => "failed",
            Some(_) => "pending",
            None => "unreadable",
        };
        let kind = ReceiptKind { route: name.to_owned(), state };
        self.0.inbound.receipts.get_or_create(&kind).inc();
    }

    /// Notes a receipt.
    fn note(&self, name: &str, receipt: &Receipt) -> Result<()> {
        if receipt.id.is_empty() {
            // It would have no id the next time either.
            self.count_receipt(name, None);
            if locked(&self.0.inbound.unreadable).insert(name.to_owned()) {
                (self.0.log)(&format!(
                    "route {name}: a receipt has no id, or cannot be read; further ones are not logged"
                ));
            }
            return Ok(());
        }
        let noted =
            self.engine().and_then(|engine| engine.receipt(name, &receipt.id, &receipt.state));
        match noted {
            Ok(known) => {
                self.count_receipt(name, Some(&receipt.state));
                match known {
                    true => self.matched(name),
                    false => self.look_again(name, receipt),
                }
                Ok(())
            }
            // A repetition would have the same error.
            Err(Error::InvalidArgument { .. }) => {
                self.count_receipt(name, None);
                Ok(())
            }
            Err(error) => {
                (self.0.log)(&format!("error: route {name}: a receipt was not stored: {error}"));
                Err(error)
            }
        }
    }

    /// Notes that a receipt of a route has matched.
    fn matched(&self, name: &str) {
        if let Some(unmatched) = locked(&self.0.inbound.unmatched).get_mut(name) {
            unmatched.in_a_row = 0;
        }
    }

    /// Counts a receipt that matches no message. Some in a row are logged, unless the message of the last one is known
    /// soon: providers can be faster than the note that they have accepted it.
    fn look_again(&self, name: &str, receipt: &Receipt) {
        {
            let mut all = locked(&self.0.inbound.unmatched);
            let unmatched = all.entry(name.to_owned()).or_default();
            unmatched.in_a_row = unmatched.in_a_row.saturating_add(1);
            let was_logged = unmatched.logged.is_some_and(|at| at.elapsed() < LOGGED_AGAIN);
            if unmatched.in_a_row < IN_A_ROW || unmatched.is_looked_at || was_logged {
                return;
            }
            unmatched.is_looked_at = true;
        }
        let (inner, of_route) = (Arc::downgrade(&self.0), name.to_owned());
        let (name, receipt) = (of_route.clone(), receipt.clone());
        let look = move || {
            sleep(EARLY);
            let Some(inner) = inner.upgrade() else { return };
            let routes = Routes(inner);
            let engine = routes.engine();
            let noted =
                engine.and_then(|engine| engine.receipt(&name, &receipt.id, &receipt.state));
            let is_unmatched = matches!(noted, Ok(false));
            if !is_unmatched {
                routes.matched(&name);
            }
            if routes.looked(&name) {
                routes.log_unmatched(&name, &receipt.id);
            }
        };
        let started = Builder::new().name("seconder-receipt".to_owned()).spawn(look);
        // Without a thread, the next receipt is checked instead.
        if let (Err(_), Some(unmatched)) =
            (started, locked(&self.0.inbound.unmatched).get_mut(&of_route))
        {
            unmatched.is_looked_at = false;
        }
    }

    /// Notes that a receipt was looked at again. Returns whether it is to be logged.
    fn looked(&self, name: &str) -> bool {
        let mut all = locked(&self.0.inbound.unmatched);
        let Some(unmatched) = all.get_mut(name) else { return false };
        unmatched.is_looked_at = false;
        let is_logged = unmatched.in_a_row >= IN_A_ROW;
        if is_logged {
            unmatched.logged = Some(Instant::now());
        }
        is_logged
    }

    fn log_unmatched(&self, name: &str, id: &str) {
        let all = self.all();
        let open = all.iter().find(|route| route.name == name).and_then(|r| r.open.as_ref().ok());
        let Some(remedy) = open.map(|open| open.gateway.when_unmatched()) else { return };
        let shown = id.bytes().all(|byte| byte.is_ascii_graphic());
        let shown = if shown { format!(" for {id}") } else { String::new() };
        (self.0.log)(&format!(
            "route {name}: a receipt{shown} matches no message that was sent by it, as {} before it: \
             {remedy}. This is logged once an hour at most",
            IN_A_ROW - 1
        ));
    }

    /// Returns the endpoint at a path: `/receipts/ROUTE/SECRET` or `/voice/ROUTE/TOKEN`. `None` for any other path, a
    /// wrong secret included.
    pub(crate) fn endpoint(&self, path: &str) -> Option<Endpoint> {
        let mut steps = path.strip_prefix('/')?.split('/');
        let (what, name, secret) = (steps.next()?, steps.next()?, steps.next()?);
        if steps.next().is_some() || secret.is_empty() {
            return None;
        }
        let all = self.all();
        let route = all.iter().find(|route| route.name == name)?;
        let open = route.open.as_ref().ok()?;
        match what {
            "receipts" => {
                let own = open.settings.receipt_secret.as_ref()?;
                let takes = open.gateway.takes_receipts() && *own == Secret::new(secret);
                takes.then(|| Endpoint::Receipt(RouteRef(Arc::clone(route))))
            }
            "voice" => {
                open.gateway.document_type()?;
                Some(Endpoint::Document(RouteRef(Arc::clone(route)), Secret::new(secret)))
            }
            _ => None,
        }
    }

    /// Returns a path of providers without its secret, for the log.
    pub(crate) fn known_path(path: &str) -> Option<&'static str> {
        let known =
            [("/receipts/", "/receipts/{route}/{secret}"), ("/voice/", "/voice/{route}/{token}")];
        known.into_iter().find(|(begins, _)| path.starts_with(begins)).map(|(_, known)| known)
    }

    /// Returns the name of a route to which a receipt with a wrong secret was sent.
    pub(crate) fn forged(&self, path: &str) -> Option<String> {
        let (name, _) = path.strip_prefix("/receipts/")?.split_once('/')?;
        let all = self.all();
        let route = all.iter().find(|route| route.name == name)?;
        self.endpoint(path).is_none().then(|| route.name.clone())
    }

    /// Reads a receipt.
    ///
    /// # Errors
    /// The error, without anything that it holds.
    pub(crate) fn read_receipt(
        &self,
        route: &RouteRef,
        posted: &Posted<'_>,
    ) -> std::result::Result<Receipt, String> {
        match &route.0.open {
            Ok(open) => open.gateway.receipt(posted),
            Err(_) => Err("the route cannot be used".to_owned()),
        }
    }

    /// Stores a receipt.
    ///
    /// # Errors
    /// [`Error::Storage`] and others, after which the provider has to repeat it.
    pub(crate) fn store_receipt(&self, route: &RouteRef, receipt: &Receipt) -> Result<()> {
        self.note(route.name(), receipt)
    }

    /// Takes a document, with its media type. It is gone then.
    pub(crate) fn fetch(
        &self,
        route: &RouteRef,
        token: &Secret,
    ) -> Result<Option<(&'static str, Secret)>> {
        let open = route.0.open.as_ref().ok();
        let Some(kind) = open.and_then(|open| open.gateway.document_type()) else {
            return Ok(None);
        };
        let taken = self.engine()?.take_document(route.name(), token.expose())?;
        Ok(taken.map(|text| (kind, text)))
    }

    /// Makes an attempt, once the data that the provider may ask for was prepared. Without a
    /// message of the engine, it is a test.
    pub(super) fn attempt_by(
        &self,
        name: &str,
        open: &OpenRoute,
        outgoing: &Outgoing<'_>,
        message: Option<&Message>,
    ) -> Outcome {
        let receipt = self.receipt_url(name, open).unwrap_or_default();
        let outgoing = Outgoing { urls: Urls { receipt: &receipt, document: "" }, ..*outgoing };
        let document = match open.gateway.document(&outgoing) {
            None => String::new(),
            Some(text) => match self.keep(name, message, text) {
                Ok(url) => url,
                Err(reason) => return Outcome::NotAttempted { after: Some(UNSTORED), reason },
            },
        };
        let urls = Urls { receipt: &receipt, document: &document };
        open.gateway.send(&Outgoing { urls, ..outgoing })
    }

    /// Returns the routes whose provider has to fetch documents for a voice, if the service has no public URL.
    pub fn without_public_url(&self) -> Vec<String> {
        let fetched = |route: &Arc<Route>| {
            let open = route.open.as_ref().ok()?;
            open.gateway.document_type().map(|_| route.name.clone())
        };
        match self.0.inbound.public_url {
            Some(_) => Vec::new(),
            None => self.all().iter().filter_map(fetched).collect(),
        }
    }

    fn keep(
        &self,
        name: &str,
        message: Option<&Message>,
        text: Secret,
    ) -> std::result::Result<String, String> {
        let Some(public) = &self.0.inbound.public_url else {
            let reason =
                "the provider has to fetch the text from this service: --public-url says where";
            return Err(reason.to_owned());
        };
        let kept = self.engine().and_then(|engine| engine.keep_document(name, message, text));
        match kept {
            Ok(token) => Ok(format!("{public}/voice/{name}/{}", token.expose())),
            Err(error) => Err(format!("what the provider has to fetch was not stored: {error}")),
        }
    }

    /// Returns the URL by which a provider reports to a route; `None` if it does not, or the service has no public URL.
    fn receipt_url(&self, name: &str, open: &OpenRoute) -> Option<String> {
        let public = self.0.inbound.public_url.as_ref()?;
        let secret = open.settings.receipt_secret.as_ref()?;
        open.gateway.takes_receipts().then(|| receipt_url(&public.to_string(), name, secret))
    }
}

/// Returns the URL by which a provider reports to a route of a service.
pub fn receipt_url(service: &str, name: &str, secret: &Secret) -> String {
    format!("{service}/receipts/{name}/{}", secret.expose())
}
