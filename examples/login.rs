//! The second factor of a login, as the README shows it. Run it in a writable folder.
#![allow(clippy::print_stdout, reason = "the program is interactive")]

use seconder::{Handle, Verdict, Verify};
use std::io::BufRead;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let service = seconder::open("sqlite:seconder.db")?;
    let user = service.create_user("ada@example.com", "555-010-0123", "1")?;

    service.request_sms(user.user_id)?;
    println!("A code was sent to the folder seconder.spool. Enter it:");
    let typed = std::io::stdin().lock().lines().next().transpose()?.unwrap_or_default();

    let check = Verify::new(user.user_id, typed.parse()?);
    match service.handle(&check)?.verdict {
        Verdict::Right => println!("Welcome, Ada."),
        Verdict::Wrong | Verdict::NotChecked => println!("Access denied."),
    }
    Ok(())
}
