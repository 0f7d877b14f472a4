//! A session with an SMSC, from the connection to its end.

use super::link::{Context, Delivered, Handled, Origin, Reply, Submit};
use super::pdu::{self, Body, Fields, Pdu};
use super::settings::Config;
use super::{receipts, status};
use crate::{Delivery, Receipt, tls};
use std::collections::HashMap;
use std::sync::mpsc::TrySendError;
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::net::TcpStream;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;

/// The time for which the end of a session waits for the responses to messages, and for the
/// response to `unbind`.
const LAST_RESPONSES: Duration = Duration::from_secs(5);
const LAST_WORD: Duration = Duration::from_secs(2);
/// Numbers of messages are positive as signed numbers.
const LAST_NUMBER: u32 = 0x7fff_ffff;
/// The number of bytes that are read at once.
const CHUNK: usize = 4096;
const CLOSED: &str = "the SMSC has closed the connection";

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// A session that is bound.
pub(super) struct Session {
    number: u64,
    reader: ReadHalf<Box<dyn Stream>>,
    received: Vec<u8>,
    /// The channel for bytes to write, and the task that writes them.
    output: UnboundedSender<Vec<u8>>,
    writer: JoinHandle<()>,
    sequence: u32,
    /// Messages without a response.
    waiting: HashMap<u32, Submit>,
    /// The time at which something was received last, and the time since which `enquire_link` has
    /// no response.
    heard: Instant,
    enquired: Option<Instant>,
    /// Set once the SMSC has responded to anything in this session.
    useful: bool,
    unbound: bool,
}

impl Session {
    /// Connects and binds.
    ///
    /// # Errors
    /// The reason of the failure.
    pub(super) async fn open(config: &Config, number: u64) -> Result<Session, String> {
        let opened = tokio::time::timeout(config.timeout, async {
            let (reader, writer) = tokio::io::split(connect(config).await?);
            Session::new(number, reader, writer).bind(config).await
        });
        opened.await.unwrap_or_else(|_| Err("the SMSC did not bind in time".to_owned()))
    }

    fn new(
        number: u64,
        reader: ReadHalf<Box<dyn Stream>>,
        writer: WriteHalf<Box<dyn Stream>>,
    ) -> Session {
        let (output, queue) = unbounded_channel();
        Session {
            number,
            reader,
            received: Vec::new(),
            output,
            writer: tokio::spawn(write(writer, queue)),
            sequence: 0,
            waiting: HashMap::new(),
            heard: Instant::now(),
            enquired: None,
            useful: false,
            unbound: false,
        }
    }

    async fn bind(mut self, config: &Config) -> Result<Session, String> {
        let command =
            if config.transceiver { pdu::BIND_TRANSCEIVER } else { pdu::BIND_TRANSMITTER };
        let password = config.password.as_ref().map_or("", |password| password.expose());
        // Version 3.4, and no range of addresses to receive messages for.
        let body = Body::default().text(&config.system_id).text(password);
        let body = body.text(&config.system_type).bytes(&[0x34, 0, 0]).text("");
        self.request(command, body.0);
        loop {
            while let Some(pdu) = self.take()? {
                if !pdu.responds_to(command) && pdu.command != pdu::GENERIC_NACK {
                    continue;
                }
                if pdu.status != 0 || pdu.command == pdu::GENERIC_NACK {
                    let status = status::name(pdu.status);
                    return Err(format!("the SMSC has refused to bind: {status}"));
                }
                return Ok(self);
            }
            self.read().await?;
        }
    }

    /// Sends messages until the session ends: why, and whether it was of use.
    pub(super) async fn serve(mut self, context: &mut Context) -> (String, bool) {
        let wrong = match self.work(context).await {
            Err(wrong) => wrong,
            Ok(()) => {
                let wrong = "the gateway was stopped";
                context.status.set_wrong(wrong);
                self.end(context).await;
                wrong.to_owned()
            }
        };
        // Set before the messages without a response are dropped, because their reason is read from
        // it.
        context.status.set_wrong(&wrong);
        (wrong, self.useful)
    }

    /// Works until the link is stopped, or the session has ended, which is an error.
    async fn work(&mut self, context: &mut Context) -> Result<(), String> {
        self.handle_received(context)?;
        while !*context.stop.borrow() {
            let room = self.waiting.len() < context.config.window;
            let timer = tokio::time::sleep_until(self.next_timer(&context.config).into());
            tokio::select! {
                read = read(&mut self.reader, &mut self.received) => {
                    read?;
                    self.note_alive();
                    self.handle_received(context)?;
                }
                submit = context.submits.recv(), if room => match submit {
                    Some(submit) => self.submit(submit),
                    None => return Ok(()),
                },
                Some(handled) = context.handled.recv() => self.acknowledge(&handled),
                () = timer => self.on_timer(&context.config)?,
                _ = &mut self.writer => return Err(CLOSED.to_owned()),
                changed = context.stop.changed() => if changed.is_err() { return Ok(()) },
            }
        }
        Ok(())
    }

    /// Waits for the responses that are missing, and ends the session.
    async fn end(&mut self, context: &mut Context) {
        let responses = async {
            while !self.waiting.is_empty() {
                self.read().await?;
                self.handle_received(context)?;
            }
            Ok::<(), String>(())
        };
        let _ = tokio::time::timeout(LAST_RESPONSES, responses).await;
        self.request(pdu::UNBIND, Vec::new());
        let response = async {
            while !self.unbound {
                self.read().await?;
                self.handle_received(context)?;
            }
            Ok::<(), String>(())
        };
        let _ = tokio::time::timeout(LAST_WORD, response).await;
    }

    fn next_timer(&self, config: &Config) -> Instant {
        let alive = match self.enquired {
            Some(since) => since + config.timeout,
            None => self.heard + config.enquire_link,
        };
        self.waiting.values().map(|submit| submit.deadline).fold(alive, Instant::min)
    }

    fn on_timer(&mut self, config: &Config) -> Result<(), String> {
        let now = Instant::now();
        // Their senders have stopped waiting, so they leave their places in the window to others.
        for (_, submit) in self.waiting.extract_if(|_, submit| submit.deadline <= now) {
            submit.done(Reply::Lost("the SMSC did not respond in time".to_owned()));
        }
        match self.enquired {
            Some(since) if now >= since + config.timeout => {
                return Err("the SMSC did not respond to enquire_link".to_owned());
            }
            None if now >= self.heard + config.enquire_link => {
                self.enquired = Some(now);
                self.request(pdu::ENQUIRE_LINK, Vec::new());
            }
            _ => {}
        }
        Ok(())
    }

    fn submit(&mut self, mut submit: Submit) {
        if submit.begin() {
            let body = std::mem::take(&mut submit.body);
            let sequence = self.request(pdu::SUBMIT_SM, body);
            self.waiting.insert(sequence, submit);
        }
    }

    fn acknowledge(&self, handled: &Handled) {
        // A receipt of an earlier session is delivered again.
        let Origin { session, command, sequence } = handled.of;
        if session == self.number {
            let status = if handled.taken { 0 } else { status::DELIVER_LATER };
            self.deliver_response(&Pdu::request(command, sequence, Vec::new()), status);
        }
    }

    fn deliver_response(&self, delivered: &Pdu, status: u32) {
        // The id in the response is not used, but is not optional.
        self.write(&delivered.response(status, vec![0]));
    }

    fn handle_received(&mut self, context: &Context) -> Result<(), String> {
        while let Some(pdu) = self.take()? {
            self.handle(&pdu, context)?;
        }
        Ok(())
    }

    fn handle(&mut self, pdu: &Pdu, context: &Context) -> Result<(), String> {
        match pdu.command {
            pdu::ENQUIRE_LINK => self.write(&pdu.response(0, Vec::new())),
            pdu::DELIVER_SM | pdu::DATA_SM => self.deliver(pdu, context),
            pdu::UNBIND => {
                self.write(&pdu.response(0, Vec::new()));
                return Err("the SMSC has ended the session".to_owned());
            }
            pdu::ALERT_NOTIFICATION => {}
            _ if pdu.responds_to(pdu::SUBMIT_SM) || pdu.command == pdu::GENERIC_NACK => {
                self.useful = true;
                if let Some(submit) = self.waiting.remove(&pdu.sequence) {
                    submit.done(reply(pdu, &context.config));
                }
                if pdu.status == status::WRONG_STATE {
                    return Err("the SMSC does not know the session any more".to_owned());
                }
            }
            _ if pdu.responds_to(pdu::UNBIND) => self.unbound = true,
            _ if pdu.is_response() => self.useful = true,
            _ => self.write(&pdu.rejected(status::UNKNOWN_COMMAND)),
        }
        Ok(())
    }

    /// Takes a receipt. Messages from phones are acknowledged, and nothing else.
    fn deliver(&self, pdu: &Pdu, context: &Context) {
        let Ok(delivered) = pdu::Delivered::read(pdu.command, &pdu.body) else {
            // It is counted as a receipt without an id. If there are too many, nothing is lost.
            let receipt = Receipt { id: String::new(), state: Delivery::Pending };
            if let Some(receipts) = &context.receipts {
                let _ = receipts.try_send(Delivered { of: None, receipt });
            }
            return self.deliver_response(pdu, status::DELIVER_NEVER);
        };
        let receipt = receipts::read(&delivered, context.config.receipt_ids);
        let Some(receipt) = receipt else { return self.deliver_response(pdu, 0) };
        let Some(receipts) = &context.receipts else {
            // This session cannot store it. Another session may.
            return self.deliver_response(pdu, status::DELIVER_LATER);
        };
        let (command, sequence) = (pdu.command, pdu.sequence);
        let of = Origin { session: self.number, command, sequence };
        match receipts.try_send(Delivered { of: Some(of), receipt }) {
            Ok(()) => {}
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {
                self.deliver_response(pdu, status::DELIVER_LATER);
            }
        }
    }

    fn take(&mut self) -> Result<Option<Pdu>, String> {
        Pdu::take(&mut self.received).map_err(|_| "what was received is not SMPP".to_owned())
    }

    async fn read(&mut self) -> Result<(), String> {
        read(&mut self.reader, &mut self.received).await?;
        self.note_alive();
        Ok(())
    }

    /// Notes that the SMSC is alive, which anything that it sends shows.
    fn note_alive(&mut self) {
        self.heard = Instant::now();
        self.enquired = None;
    }

    fn request(&mut self, command: u32, body: Vec<u8>) -> u32 {
        self.sequence = if self.sequence >= LAST_NUMBER { 1 } else { self.sequence + 1 };
        self.write(&Pdu::request(command, self.sequence, body));
        self.sequence
    }

    fn write(&self, pdu: &Pdu) {
        // If the task has ended, the session ends too.
        let _ = self.output.send(pdu.bytes());
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.writer.abort();
    }
}

/// Returns the reply to a message that a response means.
fn reply(pdu: &Pdu, config: &Config) -> Reply {
    if pdu.status != 0 || pdu.command == pdu::GENERIC_NACK {
        return Reply::Refused(pdu.status);
    }
    let id = String::from_utf8_lossy(Fields(&pdu.body).text()).into_owned();
    Reply::Accepted(config.receipt_ids.of_response(id.trim()))
}

async fn connect(config: &Config) -> Result<Box<dyn Stream>, String> {
    let failed = |reason: String| format!("the SMSC cannot be reached: {reason}");
    let (dialer, host, port) = (config.dialer.clone(), config.host.clone(), config.port);
    let (is_encrypted, within) = (config.tls.is_some(), config.timeout);
    let dial = move || dialer.connect(&host, port, is_encrypted, within);
    // The dialer blocks until it has a connection.
    let link =
        tokio::task::spawn_blocking(dial).await.map_err(|error| failed(error.to_string()))?;
    let link = link.map_err(|error| failed(tls::reason(error)))?;
    let stream = link.into_tcp().and_then(TcpStream::from_std);
    let stream = stream.map_err(|error| failed(error.to_string()))?;
    let Some((tls, name)) = &config.tls else { return Ok(Box::new(stream)) };
    let connector = TlsConnector::from(std::sync::Arc::clone(tls));
    let secured = connector.connect(name.clone(), stream).await;
    Ok(Box::new(secured.map_err(|error| tls::failed(&error))?))
}

async fn read(
    reader: &mut ReadHalf<Box<dyn Stream>>,
    received: &mut Vec<u8>,
) -> Result<(), String> {
    received.reserve(CHUNK);
    match reader.read_buf(received).await {
        Ok(0) => Err(CLOSED.to_owned()),
        Ok(_) => Ok(()),
        Err(error) => Err(format!("the connection was lost: {error}")),
    }
}

/// Writes the queued bytes, as many as there are at once.
async fn write(mut writer: WriteHalf<Box<dyn Stream>>, mut queue: UnboundedReceiver<Vec<u8>>) {
    while let Some(mut bytes) = queue.recv().await {
        while let Ok(more) = queue.try_recv() {
            bytes.extend(more);
        }
        if writer.write_all(&bytes).await.is_err() || writer.flush().await.is_err() {
            return;
        }
    }
}
