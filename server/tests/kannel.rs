//! The gateway `kannel`, with the Kannel of Debian, which sends by the SMSC of the other tests.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use crate::node::Node;
use crate::peer::Peer;
use crate::provider::{error, printed};
use seconder::calls::RequestSms;
use seconder::{Handle, Verdict, Verify};
use serde_json::{Value, json};
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// It has to be escaped in a URL.
const PASSWORD: &str = "pass word&é";

/// A Kannel on ports of this machine, which ends with the test.
struct Kannel {
    processes: Vec<Child>,
    url: String,
}

fn free_ports() -> [u16; 3] {
    let held = [(); 3].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    held.map(|listener| listener.local_addr().unwrap().port())
}

/// It sends long texts in up to four parts, because it has `concatenation`.
fn configuration(smsc: u64, ports: [u16; 3]) -> String {
    let [admin, boxes, calls] = ports;
    format!(
        r#"
group = core
admin-interface = 127.0.0.1
admin-port = {admin}
admin-password = not-used
smsbox-interface = 127.0.0.1
smsbox-port = {boxes}
box-deny-ip = "*.*.*.*"
box-allow-ip = "127.0.0.1"

group = smsc
smsc = smpp
host = 127.0.0.1
port = {smsc}
smsc-username = kannel
smsc-password = hunter2
system-type = ""
transceiver-mode = true

group = smsbox
bearerbox-host = 127.0.0.1
sendsms-interface = 127.0.0.1
sendsms-port = {calls}

group = sendsms-user
username = seconder
password = "{PASSWORD}"
concatenation = true
max-messages = 4
"#
    )
}

impl Kannel {
    fn start(folder: &Path, smsc: &Peer) -> Kannel {
        // Other processes may take the ports between their choice and the start, hence the attempts.
        let mut kannel = Kannel::on(free_ports(), folder, smsc);
        for _ in 0..4 {
            kannel = kannel.or_else(|_| Kannel::on(free_ports(), folder, smsc));
        }
        let kannel = kannel.unwrap_or_else(|log| panic!("{log}"));
        smsc.wait("bind", 1);
        kannel
    }

    fn on(ports: [u16; 3], folder: &Path, smsc: &Peer) -> Result<Kannel, String> {
        fs::write(folder.join("kannel.conf"), configuration(smsc.port(), ports)).unwrap();
        let url = format!("http://127.0.0.1:{}", ports[2]);
        let mut kannel = Kannel { processes: Vec::new(), url };
        let [_, boxes, calls] = ports;
        kannel.run(folder, "bearerbox", boxes)?;
        kannel.run(folder, "smsbox", calls)?;
        Ok(kannel)
    }

    /// Starts one of its programs, and waits until it listens on a port. Returns the log of one that ends.
    fn run(&mut self, folder: &Path, name: &str, port: u16) -> Result<(), String> {
        let program = Path::new("/usr/sbin").join(name);
        assert!(program.exists(), "Kannel is missing: apt-get install kannel");
        let log = fs::File::create(folder.join(format!("{name}.log"))).unwrap();
        let child = Command::new(program)
            .arg("kannel.conf")
            .current_dir(folder)
            .env_clear()
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn();
        self.processes.push(child.unwrap());
        let started = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            let log = fs::read_to_string(folder.join(format!("{name}.log"))).unwrap();
            assert!(started.elapsed() < Duration::from_secs(60), "{name} does not listen: {log}");
            if self.processes.last_mut().unwrap().try_wait().unwrap().is_some() {
                return Err(format!("{name} has ended: {log}"));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    fn set_route(&self, folder: &Path, password: &str) {
        let settings = json!({ "gateway": "kannel", "base_url": self.url, "username": "seconder",
            "password": password, "from": "Example" });
        fs::write(folder.join("kannel.json"), settings.to_string()).unwrap();
        printed(folder, &["route", "set", "kannel", "--file", "kannel.json"]);
    }
}

impl Drop for Kannel {
    fn drop(&mut self) {
        for child in &mut self.processes {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

struct World {
    folder: tempfile::TempDir,
    smsc: Peer,
    kannel: Kannel,
    key: String,
}

fn world() -> World {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("seconder.db").display());
    let key = seconder::open(&url).unwrap().engine().unwrap().api_key().expose().to_owned();
    let smsc = Peer::smsc(&json!({ "password": "hunter2" }));
    let kannel = Kannel::start(folder.path(), &smsc);
    kannel.set_route(folder.path(), PASSWORD);
    World { folder, smsc, kannel, key }
}

fn text(submits: &[Value]) -> String {
    submits.iter().map(|submit| submit["text"].as_str().unwrap()).collect()
}

#[test]
fn codes_arrive_at_the_smsc_as_they_were_written() {
    let world = world();
    let mut before = 0;
    // The first text has the default alphabet of GSM. The second one is too long for a single message.
    for (place, name, coding, parts) in [(0, "Café {€}", 0, 1), (1, "Ключ", 8, 2)] {
        let arguments = ["--application-name", name].map(str::to_owned);
        let node = Node::start(world.folder.path(), &world.key, &arguments);
        let client = node.address.client().unwrap();
        let number = format!("202555010{place}");
        let user = client.create_user("ada@example.com", &number, "1").unwrap().user_id;
        client.handle(&RequestSms { force: Some(true), ..RequestSms::new(user) }).unwrap();
        let submits = world.smsc.wait("submit", before + parts).split_off(before);
        before += parts;
        for submit in &submits {
            assert_eq!(submit["to"], format!("1{number}"));
            assert_eq!((&submit["from"], &submit["coding"]), (&json!("Example"), &json!(coding)));
        }
        let text = text(&submits);
        assert!(text.contains(name), "{text}");
        let code = text.split(|c: char| !c.is_ascii_digit()).find(|word| word.len() == 7).unwrap();
        let call = Verify::new(user, code.parse().unwrap());
        assert_eq!(client.handle(&call).unwrap().verdict, Verdict::Right);
    }
    assert_eq!(world.smsc.count("submit"), before);
}

#[test]
fn a_test_message_arrives_and_a_wrong_password_is_reported() {
    let world = world();
    let folder = world.folder.path();
    let accepted = printed(folder, &["route", "test", "kannel", "+15550100123"]);
    assert_eq!(accepted, "accepted by the provider\n");
    assert_eq!(world.smsc.wait("submit", 1)[0]["to"], "15550100123");
    world.kannel.set_route(folder, "another");
    let report = error(folder, &["route", "test", "kannel", "+15550100123"]);
    assert!(report.contains("the test message was rejected") && report.contains("403"), "{report}");
    assert!(!report.contains("another"), "{report}");
    assert_eq!(world.smsc.count("submit"), 1);
}
