//! Texts of notifications on devices, in the languages of the approver (server/approver/assets).

/// A language, the text of a notification below the name of an application whose request waits, and the text for a
/// device that was registered.
const NOTICES: [(&str, &str, &str); 6] = [
    ("en", "asks for your approval", "A device was added to your account."),
    ("de", "bittet um Ihre Freigabe", "Ihrem Konto wurde ein Gerät hinzugefügt."),
    ("fr", "demande votre approbation", "Un appareil a été ajouté à votre compte."),
    ("es", "solicita su aprobación", "Se ha añadido un dispositivo a su cuenta."),
    ("pt", "solicita a sua aprovação", "Um dispositivo foi adicionado à sua conta."),
    ("ar", "يطلب موافقتك", "تمت إضافة جهاز إلى حسابك."),
];

/// Returns the texts in a language, such as `pt-BR`; in English if that language is not among them.
pub(in crate::engine) fn notices(language: &str) -> (&'static str, &'static str) {
    let wanted = language.split('-').next().unwrap_or_default();
    let known = NOTICES.iter().find(|(tag, ..)| tag.eq_ignore_ascii_case(wanted));
    let (_, asks, added) = known.unwrap_or(&NOTICES[0]);
    (asks, added)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_language_of_a_device_decides_and_english_is_for_all_others() {
        assert_eq!(notices("pt-BR").0, "solicita a sua aprovação");
        assert_eq!(notices("DE").0, "bittet um Ihre Freigabe");
        assert_eq!(notices("nl"), notices("en"));
    }
}
