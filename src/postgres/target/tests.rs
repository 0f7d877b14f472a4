use super::*;

fn target(rest: &str) -> Target {
    Target::parse(rest).unwrap()
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
    assert_eq!(found.hosts, [Host::Network("db.example".into(), 5433)]);
    assert_eq!((found.ssl, found.connect), (SslMode::Require, Duration::from_secs(7)));
    let password = found.password.of(&found.hosts[0], "a b", "anna").unwrap();
    assert_eq!(&*password, "p@ss/");
}

#[test]
fn several_hosts_and_addresses_in_brackets_are_tried_in_order() {
    let found = target("//u@a,[::1]:6000/d");
    let network = |name: &str, port| Host::Network(name.into(), port);
    assert!(matches!(&found.hosts[..], [first, second]
        if *first == network("a", 5432) && *second == network("[::1]", 6000)));
    assert_eq!(target("//u@a,b/d?port=7").hosts, [network("a", 7), network("b", 7)]);
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
