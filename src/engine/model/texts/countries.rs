//! The language in which most people of a country read, by its calling code. An application can
//! have texts in languages that are not built in.

/// If several countries share a code, it is the language of most numbers.
const COUNTRIES: &str = "1 en-US 7 ru-RU 20 ar-EG 27 en-ZA 30 el-GR 31 nl-NL 32 nl-BE 33 fr-FR 34 \
    es-ES 36 hu-HU 39 it-IT 40 ro-RO 41 de-CH 43 de-AT 44 en-GB 45 da-DK 46 sv-SE 47 nb-NO 48 pl-PL \
    49 de-DE 51 es-PE 52 es-MX 53 es-CU 54 es-AR 55 pt-BR 56 es-CL 57 es-CO 58 es-VE 60 ms-MY 61 \
    en-AU 62 id-ID 63 en-PH 64 en-NZ 65 en-SG 66 th-TH 81 ja-JP 82 ko-KR 84 vi-VN 86 zh-CN 90 tr-TR \
    91 hi-IN 92 ur-PK 93 fa-AF 94 si-LK 95 my-MM 98 fa-IR 211 en-SS 212 ar-MA 213 ar-DZ 216 ar-TN \
    218 ar-LY 220 en-GM 221 fr-SN 222 ar-MR 223 fr-ML 224 fr-GN 225 fr-CI 226 fr-BF 227 fr-NE 228 \
    fr-TG 229 fr-BJ 230 en-MU 231 en-LR 232 en-SL 233 en-GH 234 en-NG 235 fr-TD 236 fr-CF 237 fr-CM \
    238 pt-CV 239 pt-ST 240 es-GQ 241 fr-GA 242 fr-CG 243 fr-CD 244 pt-AO 245 pt-GW 248 en-SC 249 \
    ar-SD 250 rw-RW 251 am-ET 252 so-SO 253 fr-DJ 254 sw-KE 255 sw-TZ 256 en-UG 257 rn-BI 258 pt-MZ \
    260 en-ZM 261 mg-MG 262 fr-RE 263 en-ZW 264 en-NA 265 en-MW 266 st-LS 267 en-BW 268 en-SZ 269 \
    fr-KM 297 nl-AW 298 fo-FO 299 kl-GL 350 en-GI 351 pt-PT 352 fr-LU 353 en-IE 354 is-IS 355 sq-AL \
    356 mt-MT 357 el-CY 358 fi-FI 359 bg-BG 370 lt-LT 371 lv-LV 372 et-EE 373 ro-MD 374 hy-AM 375 \
    ru-BY 376 ca-AD 377 fr-MC 378 it-SM 380 uk-UA 381 sr-RS 382 sr-ME 383 sq-XK 385 hr-HR 386 sl-SI \
    387 bs-BA 389 mk-MK 420 cs-CZ 421 sk-SK 423 de-LI 501 en-BZ 502 es-GT 503 es-SV 504 es-HN 505 \
    es-NI 506 es-CR 507 es-PA 508 fr-PM 509 ht-HT 590 fr-GP 591 es-BO 592 en-GY 593 es-EC 594 fr-GF \
    595 es-PY 596 fr-MQ 597 nl-SR 598 es-UY 599 nl-CW 673 ms-BN 674 en-NR 675 en-PG 679 en-FJ 687 \
    fr-NC 689 fr-PF 850 ko-KP 852 zh-HK 853 zh-MO 855 km-KH 856 lo-LA 880 bn-BD 886 zh-TW 960 dv-MV \
    961 ar-LB 962 ar-JO 963 ar-SY 964 ar-IQ 965 ar-KW 966 ar-SA 967 ar-YE 968 ar-OM 970 ar-PS 971 \
    ar-AE 972 he-IL 973 ar-BH 974 ar-QA 975 dz-BT 976 mn-MN 977 ne-NP 992 tg-TJ 993 tk-TM 994 az-AZ \
    995 ka-GE 996 ky-KG 998 uz-UZ";

/// Returns the language of a calling code, with the country.
pub(super) fn language(calling_code: u16) -> Option<&'static str> {
    let mut words = COUNTRIES.split(' ').filter(|word| !word.is_empty());
    while let (Some(code), Some(tag)) = (words.next(), words.next()) {
        if code.parse() == Ok(calling_code) {
            return Some(tag);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::model::texts::languages;

    #[test]
    fn every_calling_code_has_one_language_that_exists() {
        let words: Vec<&str> = COUNTRIES.split_whitespace().collect();
        let mut codes: Vec<u16> = Vec::new();
        for pair in words.chunks(2) {
            let [code, tag] = pair else { panic!("{pair:?}") };
            codes.push(code.parse().unwrap());
            let (language, region) = tag.split_once('-').unwrap();
            assert!(languages::KNOWN.split_whitespace().any(|known| known == language), "{tag}");
            assert!(region.len() == 2 && region.bytes().all(|b| b.is_ascii_uppercase()), "{tag}");
            assert_eq!(super::language(code.parse().unwrap()), Some(*tag));
        }
        assert!(codes.is_sorted_by(|one, next| one < next), "each code once, in order: {codes:?}");
        assert_eq!(super::language(999), None);
    }
}
