//! Tests of name resolution with name servers that misbehave, and with others.

use super::*;
use simple_dns::rdata::RData;
use simple_dns::{CLASS, Name, Packet, PacketFlag, RCODE, ResourceRecord};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, ToSocketAddrs, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const NAME: &str = "host.example.com";
const TIME: Duration = Duration::from_millis(600);
/// The same where a server answers, which a busy machine delays.
const AMPLE: Duration = Duration::from_secs(6);

/// A name server on this machine, with the packets that it sends over UDP, and a function for
/// connections. It ends with the test process.
struct Server {
    address: SocketAddr,
    queries: Arc<AtomicUsize>,
}

type Udp = fn(&[u8]) -> Vec<Vec<u8>>;
type Tcp = fn(TcpStream, Vec<u8>);

#[allow(clippy::disallowed_methods, reason = "a test needs a name server")]
fn server(udp: Udp, tcp: Option<Tcp>) -> Server {
    let (socket, listener) = ports();
    let address = socket.local_addr().unwrap();
    let queries = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&queries);
    std::thread::spawn(move || {
        let mut buffer = [0; 1024];
        while let Ok((length, from)) = socket.recv_from(&mut buffer) {
            count.fetch_add(1, Ordering::SeqCst);
            udp(&buffer[..length]).iter().for_each(|answer| {
                let _ = socket.send_to(answer, from);
            });
        }
    });
    let Some(tcp) = tcp else { return Server { address, queries } };
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut length = [0; 2];
            let _ = stream.read_exact(&mut length);
            let mut question = vec![0; u16::from_be_bytes(length).into()];
            let _ = stream.read_exact(&mut question);
            std::thread::spawn(move || tcp(stream, question));
        }
    });
    Server { address, queries }
}

/// Returns the same port for UDP and TCP.
fn ports() -> (UdpSocket, TcpListener) {
    loop {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        if let Ok(listener) = TcpListener::bind(socket.local_addr().unwrap()) {
            return (socket, listener);
        }
    }
}

/// Resolves a name with these servers, without the files of this machine.
fn look_up_within(time: Duration, name: &str, servers: &[&Server]) -> Result<Vec<IpAddr>, Failure> {
    let servers: Vec<String> = servers.iter().map(|server| server.address.to_string()).collect();
    let lookup = Lookup::new(&servers).unwrap().with_files("/nowhere".into(), "/nowhere".into());
    lookup.addresses(name, Deadline::within(time))
}

fn look_up(name: &str, servers: &[&Server]) -> Result<Vec<IpAddr>, Failure> {
    look_up_within(AMPLE, name, servers)
}

fn is_found(servers: &[&Server]) {
    assert_eq!(look_up(NAME, servers), Ok(both()));
}

/// Both loopback addresses, or the one that this machine has.
fn both() -> Vec<IpAddr> {
    order::by_reach(&[Ipv6Addr::LOCALHOST.into(), Ipv4Addr::LOCALHOST.into()]).unwrap()
}

fn unanswered(server: &Server) {
    let found = look_up_within(TIME, NAME, &[server]);
    assert_eq!(found, Err(Failure::Unanswered(vec![server.address])));
}

/// An answer to a question, with the records that `fill` adds.
fn answer(question: &[u8], fill: impl FnOnce(&mut Packet<'_>, Kind)) -> Vec<u8> {
    let mut packet = Packet::parse(question).unwrap().into_reply();
    packet.set_flags(PacketFlag::RECURSION_AVAILABLE);
    let kind =
        if packet.questions[0].qtype == simple_dns::TYPE::A.into() { Kind::V4 } else { Kind::V6 };
    fill(&mut packet, kind);
    packet.build_bytes_vec().unwrap()
}

fn record(name: &'static str, data: RData<'static>) -> ResourceRecord<'static> {
    ResourceRecord::new(Name::new(name).unwrap(), CLASS::IN, 60, data)
}

fn address(name: &'static str, kind: Kind) -> ResourceRecord<'static> {
    record(
        name,
        match kind {
            Kind::V4 => RData::A(Ipv4Addr::LOCALHOST.into()),
            Kind::V6 => RData::AAAA(Ipv6Addr::LOCALHOST.into()),
        },
    )
}

fn other_name(name: &'static str, other: &'static str) -> ResourceRecord<'static> {
    record(name, RData::CNAME(Name::new(other).unwrap().into()))
}

fn good(question: &[u8]) -> Vec<u8> {
    answer(question, |packet, kind| packet.answers.push(address(NAME, kind)))
}

fn with(rcode: RCODE, question: &[u8]) -> Vec<u8> {
    answer(question, |packet, _| *packet.rcode_mut() = rcode)
}

const SILENT: Udp = |_| Vec::new();
const GOOD: Udp = |question| vec![good(question)];
const TRUNCATED: Udp =
    |question| vec![answer(question, |packet, _| packet.set_flags(PacketFlag::TRUNCATION))];

fn send(stream: &mut TcpStream, message: &[u8]) {
    let length = u16::try_from(message.len()).unwrap().to_be_bytes();
    let _ = stream.write_all(&[&length, message].concat());
}

#[test]
fn both_kinds_of_addresses_are_queried() {
    let server = server(GOOD, None);
    is_found(&[&server]);
    assert_eq!(server.queries.load(Ordering::SeqCst) % 2, 0, "two for each lookup");
}

#[test]
fn after_a_silent_server_the_next_is_queried_in_time() {
    let (silent, good) = (server(SILENT, None), server(GOOD, None));
    let began = std::time::Instant::now();
    unanswered(&silent);
    // Each attempt queries it. Its thread may count them later.
    while silent.queries.load(Ordering::SeqCst) < 4 {
        assert!(began.elapsed() < AMPLE, "an attempt is missing");
        std::thread::yield_now();
    }
    is_found(&[&silent, &good]);
    let closed = Server { address: ports().0.local_addr().unwrap(), queries: Arc::default() };
    unanswered(&closed);
    // A closed port fails at once and does not use up its share of the time.
    assert_eq!(look_up(NAME, &[&closed, &good]), Ok(both()));
}

#[test]
fn addresses_of_one_kind_are_returned_if_the_other_never_arrives() {
    let v4_alone = server(
        |question| {
            let answer = answer(question, |packet, kind| packet.answers.push(address(NAME, kind)));
            let v4 =
                Packet::parse(&answer).unwrap().questions[0].qtype == simple_dns::TYPE::A.into();
            if v4 { vec![answer] } else { Vec::new() }
        },
        None,
    );
    let found = look_up(NAME, &[&v4_alone]);
    assert_eq!(found, Ok(vec![Ipv4Addr::LOCALHOST.into()]));
    let v6_alone = server(
        |question| {
            let answer = answer(question, |packet, kind| packet.answers.push(address(NAME, kind)));
            let v4 =
                Packet::parse(&answer).unwrap().questions[0].qtype == simple_dns::TYPE::A.into();
            if v4 { Vec::new() } else { vec![answer] }
        },
        None,
    );
    assert_eq!(look_up_within(2 * TIME, NAME, &[&v6_alone]), Ok(vec![Ipv6Addr::LOCALHOST.into()]));
}

#[test]
fn answers_to_other_questions_are_ignored() {
    let lies: [Udp; 8] = [
        |question| vec![[&[!question[0], question[1]], &good(question)[2..]].concat()],
        |question| vec![question.to_vec()],
        |question| {
            let other = Name::new("other.example.com").unwrap();
            vec![answer(question, |packet, kind| {
                packet.questions[0].qname = other;
                packet.answers.push(address("other.example.com", kind));
            })]
        },
        |question| vec![answer(question, |packet, _| packet.questions.clear())],
        |question| {
            vec![answer(question, |packet, kind| {
                packet.questions.push(packet.questions[0].clone());
                packet.answers.push(address(NAME, kind));
            })]
        },
        |question| vec![question[..2].to_vec(), Vec::new(), vec![0xff; 512]],
        |question| vec![[&good(question)[..4], &[0xff; 8]].concat()],
        |question| vec![good(question)[..40].to_vec()],
    ];
    for lie in lies {
        unanswered(&server(lie, None));
    }
    // After a wrong answer, the right one is still waited for.
    let late = server(
        |question| {
            vec![[&[!question[0], question[1]], &good(question)[2..]].concat(), good(question)]
        },
        None,
    );
    is_found(&[&late]);
}

#[test]
fn records_of_other_names_are_ignored() {
    let stray = server(
        |question| {
            vec![answer(question, |packet, kind| {
                packet.answers.push(address("other.example.com", kind));
                packet.additional_records.push(address(NAME, kind));
            })]
        },
        None,
    );
    assert_eq!(look_up(NAME, &[&stray]), Err(Failure::Unknown));
    let of_another_class = server(
        |question| {
            vec![answer(question, |packet, kind| {
                packet.answers.push(ResourceRecord { class: CLASS::CH, ..address(NAME, kind) });
            })]
        },
        None,
    );
    assert_eq!(look_up(NAME, &[&of_another_class]), Err(Failure::Unknown));
}

#[test]
fn aliases_are_followed_and_loops_are_not() {
    let chain = server(
        |question| {
            vec![answer(question, |packet, kind| {
                packet.answers.push(address("c.example.com", kind));
                packet.answers.push(other_name("B.example.com", "c.example.com"));
                packet.answers.push(other_name(NAME, "b.EXAMPLE.com"));
            })]
        },
        None,
    );
    is_found(&[&chain]);
    let round = server(
        |question| {
            vec![answer(question, |packet, _| {
                packet.answers.push(other_name(NAME, "b.example.com"));
                packet.answers.push(other_name("b.example.com", NAME));
            })]
        },
        None,
    );
    assert_eq!(look_up(NAME, &[&round]), Err(Failure::Unknown));
}

#[test]
fn a_missing_name_is_final_and_a_failing_server_is_not() {
    let good = server(GOOD, None);
    let none = server(|question| vec![with(RCODE::NameError, question)], None);
    assert_eq!(look_up(NAME, &[&none, &good]), Err(Failure::Unknown));
    let empty = server(|question| vec![with(RCODE::NoError, question)], None);
    assert_eq!(look_up(NAME, &[&empty, &good]), Err(Failure::Unknown));
    assert_eq!(good.queries.load(Ordering::SeqCst), 0);
    let failing: [Udp; 3] = [
        |question| vec![with(RCODE::ServerFailure, question)],
        |question| vec![with(RCODE::Refused, question)],
        |question| {
            vec![answer(question, |packet, _| packet.remove_flags(PacketFlag::RECURSION_AVAILABLE))]
        },
    ];
    for failing in failing {
        let failing = server(failing, None);
        unanswered(&failing);
        assert_eq!(look_up(NAME, &[&failing, &good]), Ok(both()));
    }
}

#[test]
fn long_answers_are_received_over_tcp() {
    let long = server(
        TRUNCATED,
        Some(|mut stream, question| {
            send(
                &mut stream,
                &answer(&question, |packet, kind| {
                    (0..100).for_each(|_| packet.answers.push(address(NAME, kind)));
                }),
            );
        }),
    );
    is_found(&[&long]);
}

#[test]
fn a_connection_that_misbehaves_ends_in_time() {
    let misbehaving: [Option<Tcp>; 7] = [
        None,
        Some(|stream, _| drop(stream)),
        Some(|stream, _| {
            std::thread::sleep(Duration::from_secs(2));
            drop(stream);
        }),
        Some(|mut stream, _| {
            // One byte at a time, of an answer that is never complete.
            let _ = stream.write_all(&[0x20, 0]);
            while stream.write_all(&[0]).is_ok() {
                std::thread::sleep(Duration::from_millis(20));
            }
        }),
        Some(|mut stream, _| {
            let _ = stream.write_all(&[0xff; 70_000]);
        }),
        Some(|mut stream, question| {
            send(&mut stream, &TRUNCATED(&question)[0]);
        }),
        Some(|mut stream, question| send(&mut stream, &question)),
    ];
    let good = server(GOOD, None);
    for tcp in misbehaving {
        let bad = server(TRUNCATED, tcp);
        unanswered(&bad);
        is_found(&[&bad, &good]);
    }
}

#[test]
fn a_flood_of_nonsense_ends_in_time() {
    unanswered(&server(|question| vec![vec![question[0]; 64]; 20_000], None));
}

#[test]
fn some_names_are_never_queried() {
    let server = server(GOOD, None);
    let long = format!("{}.example.com", "x".repeat(64));
    let longer = ["x"; 128].join(".");
    for name in ["", ".", "a..b", "a b", "127.1", "0x7f.1", "1", "x.invalid", "*", &long, &longer] {
        assert_eq!(look_up(name, &[&server]), Err(Failure::Unknown), "{name}");
    }
    for name in ["localhost", "LOCALHOST", "localhost.", "a.localhost"] {
        let found = look_up(name, &[&server]).unwrap();
        assert!(!found.is_empty() && found.iter().all(IpAddr::is_loopback), "{name}");
    }
    for (name, wanted) in [("192.0.2.1", "192.0.2.1"), ("[2001:db8::1]", "2001:db8::1")] {
        assert_eq!(look_up(name, &[&server]).unwrap(), [wanted.parse::<IpAddr>().unwrap()]);
    }
    assert_eq!(server.queries.load(Ordering::SeqCst), 0);
}

#[test]
fn the_files_of_the_system_are_used() {
    let searched = server(
        |question| {
            let name = Packet::parse(question).unwrap().questions[0].qname.to_string();
            vec![match name.as_str() {
                NAME => good(question),
                "host.broken.example" | "other.broken.example" => {
                    with(RCODE::ServerFailure, question)
                }
                _ => with(RCODE::NameError, question),
            }]
        },
        None,
    );
    let folder = tempfile::tempdir().unwrap();
    let (hosts, resolv_conf) = (folder.path().join("hosts"), folder.path().join("resolv.conf"));
    std::fs::write(&hosts, "127.0.0.7 written\n").unwrap();
    std::fs::write(&resolv_conf, "search nowhere.example broken.example example.com\n").unwrap();
    let servers = vec![searched.address];
    let lookup =
        Lookup { hosts, resolv_conf, nsswitch_conf: "/nowhere".into(), servers, by_system: false };
    let found = |name| lookup.addresses(name, Deadline::within(AMPLE));
    assert_eq!(found("written").unwrap(), ["127.0.0.7".parse::<IpAddr>().unwrap()]);
    assert_eq!(searched.queries.load(Ordering::SeqCst), 0);
    assert_eq!(found("host").unwrap().len(), 2);
    assert_eq!(found("host."), Err(Failure::Unknown));
    assert_eq!(found("other"), Err(Failure::Unanswered(vec![searched.address])));
    // The system's resolver might find it.
    let nsswitch_conf = folder.path().join("nsswitch.conf");
    std::fs::write(&nsswitch_conf, "hosts: files ldap dns\n").unwrap();
    let other = Lookup { nsswitch_conf, ..lookup.clone() };
    let error = other.addresses("host.", Deadline::within(AMPLE)).unwrap_err();
    assert!(error.to_string().contains("also lists ldap, which is not used"), "{error}");
    // With a domain appended, the name is too long, and so not queried.
    let long = ["x"; 125].join(".");
    let queries = searched.queries.load(Ordering::SeqCst);
    assert_eq!(found(&long), Err(Failure::Unknown));
    assert_eq!(searched.queries.load(Ordering::SeqCst), queries + 2);
}

#[test]
fn the_resolver_of_the_system_is_used_if_the_setting_says_so() {
    let system = Lookup::new(&["system".to_owned()]).unwrap();
    let found = |name| system.addresses(name, Deadline::within(AMPLE));
    let own = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let own = own.trim().to_ascii_lowercase();
    // Most machines know their own name, by whichever source.
    if let Ok(expected) = (own.as_str(), 0).to_socket_addrs() {
        let expected: Vec<IpAddr> = expected.map(|address| address.ip()).collect();
        assert!(found(&own).unwrap().iter().all(|found| expected.contains(found)), "{own}");
    }
    assert_eq!(found("name.invalid"), Err(Failure::Unknown));
    assert_eq!(found("127.0.0.1; ls"), Err(Failure::Unknown));
    let late = system.addresses("host.example", Deadline::within(Duration::ZERO)).unwrap_err();
    assert!(
        late.to_string().starts_with("the system's resolver has not found the name: "),
        "{late}"
    );
    let mixed = Lookup::new(&["system".to_owned(), "127.0.0.1".to_owned()]).err().unwrap();
    assert!(mixed.to_string().contains("system alone"), "{mixed}");
}

#[test]
fn only_regular_files_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("hosts");
    std::fs::write(&file, "127.0.0.7 written\n").unwrap();
    assert!(plain(&file).unwrap().is_some());
    for other in [folder.path(), Path::new("/dev/zero"), Path::new("/nowhere")] {
        assert!(plain(other).unwrap().is_none(), "{other:?}");
    }
    // Opening this pipe would block indefinitely, because it has no writer.
    let pipe = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let lookup = Lookup::new(&["127.0.0.1:9".to_owned()]).unwrap();
    let lookup = lookup.with_files(pipe.clone(), pipe);
    assert!(lookup.addresses("host", Deadline::within(TIME)).is_err());
}
