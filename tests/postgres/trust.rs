//! Passwords and TLS: whom the server lets in, and which server is trusted.

use super::{rejected, settings};
use crate::postgres_server::Server;
use seconder::keyring::Keyring;
use seconder::{Error, Service, Settings};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::time::Duration;

/// What `pg_hba.conf` says from now on.
fn admit(server: &Server, lines: &str) {
    let file = server.folder().join("data/pg_hba.conf");
    std::fs::write(file, format!("local all all trust\n{lines}\n")).unwrap();
    let loaded = || server.sql("postgres", "SELECT pg_conf_load_time()");
    let before = loaded();
    server.sql("postgres", "SELECT pg_reload_conf()");
    // A session knows of the new file only once the server has it, or is in the middle of reading it,
    // and accepts no connection meanwhile.
    while loaded() == before {
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn passwords_of_the_url_and_of_a_file_are_accepted_and_never_shown() {
    let server = Server::start();
    server.database("d");
    server.sql("postgres", "CREATE ROLE anna LOGIN SUPERUSER PASSWORD 'p@ss w\\rd'");
    let port = server.port();
    let open = |account: &str, query: &str| {
        settings(&server, &format!("postgres://{account}@127.0.0.1:{port}/d?{query}")).open()
    };
    for kind in ["scram-sha-256", "md5"] {
        admit(&server, &format!("host all all 127.0.0.1/32 {kind}"));
        open("anna:p%40ss%20w%5Crd", "").unwrap();
        rejected(open("anna:hidden", ""), "password");
    }
    let file = server.folder().join("passes");
    std::fs::write(&file, "# Ours.\n127.0.0.1:*:d:anna:p@ss w\\\\rd\n").unwrap();
    let query = format!("passfile={}", file.display());
    mode(&file, 0o644);
    rejected(open("anna", &query), "chmod 600");
    mode(&file, 0o600);
    open("anna", &query).unwrap();
    rejected(open("bert", &query), "has none for");
    rejected(open("anna", "passfile=/nowhere"), "cannot be read");
    admit(&server, "host all all 127.0.0.1/32 password");
    rejected(open("anna:hidden", "sslmode=disable"), "clear text");
    admit(&server, "host all all 127.0.0.1/32 reject");
    rejected(open("anna:hidden", ""), "pg_hba.conf");
}

fn mode(file: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// A server with a certificate for `localhost` by an authority of its own.
fn with_tls(algorithm: &'static rcgen::SignatureAlgorithm) -> Server {
    let mut server = Server::start();
    let authority = {
        let key = rcgen::KeyPair::generate_for(algorithm).unwrap();
        let mut params = rcgen::CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        (params.self_signed(&key).unwrap().pem(), rcgen::Issuer::new(params, key))
    };
    let key = rcgen::KeyPair::generate().unwrap();
    let params = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let own = params.signed_by(&key, &authority.1).unwrap();
    let write = |name: &str, text: &str| std::fs::write(server.folder().join(name), text).unwrap();
    write("ca.crt", &authority.0);
    write("data/server.crt", &own.pem());
    write("data/server.key", &key.serialize_pem());
    server.own(&server.folder().join("data/server.key"), 0o600);
    server.stop();
    server.set("ssl=on");
    server.set("log_connections=on");
    server.go();
    server
}

#[test]
fn tls_is_used_and_certificates_are_verified_as_sslmode_says() {
    let server = with_tls(&rcgen::PKCS_ECDSA_P256_SHA256);
    server.database("d");
    let port = server.port();
    let ca = server.folder().join("ca.crt");
    let other = server.folder().join("other.crt");
    let key = rcgen::KeyPair::generate().unwrap();
    let mut params = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    params.distinguished_name.push(rcgen::DnType::CommonName, "another");
    std::fs::write(&other, params.self_signed(&key).unwrap().pem()).unwrap();
    let open = |host: &str, query: String| {
        settings(&server, &format!("postgres://seconder@{host}:{port}/d?{query}")).open()
    };
    let listed = |mode: &str, file: &Path| format!("sslmode={mode}&sslrootcert={}", file.display());
    let plain = |mode: &str| format!("sslmode={mode}");
    let connections = || {
        let ask = "SELECT ssl, state, now() - backend_start, query FROM pg_stat_ssl \
                   JOIN pg_stat_activity USING (pid) WHERE application_name = 'seconder' \
                   ORDER BY backend_start DESC";
        server.sql("d", ask)
    };
    let expect = |service: Result<Service, Error>, is_encrypted: bool| {
        let service = service.unwrap();
        let found = connections();
        let newest = if is_encrypted { "t|" } else { "f|" };
        assert!(found.starts_with(newest), "{found}\n{}", server.log());
        drop(service);
        // The server notices soon that a connection is closed.
        while !connections().is_empty() {
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    expect(open("localhost", plain("disable")), false);
    expect(open("localhost", plain("allow")), false);
    expect(open("localhost", plain("prefer")), true);
    expect(open("127.0.0.1", plain("require")), true);
    expect(open("127.0.0.1", listed("verify-ca", &ca)), true);
    expect(open("localhost", listed("verify-full", &ca)), true);
    rejected(open("127.0.0.1", listed("verify-full", &ca)), "for another host");
    rejected(open("localhost", listed("verify-full", &other)), "trusted authority");
    rejected(open("localhost", listed("verify-ca", &other)), "trusted authority");
    rejected(open("localhost", listed("require", &other)), "trusted authority");
    rejected(open("localhost", "sslrootcert=system".to_owned()), "trusted authority");
    rejected(open("localhost", plain("verify-full")), "sslrootcert");
    // The certificate is that of the host, whatever its address is.
    let at = |mode: &str| format!("{}&hostaddr=127.0.0.1", listed(mode, &ca));
    expect(open("localhost", at("verify-full")), true);
    rejected(open("db.example", at("verify-full")), "for another host");
    // The other kind of connection is tried where the mode allows both.
    admit(&server, "hostssl all all all trust\nhostnossl all all all reject");
    expect(open("localhost", plain("allow")), true);
    rejected(open("localhost", plain("disable")), "pg_hba.conf");
    admit(&server, "hostssl all all all reject\nhostnossl all all all trust");
    expect(open("localhost", plain("prefer")), false);
    rejected(open("localhost", plain("require")), "pg_hba.conf");

    let without = Server::start();
    without.database("d");
    let url = format!("postgres://seconder@localhost:{}/d?sslmode=require", without.port());
    rejected(settings(&without, &url).open(), "has no TLS");
}

/// It has TLS, so whoever prefers TLS sends it nothing in clear text.
#[test]
fn a_server_that_is_too_slow_for_tls_gets_nothing_in_clear_text() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let folder = tempfile::tempdir().unwrap();
    let ring = folder.path().join("ring");
    Keyring::at(&ring).create().unwrap();
    let url = format!("postgres://u@127.0.0.1:{port}/d?sslmode=prefer&connect_timeout=1");
    std::thread::scope(|scope| {
        let opening = scope.spawn(|| Settings::new(&url).keyring(&ring).open());
        let mut first = listener.accept().unwrap().0;
        first.read_exact(&mut [0; 8]).unwrap();
        first.write_all(b"S").unwrap();
        // It says nothing more, and its connection stays open.
        rejected(opening.join().unwrap(), "cannot be reached");
    });
    listener.set_nonblocking(true).unwrap();
    if let Ok((mut second, _)) = listener.accept() {
        let mut sent = Vec::new();
        second.set_nonblocking(false).unwrap();
        second.read_to_end(&mut sent).unwrap();
        assert!(sent.is_empty(), "{sent:?}");
    }
}

/// Whoever says only that it is ready has checked no password, and bound nothing.
#[test]
fn a_server_that_is_ready_before_a_login_is_rejected() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let folder = tempfile::tempdir().unwrap();
    let ring = folder.path().join("ring");
    Keyring::at(&ring).create().unwrap();
    let url = format!("postgres://u@127.0.0.1:{port}/d?sslmode=disable");
    std::thread::scope(|scope| {
        let opening = scope.spawn(|| Settings::new(&url).keyring(&ring).open());
        let mut server = listener.accept().unwrap().0;
        let mut length = [0; 4];
        server.read_exact(&mut length).unwrap();
        let rest = u32::from_be_bytes(length) as usize - length.len();
        server.read_exact(&mut vec![0; rest]).unwrap();
        server.write_all(b"Z\0\0\0\x05I").unwrap();
        rejected(opening.join().unwrap(), "authentication");
    });
}

/// Whoever is in the place of the server would have the password, or a hash to log in with.
#[test]
fn a_server_that_may_be_another_gets_neither_the_password_nor_its_md5_hash() {
    let server = with_tls(&rcgen::PKCS_ECDSA_P256_SHA256);
    server.database("d");
    server.sql("postgres", "ALTER SYSTEM SET password_encryption = 'md5'");
    server.sql("postgres", "SELECT pg_reload_conf()");
    let port = server.port();
    let ca = server.folder().join("ca.crt");
    let verified = |mode: &str| format!("sslmode={mode}&sslrootcert={}", ca.display());
    let open = |user: &str, query: &str| {
        let url = format!("postgres://{user}:hidden@localhost:{port}/d?{query}");
        settings(&server, &url).open()
    };
    for (user, kind, how) in [("clear", "password", "in clear text"), ("hashed", "md5", "MD5 hash")]
    {
        // A new session, which knows of the new setting.
        server.sql("postgres", &format!("CREATE ROLE {user} LOGIN SUPERUSER PASSWORD 'hidden'"));
        admit(&server, &format!("host all all all {kind}"));
        for mode in ["disable", "allow", "prefer", "require"] {
            rejected(open(user, &format!("sslmode={mode}")), how);
        }
        for mode in ["require", "verify-ca", "verify-full"] {
            open(user, &verified(mode)).unwrap();
        }
    }
}

/// Whether a login is bound to the certificate that the server has, which the server checks itself.
#[test]
fn a_login_is_bound_to_the_connection_as_channel_binding_says() {
    for algorithm in [&rcgen::PKCS_ECDSA_P256_SHA256, &rcgen::PKCS_ECDSA_P384_SHA384] {
        let server = with_tls(algorithm);
        server.database("d");
        server.sql("postgres", "CREATE ROLE anna LOGIN SUPERUSER PASSWORD 'hidden'");
        let port = server.port();
        let open = |query: &str| {
            settings(&server, &format!("postgres://anna:hidden@127.0.0.1:{port}/d?{query}")).open()
        };
        admit(&server, "host all all all scram-sha-256");
        for mode in ["disable", "prefer", "require"] {
            open(&format!("sslmode=require&channel_binding={mode}")).unwrap();
        }
        open("sslmode=disable&channel_binding=prefer").unwrap();
        rejected(open("sslmode=disable&channel_binding=require"), "with TLS");
        rejected(open("sslmode=allow&channel_binding=require"), "bind the login");
        // These let in whoever they let in without a proof that is bound.
        for kind in ["trust", "md5"] {
            admit(&server, &format!("host all all all {kind}"));
            open("sslmode=require&channel_binding=disable").unwrap();
            if kind != "md5" {
                rejected(open("sslmode=require&channel_binding=require"), "bind the login");
            }
        }
    }
    let server = with_tls(&rcgen::PKCS_ED25519);
    server.database("d");
    server.sql("postgres", "CREATE ROLE anna LOGIN SUPERUSER PASSWORD 'hidden'");
    admit(&server, "host all all all scram-sha-256");
    let port = server.port();
    let url = format!("postgres://anna:hidden@127.0.0.1:{port}/d?sslmode=require");
    rejected(settings(&server, &url).open(), "channel_binding=disable");
    settings(&server, &format!("{url}&channel_binding=disable")).open().unwrap();
}
