//! The C++ wrapper covers the C header completely, compiles with every supported standard, and
//! programs built with it work.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]
#![allow(clippy::disallowed_methods, reason = "a thread plays the user with the phone")]

use crate::header::{Header, name_of, read, root};
use crate::tools::{self, Folder, library, run};
use seconder::engine::{ApprovalResponse, DeviceType, RespondToApproval};
use seconder::model::Secret;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

/// The standards. `c++2b` is known to older compilers too, unlike `c++23`.
const STANDARDS: [&str; 3] = ["c++17", "c++20", "c++2b"];
const COMPILERS: [&str; 2] = ["g++", "clang++"];
const WARNINGS: [&str; 9] = [
    "-Wall",
    "-Wextra",
    "-pedantic",
    "-Werror",
    "-Wconversion",
    "-Wsign-conversion",
    "-Wshadow",
    "-Wold-style-cast",
    "-Weffc++",
];

fn compiler(name: &str, standard: &str) -> Command {
    let mut command = tools::command(name);
    command.arg(format!("-std={standard}")).args(WARNINGS);
    command.arg("-I").arg(root().join("include"));
    command
}

/// The words of the wrapper, without its comments.
fn words() -> BTreeSet<String> {
    let text = read("include/seconder.hpp");
    let (_, code) = text.split_once("#ifndef").unwrap();
    let code: Vec<&str> = code.lines().map(|l| l.split("//").next().unwrap_or(l)).collect();
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    code.join("\n").split(|c| !is_part(c)).map(str::to_owned).collect()
}

#[test]
fn every_function_and_constant_is_wrapped() {
    let (words, header) = (words(), Header::read());
    let functions = header.functions.iter().map(|function| &function.name);
    let constants = header.constants.iter().map(|constant| &constant.name);
    // Options as text are for languages that have no struct of C.
    let is_wrapped = |name: &&String| words.contains(*name) || *name == "seconder_open_text";
    let missing: Vec<&String> =
        functions.chain(constants).filter(|name| !is_wrapped(name)).collect();
    assert!(missing.is_empty(), "include/seconder.hpp:1: does not use {missing:?}");
}

#[test]
fn every_option_can_be_set() {
    let text = read("include/seconder.hpp");
    // Structs that callers only read: the wrapper has accessors for them, or passes them on.
    const READ: [&str; 8] = [
        "seconder_device_info",
        "seconder_authenticator",
        "seconder_registered_device",
        "seconder_monthly_statistic",
        "seconder_approval_request",
        "seconder_audit_entry",
        "seconder_sent_message",
        "seconder_replay_entry",
    ];
    for set in Header::read().structs.iter().filter(|s| !READ.contains(&s.name.as_str())) {
        let declared = format!("{} ", set.name);
        let code: String = text.split(&declared).skip(1).collect();
        for (field, _) in &set.fields {
            let name = name_of(field);
            let is_set = code.contains(&format!("c.{name} = "));
            assert!(is_set, "include/seconder.hpp:1: {}.{name} is never set", set.name);
        }
    }
}

#[test]
fn the_wrapper_compiles_without_warnings_in_every_standard() {
    let folder = Folder::new();
    let source = folder.write(
        "twice.cpp",
        "#include \"seconder.hpp\"\n#include \"seconder.hpp\"\nint main() { return 0; }\n",
    );
    for name in COMPILERS {
        for standard in STANDARDS {
            for way in [&["-fexceptions"][..], &["-fno-exceptions", "-fno-rtti"]] {
                let mut command = compiler(name, standard);
                let outcome = run(command.args(way).arg("-fsyntax-only").arg(&source));
                assert!(outcome.good, "{name} -std={standard} {way:?}: {}", outcome.text);
            }
        }
    }
}

#[test]
fn an_older_standard_fails_with_a_message_that_names_cpp17() {
    let folder = Folder::new();
    let source = folder.write("old.cpp", "#include \"seconder.hpp\"\n");
    let outcome = run(tools::command("g++")
        .args(["-std=c++14", "-fsyntax-only", "-I"])
        .arg(root().join("include"))
        .arg(source));
    assert!(!outcome.good && outcome.text.contains("needs C++17 or later"), "{}", outcome.text);
}

/// Each line is a mistake that the compiler finds.
#[test]
fn mistakes_do_not_compile() {
    const MISTAKES: [(&str, &str); 10] = [
        ("auto text = service.try_check_approval(\"a\")->uuid();", "deleted"),
        ("auto text = service.try_check_approval(\"a\").value().uuid();", "deleted"),
        ("auto text = service.check_approval(\"a\").uuid();", "deleted"),
        ("auto text = service.create_user(\"a@b\", \"5550100\", \"1\").message();", "deleted"),
        ("auto key = seconder::open(\"sandbox:\").api_key();", "deleted"),
        ("auto why = service.try_verify(\"1\", 1).error();", "deleted"),
        ("auto text = totp.code(0).value();", "deleted"),
        ("seconder::Service copy = service;", "deleted"),
        ("service.try_verify(\"123456\", 1);", "nodiscard"),
        ("if (service.check_approval(\"a\")) return;", "convert"),
    ];
    let check = |mistakes: &[(&str, &str)]| {
        let mut text = "#include \"seconder.hpp\"\n".to_owned();
        for (number, (mistake, _)) in mistakes.iter().enumerate() {
            text += &format!(
                "void mistake{number}(const seconder::Service &service, const seconder::Totp &totp) {{ \
                 static_cast<void>(service); static_cast<void>(totp); {mistake} }}\n"
            );
        }
        let folder = Folder::new();
        let source = folder.write("mistakes.cpp", &text);
        run(compiler("g++", "c++17").args(["-Wno-unused-variable", "-fsyntax-only"]).arg(source))
    };
    // Without a mistake, the same code must compile.
    let outcome = check(&[("", "")]);
    assert!(outcome.good, "{}", outcome.text);
    let outcome = check(&MISTAKES);
    for (number, (mistake, message)) in MISTAKES.iter().enumerate() {
        let place = format!("mistakes.cpp:{}:", number + 2);
        let is_found = |line: &str| line.contains(&place) && line.contains(message);
        assert!(outcome.text.lines().any(is_found), "{mistake}: {}", outcome.text);
    }
}

fn build(compiler_name: &str, sources: &[&str], more: &[&str], folder: &Folder) -> PathBuf {
    let program = folder.path().join("program");
    let library = library();
    let place = library.parent().unwrap();
    let mut command = compiler(compiler_name, "c++17");
    command.args(more).args(sources.iter().map(|source| root().join(source)));
    command.arg("-o").arg(&program).arg("-L").arg(place);
    command.arg(format!("-Wl,-rpath,{}", place.display())).args(["-lseconder", "-lpthread"]);
    let outcome = run(&mut command);
    assert!(outcome.good, "{sources:?}: {}", outcome.text);
    program
}

#[test]
fn cpp_programs_succeed() {
    let wrapper: &[&str] = &["tests/cpp/wrapper.cpp", "tests/cpp/other.cpp"];
    let no_exceptions: &[&str] = &["tests/cpp/no_exceptions.cpp"];
    for compiler in COMPILERS {
        // Of two standards, a compiler takes the last. C++20 has stop tokens.
        for (sources, more) in [
            (wrapper, &[][..]),
            (wrapper, &["-std=c++20"]),
            (no_exceptions, &["-fno-exceptions", "-fno-rtti"]),
        ] {
            let folder = Folder::new();
            let program = build(compiler, sources, more, &folder);
            let outcome = run(tools::command(&program).arg(folder.path()));
            assert!(outcome.good, "{compiler} {sources:?}: {}", outcome.text);
        }
    }
}

/// A linker keeps the first of two inline functions of one name. A file with exceptions must not
/// end up with functions of the wrapper that were compiled without them.
#[test]
fn files_with_and_without_exceptions_can_be_linked_together() {
    let folder = Folder::new();
    let no_exceptions = folder.path().join("no_exceptions.o");
    let outcome = run(compiler("g++", "c++17")
        .args(["-fno-exceptions", "-fno-rtti", "-Dmain=no_exceptions", "-c", "-o"])
        .arg(&no_exceptions)
        .arg(root().join("tests/cpp/no_exceptions.cpp")));
    assert!(outcome.good, "{}", outcome.text);
    let sources = ["tests/cpp/wrapper.cpp", "tests/cpp/other.cpp"];
    let program = build("g++", &sources, &[no_exceptions.to_str().unwrap()], &folder);
    let outcome = run(tools::command(&program).arg(folder.path()));
    assert!(outcome.good, "{}", outcome.text);
}

/// How long each step of the example may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// Runs the example in a new folder, with the lines of `input` as its input. Returns whether it
/// succeeded, and its output.
fn login(program: &Path, input: impl Fn(&Path) -> Vec<Input>) -> (bool, String) {
    let folder = Folder::new();
    let shown = folder.path().join(SHOWN);
    let mut child = tools::command(program)
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .stdout(fs::File::create(&shown).unwrap())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    for line in input(folder.path()) {
        writeln!(stdin, "{}", line()).unwrap();
    }
    drop(stdin);
    let status = child.wait().unwrap();
    (status.success(), fs::read_to_string(shown).unwrap())
}

/// The file with the output, which a user reads before the program has ended.
const SHOWN: &str = "shown";

/// A line of input. It is a function, as a code is only known once the message was delivered.
type Input = Box<dyn Fn() -> String>;

fn line(text: &str) -> Input {
    let text = text.to_owned();
    Box::new(move || text.clone())
}

const PASSWORD: &str = "correct horse battery staple";

fn within<T>(what: &str, look: impl Fn() -> Option<T>) -> T {
    let started = Instant::now();
    while started.elapsed() < PATIENCE {
        if let Some(found) = look() {
            return found;
        }
        thread::sleep(Duration::from_millis(20));
    }
    panic!("{what}");
}

/// Waits for the message in the spool folder, and returns its code.
fn code(folder: &Path) -> String {
    within("no message was delivered", || {
        let files = fs::read_dir(folder.join("seconder.spool")).into_iter().flatten().flatten();
        // A file whose name begins with a dot is still being written, and has no extension.
        let files = files.map(|file| file.path());
        let files = files.filter(|path| path.extension().is_some_and(|end| end == "txt"));
        let texts = files.filter_map(|path| fs::read_to_string(path).ok());
        let mut codes = texts.filter_map(|text| {
            text.lines().find_map(|line| line.strip_prefix("Code: ").map(str::to_owned))
        });
        codes.next()
    })
}

#[test]
fn the_example_accepts_a_right_code_or_an_approval() {
    let folder = Folder::new();
    let program = build("g++", &["examples/login.cpp"], &[], &folder);

    let right = login(&program, |folder| {
        let folder = folder.to_owned();
        vec![line(PASSWORD), line("sms"), Box::new(move || code(&folder))]
    });
    assert!(right.0 && right.1.ends_with("Welcome, Ada.\n"), "{}", right.1);

    let wrong = login(&program, |folder| {
        let folder = folder.to_owned();
        let wrong = move || if code(&folder) == "0000000" { "1000000" } else { "0000000" }.into();
        vec![line(PASSWORD), line("sms"), line("../sms"), Box::new(wrong), line("0000000")]
    });
    assert!(!wrong.0 && wrong.1.ends_with("Access denied.\n"), "{}", wrong.1);
    assert_eq!(wrong.1.matches("That is not the code.").count(), 2, "{}", wrong.1);
    assert_eq!(wrong.1.matches("Please type the digits of the code.").count(), 1, "{}", wrong.1);

    let password = login(&program, |_| vec![line("guess")]);
    assert!(!password.0 && password.1.ends_with("Access denied.\n"), "{}", password.1);

    let approved = login(&program, |folder| by_phone(folder, ApprovalResponse::Approve));
    assert!(approved.0 && approved.1.ends_with("Welcome, Ada.\n"), "{}", approved.1);
    let denied = login(&program, |folder| by_phone(folder, ApprovalResponse::Deny));
    assert!(!denied.0 && denied.1.ends_with("Access denied.\n"), "{}", denied.1);
    assert!(denied.1.contains("It was denied on the phone."), "{}", denied.1);
}

/// The input of a user who responds on a phone. The phone uses the database from this process.
fn by_phone(folder: &Path, response: ApprovalResponse) -> Vec<Input> {
    let shown = folder.join(SHOWN);
    let url = format!("sqlite:{}", folder.join("seconder.db").display());
    let phone = move || {
        let service = within("no database was created", || seconder::open(&url).ok());
        let engine = service.engine().unwrap();
        let user = service.create_user("ada@example.com", "555-010-0123", "1").unwrap();
        let device = engine.register_device(user.user_id, DeviceType::Android).unwrap();
        let shown = shown.clone();
        thread::spawn(move || {
            let engine = service.engine().unwrap();
            let uuid = within("no approval request was created", || {
                let open = engine.open_approvals(device.device_id, &device.secret).unwrap();
                open.into_iter().next().map(|request| request.uuid)
            });
            let device_secret = device.secret;
            let device_id = device.device_id;
            let number = within("no number was shown", || {
                let shown = fs::read_to_string(&shown).ok()?;
                let (_, rest) = shown.split_once("Please type ")?;
                rest.split_once(" on your phone.\n").map(|(number, _)| Secret::new(number))
            });
            let number = Some(number).filter(|_| response == ApprovalResponse::Approve);
            let _approval = engine
                .respond_to_approval(&RespondToApproval {
                    uuid,
                    device_id,
                    device_secret,
                    response,
                    number,
                })
                .unwrap();
        });
        "phone".to_owned()
    };
    vec![line(PASSWORD), Box::new(phone)]
}
