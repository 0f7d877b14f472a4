//! The languages of voices that read a text aloud.

/// The languages with their regions that providers have voices for. The first of each language stands for
/// its other regions.
const VOICES: &str = "ar-XA bg-BG bn-IN ca-ES cs-CZ da-DK de-DE el-GR en-US en-GB en-AU en-CA en-IN \
    es-ES es-MX es-US et-EE eu-ES fi-FI fr-FR fr-CA gl-ES gu-IN he-IL hi-IN hu-HU id-ID is-IS it-IT \
    ja-JP kn-IN ko-KR lt-LT lv-LV ml-IN mr-IN ms-MY nb-NO nl-NL nl-BE pa-IN pl-PL pt-BR pt-PT ro-RO \
    ru-RU sk-SK sl-SI sr-RS sv-SE ta-IN te-IN th-TH tr-TR uk-UA ur-IN vi-VN zh-CN zh-HK zh-TW";

/// Countries whose Spanish is nearer to the Spanish of Mexico than to the Spanish of Spain.
const AMERICA: &str = "AR BO CL CO CR CU DO EC GT HN NI PA PE PR PY SV UY VE 419";

/// Returns the language of the voice for a text in this language, with a region: `en-US` for `en`.
pub(super) fn language(tag: &str) -> &str {
    let voices = || VOICES.split_whitespace();
    if let Some(exact) = voices().find(|voice| *voice == tag) {
        return exact;
    }
    let (language, region) = tag.split_once('-').unwrap_or((tag, ""));
    if language == "es" && AMERICA.split(' ').any(|country| country == region) {
        return "es-MX";
    }
    let of_language = |voice: &&str| voice.split('-').next() == Some(language);
    voices().find(of_language).unwrap_or(tag)
}

#[cfg(test)]
mod tests {
    use super::language;

    #[test]
    fn a_voice_speaks_the_language_of_the_text_with_a_region() {
        for (text, voice) in [
            ("en", "en-US"),
            ("en-GB", "en-GB"),
            ("en-ZA", "en-US"),
            ("de-AT", "de-DE"),
            ("ar", "ar-XA"),
            ("ar-EG", "ar-XA"),
            ("es-ES", "es-ES"),
            ("es-AR", "es-MX"),
            ("pt-PT", "pt-PT"),
            ("pt-AO", "pt-BR"),
            ("am-ET", "am-ET"),
        ] {
            assert_eq!(language(text), voice, "{text}");
        }
    }
}
