//! Phone numbers according to the numbering plans of their countries (interface 4.11), and the
//! results of look-ups.

use crate::calls::PhoneType;
use crate::model::{CountryCode, PhoneNumber};
use crate::{Error, Result};
use rlibphonenumber::{CountryCodeSource, NumberLengthType, PHONE_NUMBER_UTIL, PhoneNumberType};

const WRONG_LENGTH: &str = "must be a valid cellphone number: its length does not fit its country";
pub(in crate::engine) const OTHER_COUNTRY: &str = "has another country code";
const UNSUPPORTED: &str = "must be a valid cellphone number of a supported country";
const AMBIGUOUS: &str = "must be a valid cellphone number, without a prefix or with the international prefix \
                         of its country and the country code";
/// The international prefixes that most people dial. Where another one is in use, some dial these all the
/// same, and what begins with them is a number of the country only if its numbering plan says so.
const PREFIXES: [&str; 4] = ["00", "011", "010", "810"];

/// A number in the canonical form of its country, so that each phone has exactly one number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::engine) struct Phone {
    pub(in crate::engine) country_code: u16,
    /// The digits after the calling code, without the prefix for calls within the country.
    pub(in crate::engine) national: String,
}

impl Phone {
    /// Parses a number of a country.
    ///
    /// A number of the right length is accepted even if it is in no known numbering plan: plans
    /// change, and an outdated plan must not lock out the owner of a new number.
    pub(in crate::engine) fn parse(
        country: CountryCode,
        number: &PhoneNumber,
    ) -> Result<Phone, &'static str> {
        Phone::parse_dialled(country, number.as_str())
    }

    /// Parses a number with its calling code, without the `+` before it.
    pub(in crate::engine) fn parse_international(number: &str) -> Result<Phone, &'static str> {
        Phone::read(&format!("+{number}"))?.unambiguous()
    }

    /// Parses a number as it is dialled in its country, also with the country's international prefix and
    /// the calling code.
    pub(in crate::engine) fn parse_dialled(
        country: CountryCode,
        number: &str,
    ) -> Result<Phone, &'static str> {
        let phone = Phone::read_dialled(country, number)?;
        if phone.country_code != country.get() {
            return Err(OTHER_COUNTRY);
        }
        phone.unambiguous()
    }

    fn read_dialled(country: CountryCode, number: &str) -> Result<Phone, &'static str> {
        let digits: String = number.chars().filter(char::is_ascii_digit).collect();
        // All countries with the same calling code have the same prefixes.
        let region = PHONE_NUMBER_UTIL.get_region_for_country_code(country.get().into());
        let region =
            region.filter(|it| PHONE_NUMBER_UTIL.get_country_code_for_region(*it).is_some());
        let Some(region) = region else {
            // Networks that belong to no country are called from everywhere alike.
            return Phone::read(&format!("+{country}{digits}"));
        };
        let number = PHONE_NUMBER_UTIL.parse_and_keep_raw_input(&digits, Some(region));
        let number = number.map_err(|_| UNSUPPORTED)?;
        let is_national = number.country_code_source() == CountryCodeSource::FromDefaultCountry;
        let has_prefix = PREFIXES.iter().any(|prefix| digits.starts_with(prefix));
        if is_national && has_prefix && !PHONE_NUMBER_UTIL.is_valid_number(&number) {
            return Err(AMBIGUOUS);
        }
        Phone::from_parsed(&number)
    }

    /// Rejects a number that is another one when it is dialled without its calling code: it begins with
    /// the rest of a prefix that was there twice.
    fn unambiguous(self) -> Result<Phone, &'static str> {
        let country =
            CountryCode::try_from(u64::from(self.country_code)).map_err(|_| UNSUPPORTED)?;
        let again = Phone::read_dialled(country, &self.national);
        if again.as_ref() == Ok(&self) { Ok(self) } else { Err(AMBIGUOUS) }
    }

    /// Parses a number with a `+` and its calling code.
    fn read(text: &str) -> Result<Phone, &'static str> {
        Phone::from_parsed(&PHONE_NUMBER_UTIL.parse(text, None).map_err(|_| UNSUPPORTED)?)
    }

    fn from_parsed(number: &rlibphonenumber::PhoneNumber) -> Result<Phone, &'static str> {
        // A number that can be dialled only within its area belongs to a different phone in each.
        let length = PHONE_NUMBER_UTIL.is_possible_number_with_reason(number);
        if !matches!(length, Ok(NumberLengthType::IsPossible)) {
            return Err(WRONG_LENGTH);
        }
        Ok(Phone {
            country_code: u16::try_from(number.country_code).map_err(|_| WRONG_LENGTH)?,
            national: rlibphonenumber::get_national_significant_number_owned(number),
        })
    }

    /// Returns the number in E.164: `+15550100123`.
    pub(in crate::engine) fn e164(&self) -> String {
        format!("+{}{}", self.country_code, self.national)
    }

    /// Returns the columns of a user with this number, or without one.
    pub(in crate::engine) fn columns(phone: Option<&Phone>) -> (u16, String) {
        phone.map_or((0, String::new()), |phone| (phone.country_code, phone.national.clone()))
    }

    /// Masked for a user's status: `XXX-XXX-0123`.
    pub(in crate::engine) fn masked(&self) -> String {
        format!("XXX-XXX-{:X>4}", self.last(4))
    }

    /// Masked for the reply to a request for a code: `+1-XXX-XXX-XX23`.
    pub(in crate::engine) fn masked_e164(&self) -> String {
        format!("+{}-XXX-XXX-{:X>4}", self.country_code, self.last(2))
    }

    /// Returns the last digits, as many as this but never more than half of the number: some
    /// countries have numbers of four digits.
    fn last(&self, most: usize) -> &str {
        &self.national[self.national.len() - most.min(self.national.len() / 2)..]
    }

    /// Returns the type of the number in its numbering plan. North American plans do not
    /// distinguish mobile numbers from landlines.
    pub(in crate::engine) fn kind(&self) -> PhoneType {
        let number = PHONE_NUMBER_UTIL.parse(self.e164(), None).ok();
        match number.map(|number| PHONE_NUMBER_UTIL.get_number_type(&number)) {
            Some(PhoneNumberType::Mobile) => PhoneType::Cellphone,
            Some(PhoneNumberType::FixedLine) => PhoneType::Landline,
            Some(PhoneNumberType::VoIP) => PhoneType::Voip,
            _ => PhoneType::Unknown,
        }
    }
}

/// Makes the error for an invalid number from the reason, for this parameter of a call.
pub(in crate::engine) fn invalid(parameter: &'static str) -> impl Fn(&'static str) -> Error {
    move |reason| Error::invalid_argument(parameter, reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(country: &str, number: &str) -> Result<Phone, &'static str> {
        Phone::parse(country.parse().unwrap(), &number.parse().unwrap())
    }

    #[test]
    fn each_phone_has_exactly_one_number() {
        for same in ["5550100123", "555-010-0123", "555.010.0123", "555 010 0123"] {
            assert_eq!(parse("1", same).unwrap().e164(), "+15550100123");
        }
        assert_eq!(parse("44", "07400 123456"), parse("44", "7400123456"));
        assert_eq!(parse("39", "06 1234 5678").unwrap().e164(), "+390612345678");
    }

    #[test]
    fn numbers_of_a_wrong_length_or_country_are_rejected() {
        for (country, number) in [
            ("1", "12345"),
            ("1", "555-0123"),
            ("44", "123456"),
            ("1", "555010012345"),
            ("999", "5550100123"),
        ] {
            assert!(parse(country, number).is_err(), "+{country} {number}");
        }
    }

    #[test]
    fn prefixes_are_understood_or_rejected_and_never_a_part_of_the_number() {
        let ada = Ok("+447400123456".to_owned());
        for (country, number, expected) in [
            ("44", "0044 7400 123456", ada.clone()),
            ("44", "0044 07400-123456", ada.clone()),
            ("44", "44 7400 123456", ada),
            ("43", "43 664 1234567", Ok("+436641234567".to_owned())),
            ("49", "00491701234567", Ok("+491701234567".to_owned())),
            ("7", "810 7 912 345 67 89", Ok("+79123456789".to_owned())),
            ("1", "011 1 555 010 0123", Ok("+15550100123".to_owned())),
            ("49", "0044 7400 123456", Err(OTHER_COUNTRY)),
            ("1", "011 683 4002", Err(OTHER_COUNTRY)),
            ("49", "011 44 20 7946 0000", Err(AMBIGUOUS)),
            ("1", "0049301234", Err(AMBIGUOUS)),
            ("49", "000 44 7400 12345", Err(AMBIGUOUS)),
            ("44", "00 740012345", Err(WRONG_LENGTH)),
        ] {
            let read = parse(country, number).map(|phone| phone.e164());
            assert_eq!(read, expected, "+{country} {number}");
        }
        assert_eq!(Phone::parse_international("4900491701234567"), Err(AMBIGUOUS));
        // They are in the plan.
        assert_eq!(parse("44", "0114 496 0000").unwrap().e164(), "+441144960000");
        assert_eq!(parse("82", "010-2000-0000").unwrap().e164(), "+821020000000");
        assert_eq!(parse("1", "810-555-0123").unwrap().e164(), "+18105550123");
    }

    #[test]
    fn international_prefixes_are_those_of_each_region() {
        let text = include_str!("../../../tests/vectors/phone_prefixes.txt");
        let plans = text.lines().filter(|line| !line.starts_with('#'));
        let plans: Vec<Vec<&str>> = plans.map(|line| line.split(' ').collect()).collect();
        assert!(plans.len() > 250);
        let mut rejected = Vec::new();
        for here in &plans {
            let country: CountryCode = here[1].parse().unwrap();
            assert_eq!(Phone::parse_dialled(country, here[2]).unwrap().national, here[2]);
            for prefix in &here[3..] {
                for there in &plans {
                    let dialled = [prefix, there[1], there[2]].concat();
                    let read = Phone::parse_dialled(country, &dialled);
                    if there[1] != here[1] {
                        assert!(read.is_err(), "{} {prefix} {}", here[0], there[0]);
                    } else if let Ok(read) = read {
                        assert_eq!(read.national, there[2], "{} {prefix} {}", here[0], there[0]);
                    } else {
                        rejected.push((here[0], *prefix));
                    }
                }
            }
        }
        // A carrier has the prefix 008 there, and 852 is the code of the country.
        assert_eq!(rejected, [("HK", "00")]);
    }

    #[test]
    fn a_mask_shows_at_most_half_of_a_number() {
        let masks = |national: &str| {
            let phone = Phone { country_code: 290, national: national.into() };
            (phone.masked(), phone.masked_e164())
        };
        for (national, status, sent) in [
            ("", "XXX-XXX-XXXX", "+290-XXX-XXX-XXXX"),
            ("1", "XXX-XXX-XXXX", "+290-XXX-XXX-XXXX"),
            ("123", "XXX-XXX-XXX3", "+290-XXX-XXX-XXX3"),
            ("1234", "XXX-XXX-XX34", "+290-XXX-XXX-XX34"),
            ("1234567", "XXX-XXX-X567", "+290-XXX-XXX-XX67"),
            ("12345678", "XXX-XXX-5678", "+290-XXX-XXX-XX78"),
        ] {
            assert_eq!(masks(national), (status.into(), sent.into()), "{national}");
        }
    }

    #[test]
    fn numbers_are_masked_and_classified() {
        let phone = parse("1", "555-010-0123").unwrap();
        assert_eq!(phone.masked(), "XXX-XXX-0123");
        assert_eq!(phone.masked_e164(), "+1-XXX-XXX-XX23");
        assert_eq!(phone.kind(), PhoneType::Unknown);
        assert_eq!(parse("44", "7400123456").unwrap().kind(), PhoneType::Cellphone);
        assert_eq!(parse("44", "2079460000").unwrap().kind(), PhoneType::Landline);
    }
}
