//! The texts that are built in. To add a language, add it here: the tests then require that its texts
//! are complete, and short enough for one SMS.
//!
//! In Latin letters, the texts for SMS have the alphabet of GSM alone, in which 160 characters fit into
//! one message instead of 70, so some of them have another word for a code than the texts for voice.

use Count::{Any, Few3To10, One, SlavicFew, SlavicOne, Two};
use std::borrow::Cow;

/// A language with its texts. `{{about}}` is the message of an action in brackets, after a space, or
/// nothing.
pub(super) struct Language {
    /// As in ISO 639-1.
    pub(super) tag: &'static str,
    pub(super) sms: &'static str,
    pub(super) call: &'static str,
    pub(super) install: &'static str,
    /// The validity of a code with less than a minute left, in words.
    pub(super) less: &'static str,
    /// The same for more, by the number of minutes, which takes the place of `#`. The first line that
    /// applies counts.
    pub(super) minutes: &'static [(Count, &'static str)],
}

/// The numbers that a form of the word is for.
#[derive(Clone, Copy)]
pub(super) enum Count {
    One,
    Two,
    Few3To10,
    /// 1, 21, 31 …
    SlavicOne,
    /// 2 to 4, 22 to 24 …
    SlavicFew,
    Any,
}

impl Count {
    fn has(self, number: u64) -> bool {
        let teens = (11..=14).contains(&(number % 100));
        match self {
            One => number == 1,
            Two => number == 2,
            Few3To10 => (3..=10).contains(&(number % 100)),
            SlavicOne => number % 10 == 1 && !teens,
            SlavicFew => (2..=4).contains(&(number % 10)) && !teens,
            Any => true,
        }
    }
}

impl Language {
    /// Returns the remaining validity of a code, in words.
    pub(super) fn validity(&self, minutes: u64) -> String {
        let form = self.minutes.iter().find(|(count, _)| count.has(minutes));
        match form {
            Some((_, form)) if minutes > 0 => form.replace('#', &minutes.to_string()),
            _ => self.less.to_owned(),
        }
    }
}

/// Returns the language of this tag of two letters.
pub(super) fn of(tag: &str) -> Option<&'static Language> {
    LANGUAGES.iter().find(|language| language.tag == tag)
}

/// Returns whether a language is written from right to left, also one without texts here.
pub(super) fn is_right_to_left(tag: &str) -> bool {
    matches!(tag, "ar" | "dv" | "fa" | "he" | "ku" | "ps" | "sd" | "ug" | "ur" | "yi")
}

/// The languages of ISO 639-1, for which an application can have texts.
pub(super) const KNOWN: &str = "aa ab ae af ak am an ar as av ay az ba be bg bi bm bn bo br bs ca ce \
    ch co cr cs cu cv cy da de dv dz ee el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha \
    he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu ja jv ka kg ki kj kk kl km kn ko kr ks ku \
    kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn no nr nv \
    ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st \
    su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu";

pub(super) const ENGLISH: Language = Language {
    tag: "en",
    sms: "Your code for {{app}}{{about}} is {{code}}. It is valid for {{validity}}. Do not share it.",
    call: "Your code for {{app}}{{about}} is {{code}}. It is valid for {{validity}}. Do not share it.",
    install: "Install the app for {{app}}: {{link}}",
    less: "less than a minute",
    minutes: &[(One, "1 minute"), (Any, "# minutes")],
};

pub(super) static LANGUAGES: &[Language] = &[
    ENGLISH,
    Language {
        tag: "ar",
        sms: "رمز {{app}}{{about}} هو {{code}}. صالح لمدة {{validity}}. لا تشاركه.",
        call: "رمز {{app}}{{about}} هو {{code}}. وهو صالح لمدة {{validity}}. لا تشاركه مع أحد.",
        install: "لتثبيت تطبيق {{app}}:\n{{link}}",
        less: "أقل من دقيقة",
        minutes: &[(One, "دقيقة واحدة"), (Two, "دقيقتين"), (Few3To10, "# دقائق"), (Any, "# دقيقة")],
    },
    Language {
        tag: "de",
        sms: "Ihr Code für {{app}}{{about}} ist {{code}}. Er ist {{validity}} gültig. Geben Sie ihn nicht weiter.",
        call: "Ihr Code für {{app}}{{about}} ist {{code}}. Er ist {{validity}} gültig. Geben Sie ihn nicht weiter.",
        install: "Installieren Sie die App für {{app}}: {{link}}",
        less: "weniger als eine Minute",
        minutes: &[(One, "eine Minute"), (Any, "# Minuten")],
    },
    Language {
        tag: "es",
        sms: "Su clave para {{app}}{{about}} es {{code}}. Caduca en {{validity}}. No la comparta.",
        call: "Su código para {{app}}{{about}} es {{code}}. Caduca en {{validity}}. No lo comparta.",
        install: "Instale la app de {{app}}: {{link}}",
        less: "menos de un minuto",
        minutes: &[(One, "un minuto"), (Any, "# minutos")],
    },
    Language {
        tag: "fr",
        sms: "Votre code pour {{app}}{{about}} est {{code}}. Il est valable {{validity}}. Ne le partagez pas.",
        call: "Votre code pour {{app}}{{about}} est {{code}}. Il est valable {{validity}}. Ne le partagez pas.",
        install: "Installez l'application de {{app}} : {{link}}",
        less: "moins d'une minute",
        minutes: &[(One, "une minute"), (Any, "# minutes")],
    },
    Language {
        tag: "he",
        sms: "הקוד ל-{{app}}{{about}} הוא {{code}}. תוקפו {{validity}}. אין למסור אותו.",
        call: "הקוד שלך ל-{{app}}{{about}} הוא {{code}}. הוא בתוקף למשך {{validity}}. אין למסור אותו לאיש.",
        install: "להתקנת היישום של {{app}}:\n{{link}}",
        less: "פחות מדקה",
        minutes: &[(One, "דקה אחת"), (Two, "שתי דקות"), (Any, "# דקות")],
    },
    Language {
        tag: "it",
        sms: "Il tuo codice per {{app}}{{about}} è {{code}}. Scade tra {{validity}}. Non condividerlo.",
        call: "Il tuo codice per {{app}}{{about}} è {{code}}. Scade tra {{validity}}. Non condividerlo.",
        install: "Installa l'app di {{app}}: {{link}}",
        less: "meno di un minuto",
        minutes: &[(One, "un minuto"), (Any, "# minuti")],
    },
    Language {
        tag: "ja",
        sms: "{{app}}{{about}}の確認コードは{{code}}です。有効期間は{{validity}}です。他人に教えないでください。",
        call: "{{app}}{{about}}の確認コードは{{code}}です。有効期間は{{validity}}です。他人に教えないでください。",
        install: "{{app}}のアプリのインストール: {{link}}",
        less: "1分未満",
        minutes: &[(Any, "#分")],
    },
    Language {
        tag: "ko",
        sms: "{{app}}{{about}} 인증번호는 {{code}}입니다. 유효 시간: {{validity}}. 타인에게 알려주지 마세요.",
        call: "{{app}}{{about}} 인증번호는 {{code}}입니다. 유효 시간은 {{validity}}입니다. 타인에게 알려주지 마세요.",
        install: "{{app}} 앱 설치: {{link}}",
        less: "1분 미만",
        minutes: &[(Any, "#분")],
    },
    Language {
        tag: "nl",
        sms: "Uw code voor {{app}}{{about}} is {{code}}. Deze is {{validity}} geldig. Deel de code met niemand.",
        call: "Uw code voor {{app}}{{about}} is {{code}}. Deze is {{validity}} geldig. Deel de code met niemand.",
        install: "Installeer de app voor {{app}}: {{link}}",
        less: "minder dan een minuut",
        minutes: &[(One, "een minuut"), (Any, "# minuten")],
    },
    Language {
        tag: "pl",
        sms: "Kod do {{app}}{{about}}: {{code}}. Czas na wpisanie: {{validity}}. Nikomu go nie podawaj.",
        call: "Twój kod do {{app}}{{about}} to {{code}}. Czas na wpisanie: {{validity}}. Nikomu go nie podawaj.",
        install: "Link do instalacji {{app}}: {{link}}",
        less: "do 1 minuty",
        minutes: &[(One, "1 minuta"), (SlavicFew, "# minuty"), (Any, "# minut")],
    },
    Language {
        tag: "pt",
        sms: "O seu PIN para {{app}}{{about}} é {{code}}. Expira em {{validity}}. Nunca o revele.",
        call: "O seu código para {{app}}{{about}} é {{code}}. Expira em {{validity}}. Não o revele a ninguém.",
        install: "Link para instalar {{app}}: {{link}}",
        less: "menos de um minuto",
        minutes: &[(One, "um minuto"), (Any, "# minutos")],
    },
    Language {
        tag: "ru",
        sms: "Код для {{app}}{{about}}: {{code}}. Срок: {{validity}}. Никому не сообщайте.",
        call: "Ваш код для {{app}}{{about}}: {{code}}. Срок действия: {{validity}}. Никому его не сообщайте.",
        install: "Установите приложение {{app}}: {{link}}",
        less: "меньше минуты",
        minutes: &[(SlavicOne, "# минута"), (SlavicFew, "# минуты"), (Any, "# минут")],
    },
    Language {
        tag: "sv",
        sms: "Din kod för {{app}}{{about}} är {{code}}. Den gäller i {{validity}}. Dela den inte med någon.",
        call: "Din kod för {{app}}{{about}} är {{code}}. Den gäller i {{validity}}. Dela den inte med någon.",
        install: "Installera appen för {{app}}: {{link}}",
        less: "mindre än en minut",
        minutes: &[(One, "en minut"), (Any, "# minuter")],
    },
    Language {
        tag: "tr",
        sms: "{{app}}{{about}} kodunuz: {{code}}. Süre: {{validity}}. Kimseye vermeyin.",
        call: "{{app}}{{about}} kodunuz: {{code}}. Geçerlilik süresi: {{validity}}. Kodu kimseyle paylaşmayın.",
        install: "{{app}} kurulumu: {{link}}",
        less: "1 dakikadan az",
        minutes: &[(Any, "# dakika")],
    },
    Language {
        tag: "uk",
        sms: "Код для {{app}}{{about}}: {{code}}. Термін: {{validity}}. Нікому не кажіть.",
        call: "Ваш код для {{app}}{{about}}: {{code}}. Термін дії: {{validity}}. Нікому його не кажіть.",
        install: "Установіть застосунок {{app}}: {{link}}",
        less: "менше хвилини",
        minutes: &[(SlavicOne, "# хвилина"), (SlavicFew, "# хвилини"), (Any, "# хвилин")],
    },
    Language {
        tag: "zh",
        sms: "{{app}}{{about}}验证码：{{code}}，{{validity}}内有效，请勿告诉他人。",
        call: "您的{{app}}{{about}}验证码是：{{code}}，{{validity}}内有效，请勿告诉他人。",
        install: "安装{{app}}的应用：{{link}}",
        less: "1分钟",
        minutes: &[(Any, "#分钟")],
    },
];

/// Returns the languages that are built in, as messages of errors list them.
pub(super) fn built_in() -> Cow<'static, str> {
    let tags: Vec<_> = LANGUAGES.iter().map(|language| language.tag).collect();
    tags.join(", ").into()
}
