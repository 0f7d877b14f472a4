//! A QR code in a terminal.

use fast_qr::{ECL, QRBuilder};
use std::fmt::Write;

/// The light border that readers need, in modules.
const BORDER: usize = 4;
/// Black on white, independent of the colours of the terminal: of the palette of 256, these two are not for themes to
/// change.
const DARK_ON_LIGHT: &str = "\x1b[38;5;16;48;5;231m";
const LIGHT_ON_DARK: &str = "\x1b[38;5;231;48;5;16m";
const END: &str = "\x1b[0m";

/// The abilities of a terminal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Screen {
    /// The number of columns.
    pub(crate) columns: usize,
    /// Set if it shows characters beyond ASCII.
    pub(crate) unicode: bool,
    /// Set if it has colours.
    pub(crate) colours: bool,
}

impl Screen {
    /// Returns the screen of standard output, as far as its variables and its size show it.
    #[allow(clippy::disallowed_methods, reason = "only these variables describe a terminal")]
    pub(crate) fn of_output() -> Screen {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(variable);
        let locale = locale.unwrap_or_default().to_ascii_lowercase();
        let term = variable("TERM").unwrap_or_default();
        let size = rustix::termios::tcgetwinsize(std::io::stdout());
        Screen {
            // Some terminals, such as serial ones, have a size of 0 and are as wide as ever.
            columns: size.map_or(80, |size| usize::from(size.ws_col).max(1)),
            unicode: locale.contains("utf-8") || locale.contains("utf8"),
            colours: !["", "dumb", "vt100"].contains(&term.as_str())
                && variable("NO_COLOR").is_none(),
        }
    }
}

/// Draws the text as a QR code, two modules in each character; `None` if the screen cannot show it.
/// With `invert`, dark and light are exchanged.
pub(crate) fn draw(text: &str, screen: Screen, invert: bool) -> Option<String> {
    // The lowest level of correction makes the smallest code, and a screen is not dirty.
    let code = QRBuilder::new(text).ecl(ECL::L).build().ok()?;
    let width = code.size + 2 * BORDER;
    if !screen.unicode || width > screen.columns {
        return None;
    }
    // Without colours, characters are usually light and the background is dark.
    let ink = screen.colours ^ (invert && !screen.colours);
    let inked = |x: usize, y: usize| {
        let inside = |at: usize| (BORDER..BORDER + code.size).contains(&at);
        let dark = inside(x) && inside(y) && code[y - BORDER][x - BORDER].value();
        dark == ink
    };
    let (begin, end) = match (screen.colours, invert) {
        (true, false) => (DARK_ON_LIGHT, END),
        (true, true) => (LIGHT_ON_DARK, END),
        (false, _) => ("", ""),
    };
    let mut out = String::new();
    for y in (0..width).step_by(2) {
        let line: String = (0..width)
            .map(|x| match (inked(x, y), inked(x, y + 1)) {
                (true, true) => '█',
                (true, false) => '▀',
                (false, true) => '▄',
                (false, false) => ' ',
            })
            .collect();
        // Writing to a String cannot fail.
        let _ = writeln!(out, "{begin}{line}{end}");
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    const URI: &str = "otpauth://totp/Example:ada%40example.com?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&\
                       issuer=Example&algorithm=SHA1&digits=6&period=30";
    const SCREEN: Screen = Screen { columns: 80, unicode: true, colours: true };

    fn plain(text: &str) -> Vec<String> {
        let text = [DARK_ON_LIGHT, LIGHT_ON_DARK, END]
            .iter()
            .fold(text.to_owned(), |text, code| text.replace(code, ""));
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn it_fits_a_usual_terminal_and_has_a_border() {
        let lines = plain(&draw(URI, SCREEN, false).unwrap_or_default());
        let width = lines[0].chars().count();
        assert!(width <= 64 && lines.iter().all(|line| line.chars().count() == width));
        assert_eq!(lines.len(), width.div_ceil(2));
        let blank = |line: &String| line.chars().all(|c| c == ' ');
        assert!(lines[..2].iter().chain(&lines[lines.len() - 2..]).all(blank));
        assert!(lines.iter().all(|line| line.starts_with("    ") && line.ends_with("    ")));
        assert!(lines[2].starts_with("    █▀▀▀▀▀█"), "{}", lines[2]);
    }

    #[test]
    fn without_colours_the_light_modules_are_drawn() {
        let screen = Screen { colours: false, ..SCREEN };
        let (drawn, inverted) = (draw(URI, screen, false), draw(URI, screen, true));
        assert!(drawn.is_some_and(|text| text.starts_with("████") && !text.contains('\x1b')));
        assert!(inverted.is_some_and(|text| text.starts_with("    ")));
    }

    #[test]
    fn a_screen_that_cannot_show_it_shows_nothing() {
        assert_eq!(draw(URI, Screen { columns: 40, ..SCREEN }, false), None);
        assert_eq!(draw(URI, Screen { unicode: false, ..SCREEN }, false), None);
        assert_eq!(draw(&"x".repeat(5000), Screen { columns: 999, ..SCREEN }, false), None);
    }
}
