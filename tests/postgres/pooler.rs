//! The engine behind PgBouncer.

use super::{enrol, node, settings};
use crate::postgres_server::{Server, command};
use seconder::model::Token;
use seconder::{Error, Verdict};
use std::fs;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// A PgBouncer in front of a server. Two sessions with the server are open at most.
struct Pooler {
    process: Child,
    url: String,
}

impl Pooler {
    fn start(server: &Server, database: &str, mode: &str) -> Pooler {
        let folder = server.folder().join(mode);
        fs::create_dir(&folder).unwrap();
        let (at, port) = (folder.display(), server.port());
        let settings = format!(
            "[databases]\n{database} = host={} port={port}\n[pgbouncer]\nlisten_addr =\n\
             unix_socket_dir = {at}\nlisten_port = {port}\nauth_type = trust\nauth_file = {at}/users\n\
             pool_mode = {mode}\ndefault_pool_size = 2\nlogfile = {at}/log\n",
            server.folder().display()
        );
        let (users, file) = (folder.join("users"), folder.join("pgbouncer.ini"));
        fs::write(&users, "\"seconder\" \"\"\n").unwrap();
        fs::write(&file, settings).unwrap();
        server.own(&folder, 0o700);
        server.own(&file, 0o600);
        server.own(&users, 0o600);
        let process = command("/usr/sbin/pgbouncer", &folder)
            .arg("pgbouncer.ini")
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("apt-get install pgbouncer: {error}"));
        let begun = Instant::now();
        while !folder.join(format!(".s.PGSQL.{port}")).exists() {
            let log = || fs::read_to_string(folder.join("log")).unwrap_or_default();
            assert!(begun.elapsed() < Duration::from_secs(60), "{}", log());
            std::thread::sleep(Duration::from_millis(20));
        }
        let url = format!("postgres://seconder@/{database}?host={at}&port={port}");
        Pooler { process, url }
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn a_pooler_may_keep_a_session_for_each_client() {
    let server = Server::start();
    server.database("pooled");
    let pooler = Pooler::start(&server, "pooled", "session");
    let (service, sent) = node(&server, &pooler.url);
    let user = enrol(&service, 100);
    service.request_sms(user).unwrap();
    let code: Token = sent.lock().unwrap().values().next().unwrap().parse().unwrap();
    assert_eq!(service.verify(user, &code).unwrap(), Verdict::Right);
    assert_eq!(service.verify(user, &code).unwrap(), Verdict::Wrong);
}

#[test]
fn the_error_names_a_pooler_that_shares_sessions() {
    let server = Server::start();
    server.database("pooled");
    let pooler = Pooler::start(&server, "pooled", "transaction");
    let error = shared(&server, &pooler).unwrap_err().to_string();
    assert!(error.contains("pool_mode"), "{error}");
}

/// Several nodes, each of which prepares statements in sessions that the others get.
fn shared(server: &Server, pooler: &Pooler) -> Result<(), Error> {
    for number in 0..4 {
        let service = settings(server, &pooler.url).deliver(|_: &_| Ok(())).open()?;
        service.create_user("ada@example.com", &format!("202-555-{:04}", 100 + number), "1")?;
    }
    Ok(())
}
