use super::*;

fn target(rest: &str) -> Target {
    Target::parse(rest).unwrap()
}

fn network(name: &str, port: u16) -> Host {
    Host::Network { name: name.into(), address: None, port }
}

fn rejected(rest: &str) -> String {
    match Target::parse(rest) {
        Ok(_) => panic!("{rest} was accepted"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn the_parts_of_a_url_are_decoded() {
    let found =
        target("//an%6ea:p%40ss%2F@db.example:5433/a%20b?sslmode=require&connect_timeout=7");
    assert_eq!((&*found.user, &*found.database), ("anna", "a b"));
    assert_eq!(found.hosts, [network("db.example", 5433)]);
    assert_eq!((found.ssl, found.connect), (SslMode::Require, Duration::from_secs(7)));
    let password = found.password.of(&found.hosts[0], "a b", "anna").unwrap();
    assert_eq!(&*password, "p@ss/");
}

#[test]
fn several_hosts_and_addresses_in_brackets_are_tried_in_order() {
    let found = target("//u@a,[::1]:6000/d");
    assert!(matches!(&found.hosts[..], [first, second]
        if *first == network("a", 5432) && *second == network("[::1]", 6000)));
    assert_eq!(target("//u@a,b/d?port=7").hosts, [network("a", 7), network("b", 7)]);
}

/// Certificates and passwords are for the host, even if another address is connected to.
#[test]
fn an_address_is_connected_to_instead_of_its_host() {
    let found = |rest: &str| target(rest).hosts;
    let at = |name: &str, address: &str, port| Host::Network {
        name: name.into(),
        address: Some(address.into()),
        port,
    };
    assert_eq!(found("//u@a:7/d?hostaddr=::1"), [at("a", "::1", 7)]);
    assert_eq!(found("//u@/d?hostaddr=127.0.0.1"), [at("127.0.0.1", "127.0.0.1", 5432)]);
    let two = [at("a", "192.0.2.1", 5432), network("b", 5432)];
    assert_eq!(found("//u@a,b/d?hostaddr=192.0.2.1,"), two);
    for query in ["hostaddr=b.example", "hostaddr=192.0.2.1,192.0.2.2", "host=/run&hostaddr=::1"] {
        assert!(rejected(&format!("//u@a/d?{query}")).contains("hostaddr"), "{query}");
    }
}

#[test]
fn a_folder_is_that_of_a_socket() {
    let socket = Host::Socket("/run/pg/.s.PGSQL.5433".into());
    for url in ["//u@%2Frun%2Fpg:5433/d", "//u@/d?host=/run/pg&port=5433"] {
        assert_eq!(target(url).hosts, std::slice::from_ref(&socket), "{url}");
    }
}

#[test]
fn what_is_not_understood_is_rejected_without_the_password() {
    let bad = [
        ("u@host/d", "postgres://"),
        ("//u:hidden@h/d?sslmod=require", "sslmod"),
        ("//u:hidden@h/d?sslmode=yes", "sslmode"),
        ("//u:hidden@h:99999/d", "port"),
        ("//u:hidden@h/d?connect_timeout=0", "connect_timeout"),
        ("//u:hidden%zz@h/d", "hexadecimal"),
        ("//u:hidden@h/d?sslmode=require&sslrootcert=system", "verify-full"),
        ("//u:hidden@h/d?sslcert=/a", "sslkey"),
        ("//u:hidden@h/d?channel_binding=yes", "channel_binding"),
        ("//u:hidden@h/d?channel_binding=require&sslmode=disable", "with TLS"),
        ("//u:hidden@%2Frun/d?channel_binding=require", "with TLS"),
        ("//u:hidden@h/d#x", "fragment"),
    ];
    for (url, expected) in bad {
        let message = rejected(url);
        assert!(message.contains(expected) && !message.contains("hidden"), "{url}: {message}");
    }
}

#[test]
fn certificates_are_verified_as_sslmode_says() {
    let verify = |query: &str| target(&format!("//u@h/d?{query}")).verify;
    let file = || PathBuf::from("/ca.crt");
    assert_eq!(verify("sslmode=verify-full&sslrootcert=/ca.crt"), Verify::Host(Some(file())));
    assert_eq!(verify("sslrootcert=system"), Verify::Host(None));
    for mode in ["verify-ca", "require"] {
        let found = verify(&format!("sslmode={mode}&sslrootcert=/ca.crt"));
        assert_eq!(found, Verify::Authority(file()));
    }
    assert_eq!(verify("sslmode=prefer&sslrootcert=/ca.crt"), Verify::Nothing);
}

/// The URLs of Patroni, RDS and Neon have these.
#[test]
fn a_parameter_that_asks_for_nothing_else_is_accepted() {
    let found = target(
        "//u@a,b/d?target_session_attrs=read-write&gssencmode=prefer&keepalives=1&keepalives_idle=30\
         &keepalives_interval=10&keepalives_count=3&tcp_user_timeout=10000&sslnegotiation=postgres\
         &load_balance_hosts=disable&client_encoding=UTF8&options=endpoint%3Dep-cool-1",
    );
    assert_eq!(found.options, "endpoint=ep-cool-1");
    assert_eq!(target("//u@a/d").options, "");
    for (parameter, reason) in [
        ("target_session_attrs=standby", "the engine writes"),
        ("load_balance_hosts=random", "in order"),
        ("gssencmode=require", "GSSAPI"),
        ("sslnegotiation=direct", "sslnegotiation=postgres"),
        ("options=-c%20synchronous_commit%3Doff", "ALTER ROLE"),
        ("options=endpoint%3Da%20-c%20b%3Dc", "ALTER ROLE"),
        ("keepalives_idle=soon", "must be a number"),
        ("service=main", "is unknown"),
    ] {
        let error = rejected(&format!("//u@a/d?{parameter}"));
        assert!(error.contains(reason), "{parameter}: {error}");
    }
}
