//! Tests of the built-in texts, their choice, and the validation of an application's texts.

use super::*;

const APP: &str = "Example Bank";
const CODE: &str = "1234567";
/// The calling code of no country.
const NOWHERE: u16 = 999;

fn own(json: &str) -> Texts {
    json.parse().unwrap()
}

/// Returns the problems of these texts.
fn problems(json: &str) -> String {
    json.parse::<Texts>().unwrap_err().to_string()
}

fn built_in(language: &str, kind: Kind, values: &Values<'_>) -> String {
    let wording = Wording::new(&Texts::default(), kind, (Some(language), NOWHERE), values);
    assert_eq!(wording.language, language);
    wording.text(if kind == Kind::Install { "" } else { CODE }, 600)
}

fn domain() -> OtpDomain {
    "login.example.com".parse().unwrap()
}

/// Returns the language and the text for a locale and a calling code.
fn text(own: &Texts, kind: Kind, locale: Option<&str>, country: u16) -> (String, String) {
    let values = Values { app: "Acme", action: "Pay", link: "https://a.example/", domain: None };
    let wording = Wording::new(own, kind, (locale, country), &values);
    (wording.language.clone(), wording.text("4711", 600))
}

/// Returns the number of SMS that a text takes. The table is the one in `gateways/src/smpp`.
fn parts(text: &str) -> usize {
    const GSM: &str = "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?\
        ¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà";
    let (length, alone, part) = match text.chars().all(|c| GSM.contains(c)) {
        true => (text.chars().count(), 160, 153),
        false => (text.encode_utf16().count(), 70, 67),
    };
    if length <= alone { 1 } else { length.div_ceil(part) }
}

fn is_latin(language: &str) -> bool {
    !["ar", "he", "ja", "ko", "ru", "uk", "zh"].contains(&language)
}

#[test]
fn every_language_has_every_text_with_the_code_once() {
    assert!(languages::LANGUAGES.len() >= 10);
    for Language { tag, .. } in languages::LANGUAGES {
        assert!(languages::KNOWN.split_whitespace().any(|known| known == *tag), "{tag}");
        for kind in [Kind::Sms, Kind::SmsAction, Kind::Call, Kind::CallAction] {
            let with_action = matches!(kind, Kind::SmsAction | Kind::CallAction);
            let action = if with_action { "Pay 47.11" } else { "" };
            let text = built_in(tag, kind, &Values { app: APP, action, ..Values::default() });
            assert_eq!(text.matches(CODE).count(), 1, "{tag} {kind}: {text}");
            assert_eq!(text.matches(APP).count(), 1, "{tag} {kind}: {text}");
            assert_eq!(text.matches("10").count(), 1, "{tag} {kind}: {text}");
            assert_eq!(text.contains("Pay 47.11"), with_action, "{tag} {kind}: {text}");
            assert!(!text.contains(['{', '}', '#', '\n']), "{tag} {kind}: {text}");
            let spoken = kind.is_spoken();
            assert!(!spoken || !text.chars().any(template::is_direction), "{tag} {kind}: {text}");
        }
        let link = "https://app.example/get";
        let values = Values { app: APP, link, domain: Some(&domain()), ..Values::default() };
        let text = built_in(tag, Kind::Install, &values);
        // At the end, so that no mark is taken for a part of it.
        assert!(text.contains(APP) && text.ends_with(link), "{tag}: {text}");
        assert!(!text.contains('@'), "{tag}: {text}");
    }
}

/// The texts of an application have to follow these rules, so the built-in ones do too.
#[test]
fn the_built_in_texts_are_such_as_an_application_may_have() {
    for Language { tag, sms, call, install, .. } in languages::LANGUAGES {
        for (text, kind) in [(sms, Kind::Sms), (call, Kind::Call), (install, Kind::Install)] {
            assert_eq!(text.matches("{{about}}").count(), usize::from(kind != Kind::Install));
            let text = text.replace("{{about}}", "");
            assert_eq!(template::problems(&text, kind, tag), [""; 0], "{tag} {kind}");
        }
    }
}

#[test]
fn an_sms_is_one_message_and_two_with_the_line_for_browsers_at_most() {
    for Language { tag, less, minutes, .. } in languages::LANGUAGES {
        let values = Values { app: APP, ..Values::default() };
        let text = built_in(tag, Kind::Sms, &values);
        assert_eq!(parts(&text), 1, "{tag}: {} characters: {text}", text.chars().count());
        let with_line = built_in(tag, Kind::Sms, &Values { domain: Some(&domain()), ..values });
        assert!(parts(&with_line) <= if is_latin(tag) { 1 } else { 2 }, "{tag}: {with_line}");
        let forms = minutes.iter().map(|(_, form)| form).chain([less]);
        let is_gsm = |text: &str| parts(&format!("{text}{}", "x".repeat(100))) == 1;
        assert!(!is_latin(tag) || forms.into_iter().all(|form| is_gsm(form)), "{tag}");
    }
}

#[test]
fn the_line_for_browsers_is_the_last_one_of_an_sms() {
    let domain = domain();
    for Language { tag, .. } in languages::LANGUAGES {
        let values = Values { app: APP, action: "Pay", domain: Some(&domain), ..Values::default() };
        for kind in [Kind::Sms, Kind::SmsAction] {
            let text = built_in(tag, kind, &values);
            let (human, last) = text.rsplit_once('\n').unwrap();
            assert_eq!(last, "@login.example.com #1234567");
            assert_eq!(human.matches(CODE).count(), 1, "{human}");
            assert!(!human.contains(['@', '#', '\n']), "{human}");
        }
        assert!(!built_in(tag, Kind::Call, &values).contains('@'), "a voice does not read it");
    }
}

/// The first letter decides about the direction of the whole text, so it is one of the language.
#[test]
fn values_in_texts_from_right_to_left_have_their_own_direction() {
    for tag in ["ar", "he"] {
        let text = built_in(
            tag,
            Kind::SmsAction,
            &Values { app: APP, action: "Pay", ..Values::default() },
        );
        assert!(text.starts_with(|c: char| ('\u{590}'..'\u{700}').contains(&c)), "{text}");
        for value in [APP, "Pay", CODE] {
            assert!(text.contains(&format!("\u{2068}{value}\u{2069}")), "{text}");
        }
        let install = built_in(
            tag,
            Kind::Install,
            &Values { app: APP, link: "https://a.example/", ..Values::default() },
        );
        assert!(install.ends_with("\nhttps://a.example/"), "{install}");
    }
    let left = built_in("de", Kind::Sms, &Values { app: APP, ..Values::default() });
    assert!(!left.chars().any(template::is_direction), "{left}");
}

#[test]
fn a_value_changes_nothing_around_it() {
    let values = Values {
        app: "{{code}}",
        action: "a\n@evil.example #9\u{202e}\u{2069}",
        ..Values::default()
    };
    let text = built_in("ar", Kind::SmsAction, &values);
    assert!(text.contains("\u{2068}{{code}}\u{2069}"), "{text}");
    assert!(text.contains("\u{2068}a @evil.example #9\u{2069}"), "{text}");
    assert!(!text.contains('\n'), "{text}");
}

#[test]
fn words_have_the_form_of_their_number() {
    let valid = |tag: &str, minutes: u64| languages::of(tag).unwrap().validity(minutes);
    for (tag, minutes, text) in [
        ("en", 0, "less than a minute"),
        ("en", 1, "1 minute"),
        ("en", 60, "60 minutes"),
        ("pl", 1, "1 minuta"),
        ("pl", 2, "2 minuty"),
        ("pl", 5, "5 minut"),
        ("pl", 12, "12 minut"),
        ("pl", 21, "21 minut"),
        ("pl", 22, "22 minuty"),
        ("ru", 1, "1 минута"),
        ("ru", 3, "3 минуты"),
        ("ru", 11, "11 минут"),
        ("ru", 21, "21 минута"),
        ("uk", 34, "34 хвилини"),
        ("ar", 1, "دقيقة واحدة"),
        ("ar", 2, "دقيقتين"),
        ("ar", 10, "10 دقائق"),
        ("ar", 11, "11 دقيقة"),
        ("he", 2, "שתי דקות"),
        ("he", 10, "10 דקות"),
        ("ja", 1, "1分"),
    ] {
        assert_eq!(valid(tag, minutes), text, "{tag} {minutes}");
    }
    for language in languages::LANGUAGES {
        assert!((0..=60).all(|minutes| !language.validity(minutes).is_empty()));
    }
}

#[test]
fn a_text_says_how_long_is_left() {
    let values = Values { app: "Acme", ..Values::default() };
    let none = Texts::default();
    let wording = Wording::new(&none, Kind::Sms, (Some("de"), 1), &values);
    let stored = serde_json::to_string(&wording).unwrap();
    let wording: Wording = serde_json::from_str(&stored).unwrap();
    for (seconds, left) in [
        (600, "10 Minuten"),
        (595, "10 Minuten"),
        (110, "2 Minuten"),
        (60, "eine Minute"),
        (49, "weniger als eine Minute"),
        (0, "weniger als eine Minute"),
    ] {
        let text = wording.text(CODE, seconds);
        assert!(text.contains(&format!("Er ist {left} gültig.")), "{seconds}: {text}");
    }
    let own = own(r#"{"de": {"sms": "{{code}} {{minutes}}"}}"#);
    let wording = Wording::new(&own, Kind::Sms, (Some("de"), 1), &values);
    assert_eq!([wording.text("4711", 600), wording.text("4711", 5)], ["4711 10", "4711 1"]);
}

#[test]
fn the_language_is_that_of_the_locale_or_of_the_country_or_english() {
    let none = Texts::default();
    let language = |locale, country| text(&none, Kind::Sms, locale, country).0;
    for (locale, country, wanted) in [
        (None, 1, "en-US"),
        (None, 44, "en-GB"),
        (None, 49, "de-DE"),
        (None, 55, "pt-BR"),
        (None, 972, "he-IL"),
        (None, 358, "en"),
        (None, NOWHERE, "en"),
        (Some("pt-BR"), 49, "pt-BR"),
        (Some("PT_br.UTF-8"), 49, "pt-BR"),
        (Some("de"), 1, "de"),
        (Some("de"), 43, "de-AT"),
        (Some("de-CH"), 43, "de-CH"),
        (Some("es-419"), 1, "es-419"),
        (Some("iw"), 1, "he"),
        (Some("sr-Latn-RS"), 33, "fr-FR"),
        (Some("fi"), 46, "sv-SE"),
        (Some("fi"), 358, "en"),
        (Some(""), 48, "pl-PL"),
        (Some("klingon"), 48, "pl-PL"),
        (Some("../../etc"), 48, "pl-PL"),
        (Some("zh"), 1, "zh"),
        (Some("zh-Hans-CN"), 1, "zh-CN"),
        (Some("zh-Hant"), 1, "en-US"),
        (Some("zh-HK"), 1, "en-US"),
        (Some("zh-Hans-HK"), 1, "zh"),
        (Some("zh"), 886, "zh"),
        (None, 86, "zh-CN"),
        (None, 886, "en"),
    ] {
        assert_eq!(language(locale, country), wanted, "{locale:?} {country}");
    }
}

#[test]
fn a_text_of_the_application_comes_before_the_one_that_is_built_in() {
    let texts = own(r#"{"de": {"sms": "{{code}}: {{app}}", "sms_action": "{{code}}: {{action}}"},
            "pt-PT": {"sms": "pt {{code}}"}, "fi": {"sms": "fi {{code}}", "install": "fi {{link}}"}}"#);
    let texts = &texts;
    let of = |kind, locale, country| text(texts, kind, locale, country);
    let pair = |language: &str, text: &str| (language.to_owned(), text.to_owned());
    assert_eq!(of(Kind::Sms, None, 49), pair("de-DE", "4711: Acme"));
    assert_eq!(of(Kind::SmsAction, None, 49), pair("de-DE", "4711: Pay"));
    assert!(of(Kind::Call, None, 49).1.starts_with("Ihr Code für Acme (Pay) ist 4711."));
    assert_eq!(of(Kind::Sms, None, 351), pair("pt-PT", "pt 4711"));
    assert!(of(Kind::Sms, None, 55).1.contains("PIN"));
    assert!(of(Kind::Sms, Some("pt"), 351).1.contains("PIN"), "a region is not guessed");
    assert_eq!(of(Kind::Sms, None, 358), pair("fi-FI", "fi 4711"));
    assert_eq!(of(Kind::Install, Some("fi"), 1), pair("fi", "fi https://a.example/"));
    // Finnish has no text for a call.
    assert_eq!(of(Kind::Call, None, 358).0, "en");
}

#[test]
fn all_that_is_wrong_with_texts_is_reported_at_once() {
    let error = problems(
        r#"{"de": {"sms": "{{cod}}", "mms": "{{code}}", "install": "x"}, "english": {"sms": 7},
            "fi": {"call": "{{code}} {{validity}}", "sms_action": "{{code}} {{code}}"}, "it": []}"#,
    );
    assert!(error.starts_with("texts has 10 problems: "), "{error}");
    for problem in [
        "de.sms has the unknown placeholder {{cod}}: sms may have {{code}}, {{app}}",
        "de.sms lacks {{code}}",
        "de.mms is no kind: must be one of sms, sms_action, call, call_action, install",
        "de.install lacks {{link}}",
        "english is no language",
        "english.sms must be a text",
        "fi.call has {{validity}}, for which there are no words in fi: write {{minutes}}",
        "fi.sms_action has {{code}} more than once",
        "fi.sms_action lacks {{action}}",
        "it must be a JSON object",
    ] {
        assert!(error.contains(problem), "{problem}\n{error}");
    }
    for (json, wrong) in [
        ("{", "is not JSON"),
        ("[]", "must be a JSON object"),
        ("7", "must be a JSON object"),
        (r#"{"DE": {}}"#, "DE is no language"),
        (r#"{"de-de": {}}"#, "is no language"),
        (r#"{"xx": {}}"#, "is no language"),
        (r#"{"de": {"sms": ""}}"#, "has 0 characters, not 1 to 320"),
        (r#"{"de": {"sms": "{{code}}\u0000"}}"#, "control characters"),
        (r#"{"de": {"sms": "{{code}}\u202e"}}"#, "direction of text"),
        (r#"{"de": {"sms": "{{code}} {{action}}"}}"#, "unknown placeholder {{action}}"),
        (r#"{"de": {"sms": "{{code}} {{"}}"#, "has {{ without }}"),
        (r#"{"de": {"sms": "{{code}}", "call": "{{about}}{{code}}"}}"#, "{{about}}"),
    ] {
        assert!(problems(json).contains(wrong), "{json}: {}", problems(json));
    }
    let long =
        |length: usize| format!(r#"{{"de": {{"sms": "{{{{code}}}} {}"}}}}"#, "ä".repeat(length));
    own(&long(311));
    assert!(problems(&long(312)).contains("has 321 characters"));
    assert!(problems(&long(70_000)).contains("bytes, not up to 65536"));
    let many: Vec<String> = (0..99).map(|at| format!(r#""x{at}": {{}}"#)).collect();
    let many = problems(&format!("{{{}}}", many.join(",")));
    assert!(many.contains("99 problems") && many.ends_with("and more"), "{many}");
    assert_eq!((own(""), own("{}")), (Texts::default(), Texts::default()));
}

#[test]
fn a_code_cannot_be_put_into_a_link() {
    for text in [
        "https://a.example/{{code}}",
        "a.example/{{code}}",
        "a.example?c={{code}}",
        "{{code}}.a.example",
        "a.{{code}}",
        "tel:{{code}}",
        "HTTPS:{{code}}",
        "@a.example #{{code}}",
        "{{app}}{{code}}",
        "{{app}}/{{code}}",
        "{{code}}{{app}}",
        "{{code}}.{{app}}",
        "{{code}}@a.example",
        "https://a.example/認証{{code}}を入力",
    ] {
        let json = serde_json::json!({"de": {"sms": text}}).to_string();
        assert!(problems(&json).contains("has {{code}} in a link"), "{text}");
    }
    for text in [
        "{{code}}",
        "Code:{{code}}",
        "Code: {{code}}. {{app}}",
        "({{code}})",
        "\"{{code}}\", {{app}}",
        "https://a.example/ {{code}}",
        "{{app}}\n{{code}}\nhttps://a.example",
        "{{app}}の確認コードは{{code}}です。{{validity}}",
        "{{code}}.",
    ] {
        own(&serde_json::json!({"de": {"sms": text}}).to_string());
    }
}
