//! Numbers of JSON, compared and divided without rounding.

use std::cmp::Ordering;

use serde_json::Number;

/// Integers up to this value are exact as `i128`, also if they are written with a fraction.
const MAX_INTEGER: f64 = 1e30;

/// A number that can be compared.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ExactNumber {
    Integer(i128),
    /// A number with a fraction, or a very large number.
    Float(f64),
}

/// A number as `mantissa * 10 ^ exponent`, without its sign. The mantissa does not end with a zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Decimal {
    mantissa: u128,
    exponent: i64,
}

impl ExactNumber {
    pub(crate) fn new(number: &Number) -> Self {
        if let Some(integer) = number.as_i128() {
            return Self::Integer(integer);
        }
        let float = number.as_f64().unwrap_or(f64::NAN);
        if float.fract() == 0.0 && float.abs() < MAX_INTEGER {
            return Self::Integer(float as i128);
        }
        Self::Float(float)
    }

    pub(crate) fn is_integer(self) -> bool {
        match self {
            Self::Integer(_) => true,
            Self::Float(float) => float.fract() == 0.0,
        }
    }

    /// An integer and a number with a fraction are never so near that they could be confused: numbers with a fraction
    /// are below 2^53.
    pub(crate) fn compare(self, other: Self) -> Ordering {
        match (self, other) {
            (Self::Integer(a), Self::Integer(b)) => a.cmp(&b),
            _ => self.as_float().total_cmp(&other.as_float()),
        }
    }

    fn as_float(self) -> f64 {
        match self {
            Self::Integer(integer) => integer as f64,
            Self::Float(float) => float,
        }
    }

    /// A value that is the same for equal numbers.
    pub(crate) fn key(self) -> u128 {
        match self {
            Self::Integer(integer) => integer.cast_unsigned(),
            Self::Float(float) => u128::from(float.to_bits()) << 64,
        }
    }
}

impl Decimal {
    /// The shortest decimal number with this value, which is the number that its author wrote.
    pub(crate) fn new(number: &Number) -> Option<Self> {
        let text = number.to_string();
        let (digits, exponent) = text.split_once(['e', 'E']).unwrap_or((&text, "0"));
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let mut mantissa: u128 = format!("{}{fraction}", whole.trim_start_matches('-'))
            .parse()
            .ok()?;
        let mut exponent = exponent.parse::<i64>().ok()? - i64::try_from(fraction.len()).ok()?;
        while mantissa != 0 && mantissa.is_multiple_of(10) {
            mantissa /= 10;
            exponent += 1;
        }
        Some(Self { mantissa, exponent })
    }

    pub(crate) fn is_zero(self) -> bool {
        self.mantissa == 0
    }

    /// Whether this number is a multiple of the divisor, which is not zero.
    pub(crate) fn is_multiple_of(self, divisor: Self) -> bool {
        let shift = self.exponent - divisor.exponent;
        let zeros = u32::try_from(shift.unsigned_abs()).unwrap_or(u32::MAX);
        if shift < 0 {
            return match divisor.mantissa_with_zeros(zeros) {
                Some(divisor) => self.mantissa.is_multiple_of(divisor),
                None => self.is_zero(),
            };
        }
        let modulus = divisor.mantissa;
        (self.mantissa % modulus * power_of_ten(zeros, modulus)).is_multiple_of(modulus)
    }

    /// `None` if the number is too large.
    fn mantissa_with_zeros(self, zeros: u32) -> Option<u128> {
        10_u128.checked_pow(zeros)?.checked_mul(self.mantissa)
    }
}

/// `10 ^ exponent` modulo a number below 2^64.
fn power_of_ten(mut exponent: u32, modulus: u128) -> u128 {
    let mut power = 1 % modulus;
    let mut factor = 10 % modulus;
    while exponent > 0 {
        if exponent % 2 == 1 {
            power = power * factor % modulus;
        }
        factor = factor * factor % modulus;
        exponent /= 2;
    }
    power
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Number {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn compares_without_rounding() {
        for (a, b, expected) in [
            ("9007199254740993", "9007199254740992", Ordering::Greater),
            ("9007199254740993", "9007199254740992.0", Ordering::Greater),
            (
                "18446744073709551615",
                "18446744073709551616",
                Ordering::Less,
            ),
            ("1", "1.0", Ordering::Equal),
            ("-0.0", "0", Ordering::Equal),
            ("1", "1.5", Ordering::Less),
            ("-1", "-1.5", Ordering::Greater),
            ("1e300", "1", Ordering::Greater),
            ("1e300", "1e301", Ordering::Less),
        ] {
            let a = ExactNumber::new(&number(a));
            let b = ExactNumber::new(&number(b));
            assert_eq!(a.compare(b), expected, "{a:?} {b:?}");
            assert_eq!(
                a.key() == b.key(),
                expected == Ordering::Equal,
                "{a:?} {b:?}"
            );
        }
    }

    #[test]
    fn divides_without_rounding() {
        for (value, divisor, expected) in [
            ("0.3", "0.1", true),
            ("4.35", "0.01", true),
            ("0.0075", "0.0001", true),
            ("0.00751", "0.0001", false),
            ("1e308", "0.123456789", false),
            ("1e308", "0.5", true),
            ("12391239123", "1e-8", true),
            ("1.5e-300", "1e300", false),
            ("0", "1e300", true),
            ("-9", "3", true),
            ("18446744073709551615", "18446744073709551615", true),
            ("18446744073709551615e10", "18446744073709551614", false),
            ("7", "2", false),
        ] {
            let [value, divisor] =
                [value, divisor].map(|text| Decimal::new(&number(text)).unwrap());
            assert_eq!(
                value.is_multiple_of(divisor),
                expected,
                "{value:?} {divisor:?}"
            );
        }
    }
}
