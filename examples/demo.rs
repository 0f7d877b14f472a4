//! A demonstration of every second factor in Rust: `cargo run --example demo`. It uses a fresh
//! database in a temporary folder, needs no network, and exits with an error if a check fails.

use seconder::calls::{
    ApprovalStatus, Channel, CreateApproval, CreateUser, UserCreated, Verdict, Verify,
};
use seconder::engine::{ApprovalResponse, DeviceType, RespondToApproval};
use seconder::model::{Token, UserId};
use seconder::otp::Totp;
use seconder::{Error, Handle, Service, Settings, callback};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome {
    let folder = Folder::new()?;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let callback_url = format!("http://{}/callback", listener.local_addr()?);
    let service = Settings::new(&format!("sqlite:{}", folder.0.join("demo.db").display()))
        .application_name("Demo")
        .callback_url(&callback_url)
        .open()?;
    say("Opened a fresh database. The engine runs inside this process.");

    let spool = folder.0.join("demo.spool");
    let user = sign_up(&service, &spool)?;
    code_by_sms(&service, user.user_id, &spool)?;
    authenticator_app(&service, user.user_id)?;
    push(&service, user.user_id, &listener, &callback_url)?;
    rejections(&service, user.user_id)?;
    say("Every check passed.");
    Ok(())
}

/// A folder that goes when the program ends.
struct Folder(PathBuf);

impl Folder {
    fn new() -> std::io::Result<Folder> {
        let path = std::env::temp_dir().join(format!("seconder-demo-{}", std::process::id()));
        std::fs::create_dir(&path)?;
        Ok(Folder(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Enrols nobody before a code proves that the number is theirs.
fn sign_up(service: &Service, spool: &Path) -> Outcome<UserCreated> {
    let phone = "555-010-0123";
    service.start_phone_verification(Channel::Sms, phone, "1")?;
    service.check_phone_verification(phone, "1", &newest_code(spool)?.parse()?)?;
    say("The code that was sent to the number was typed: whoever signs up holds it.");
    let new = |email: &str| -> seconder::Result<CreateUser> {
        let call = CreateUser::new(email.parse()?, phone.parse()?, "1".parse()?);
        Ok(CreateUser { new_only: true, ..call })
    };
    let user = service.handle(&new("ada@example.com")?)?;
    say(&format!("Enrolled ada@example.com with +1 {phone}: user {}.", user.user_id));
    let other = service.handle(&new("eve@example.com")?);
    ensure("nobody else gets her id by typing her number", other.is_err())?;
    Ok(user)
}

/// The code of the newest message in the spool folder, whose name is the last one.
fn newest_code(spool: &Path) -> Outcome<String> {
    let files: Result<Vec<_>, _> =
        std::fs::read_dir(spool)?.map(|file| file.map(|file| file.path())).collect();
    let message = std::fs::read_to_string(files?.iter().max().ok_or("nothing was sent")?)?;
    let code = message.lines().find_map(|line| line.strip_prefix("Code: ")).ok_or("no code")?;
    Ok(code.to_owned())
}

fn code_by_sms(service: &Service, user: UserId, spool: &Path) -> Outcome {
    let sent = service.request_sms(user)?;
    say(&format!("Sent a code by SMS to {}.", sent.cellphone.unwrap_or_default()));
    let code = newest_code(spool)?;
    say(&format!("Read the code from the spool folder: {code}."));

    let code: Token = code.parse()?;
    let check = Verify::new(user, code);
    // The user has never confirmed a code, so the first one is checked with `force` only.
    let unforced = Verify { force: false, ..check.clone() };
    expect("without force, the first code is not checked", Verdict::NotChecked, || {
        Ok(service.handle(&unforced)?.verdict)
    })?;
    expect("with force, the code is right", Verdict::Right, || {
        Ok(service.handle(&check)?.verdict)
    })?;
    let again = service.handle(&check)?;
    ensure("the same code is rejected the second time, because it was used", again.reused)?;
    ensure("the verdict is Wrong, which lets no one in", again.verdict == Verdict::Wrong)
}

fn authenticator_app(service: &Service, user: UserId) -> Outcome {
    let enrolled = service.enrol_authenticator(user)?;
    say("Enrolled an authenticator app, which scans the QR code that holds the secret.");
    let app = Totp::from_uri(enrolled.uri.expose())?;
    let code: Token = app.code(now()?).expose().parse()?;
    expect("the code that the app shows is right", Verdict::Right, || service.verify(user, &code))
}

fn push(service: &Service, user: UserId, listener: &TcpListener, callback_url: &str) -> Outcome {
    let engine = service.require_engine()?;
    let device = engine.register_device(user, DeviceType::Android)?;
    say("Registered the user's Android device.");
    let question = CreateApproval {
        number_digits: Some(2),
        ..CreateApproval::new(user, "Log in to Demo?".parse()?)
    };
    let asked = service.handle(&question)?;
    let uuid = asked.uuid;
    let pending = service.check_approval(&uuid)?.status;
    ensure("the approval request is pending", pending == ApprovalStatus::Pending)?;

    let response = RespondToApproval {
        uuid: uuid.clone(),
        device_id: device.device_id,
        device_secret: device.secret,
        response: ApprovalResponse::Approve,
        // The user reads it on the login page, and types it on the device.
        number: asked.number,
    };
    // The response posts the callback before it returns, so another thread has to receive it.
    let (approval, posted) = std::thread::scope(|scope| {
        let posted = scope.spawn(|| receive(listener));
        (engine.respond_to_approval(&response), posted.join())
    });
    say("The user approved it on the device.");
    let posted = posted.map_err(|_| "the listener failed")??;
    let event = callback::verify(
        &engine.api_key(),
        &callback::Received {
            url: callback_url,
            method: "POST",
            query: "",
            body: &posted.body,
            signature: &posted.signature,
            nonce: &posted.nonce,
        },
    )?;
    ensure("the callback arrived, and its signature is valid", event.uuid == uuid)?;
    ensure("the callback names this user", event.user_id == Some(user))?;
    ensure("the callback and the request agree on the status", event.status == approval?.status)?;
    let modified = callback::Received {
        url: callback_url,
        method: "POST",
        query: "",
        body: &String::from_utf8(posted.body)?.replace("approved", "denied!!").into_bytes(),
        signature: &posted.signature,
        nonce: &posted.nonce,
    };
    let modified = callback::verify(&engine.api_key(), &modified);
    ensure(
        "a modified callback is rejected",
        matches!(modified, Err(Error::InvalidCallback { .. })),
    )
}

fn rejections(service: &Service, user: UserId) -> Outcome {
    let path = "../sms".parse::<Token>();
    ensure("`../sms` is rejected before it is sent, because it is not a token", path.is_err())?;
    let other = service.create_user("eve@example.com", "555-010-0199", "1")?.user_id;
    let unforced = Verify { force: false, ..Verify::new(other, "0000000".parse()?) };
    expect("an unconfirmed user's code is not checked", Verdict::NotChecked, || {
        Ok(service.handle(&unforced)?.verdict)
    })?;
    let enrolled = service.enrol_authenticator(user)?;
    let right = Totp::from_uri(enrolled.uri.expose())?.code(now()?);
    let wrong = if right.expose() == "000000" { "000001" } else { "000000" };
    let wrong = wrong.parse()?;
    let guess = || service.verify(user, &wrong);
    let guesses = [guess()?, guess()?, guess()?, guess()?];
    ensure("four wrong codes are wrong", guesses == [Verdict::Wrong; 4])?;
    let hasty = service.verify(user, &right.expose().parse()?);
    ensure(
        "after the fourth, the user has to wait",
        matches!(hasty, Err(Error::RateLimited { .. })),
    )
}

struct Posted {
    body: Vec<u8>,
    signature: String,
    nonce: String,
}

/// Receives one POST request, which is the job of the web framework in an application.
fn receive(listener: &TcpListener) -> std::io::Result<Posted> {
    let (mut socket, _) = listener.accept()?;
    socket.set_read_timeout(Some(Duration::from_secs(10)))?;
    let mut reader = BufReader::new(socket.try_clone()?);
    let (mut length, mut signature, mut nonce) = (0, String::new(), String::new());
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(": ") else {
            match line.trim_end() {
                "" => break,
                _ => continue,
            }
        };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse().unwrap_or(0),
            "x-svc-signature" => signature = value.to_owned(),
            "x-svc-signature-nonce" => nonce = value.to_owned(),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")?;
    Ok(Posted { body, signature, nonce })
}

#[allow(clippy::disallowed_methods, reason = "the program has no other clock")]
fn now() -> Outcome<u64> {
    Ok(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?.as_secs())
}

fn expect(
    what: &str,
    wanted: Verdict,
    call: impl FnOnce() -> seconder::Result<Verdict>,
) -> Outcome {
    let got = call()?;
    ensure(what, got == wanted)
}

fn ensure(what: &str, holds: bool) -> Outcome {
    match holds {
        true => {
            say(&format!("OK: {what}."));
            Ok(())
        }
        false => Err(format!("FAILED: {what}").into()),
    }
}

#[allow(clippy::print_stdout, reason = "the output is the demonstration")]
fn say(text: &str) {
    println!("  {text}");
}
