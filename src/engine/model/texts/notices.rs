//! Texts of notifications on devices, in the languages of the approver (server/approver/assets).

/// The texts of notifications in a language.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::engine) struct Notices {
    language: &'static str,
    /// For a request that waits, below the name of its application.
    pub(in crate::engine) asks: &'static str,
    /// For a device that was registered.
    pub(in crate::engine) device: &'static str,
    /// For a phone number that was changed.
    pub(in crate::engine) number: &'static str,
}

const NOTICES: [Notices; 6] = [
    Notices {
        language: "en",
        asks: "asks for your approval",
        device: "A device was added to your account.",
        number: "The phone number of your account was changed.",
    },
    Notices {
        language: "de",
        asks: "bittet um Ihre Freigabe",
        device: "Ihrem Konto wurde ein Gerät hinzugefügt.",
        number: "Die Telefonnummer Ihres Kontos wurde geändert.",
    },
    Notices {
        language: "fr",
        asks: "demande votre approbation",
        device: "Un appareil a été ajouté à votre compte.",
        number: "Le numéro de téléphone de votre compte a été modifié.",
    },
    Notices {
        language: "es",
        asks: "solicita su aprobación",
        device: "Se ha añadido un dispositivo a su cuenta.",
        number: "Se ha cambiado el número de teléfono de su cuenta.",
    },
    Notices {
        language: "pt",
        asks: "solicita a sua aprovação",
        device: "Um dispositivo foi adicionado à sua conta.",
        number: "O número de telefone da sua conta foi alterado.",
    },
    Notices {
        language: "ar",
        asks: "يطلب موافقتك",
        device: "تمت إضافة جهاز إلى حسابك.",
        number: "تم تغيير رقم هاتف حسابك.",
    },
];

/// Returns the texts in a language, such as `pt-BR`; in English if that language is not among them.
pub(in crate::engine) fn notices(language: &str) -> &'static Notices {
    let wanted = language.split('-').next().unwrap_or_default();
    let known = NOTICES.iter().find(|texts| texts.language.eq_ignore_ascii_case(wanted));
    known.unwrap_or(&NOTICES[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_language_of_a_device_decides_and_english_is_for_all_others() {
        assert_eq!(notices("pt-BR").asks, "solicita a sua aprovação");
        assert_eq!(notices("DE").number, "Die Telefonnummer Ihres Kontos wurde geändert.");
        assert_eq!(notices("nl"), notices("en"));
    }
}
