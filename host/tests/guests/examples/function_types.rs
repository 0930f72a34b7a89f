//! Exports functions instead of the contract: one for each type that a function can have, and some that cannot be tools.

wit_bindgen::generate!({
    inline: r#"
        package guests:functions@1.2.0;

        interface values {
            enum unit { metric, imperial }
            flags days { monday, tuesday, sunday }
            record place { city: string, unit: option<unit>, height: s64 }
            variant answer { nothing, number(u64), names(list<string>), at(tuple<f64, f64>) }

            echo-place: func(place: place) -> place;
            echo-answer: func(answer: answer) -> answer;
            echo-days: func(days: days) -> days;
            echo-bytes: func(bytes: list<u8>) -> list<u8>;
            echo-lists: func(lists: list<list<list<u8>>>) -> list<list<list<u8>>>;
            echo-char: func(character: char) -> char;
            echo-nested: func(maybe: option<option<bool>>) -> option<option<bool>>;
            echo-float: func(number: f32) -> f32;
            divide: func(a: f64, b: f64) -> f64;
            check: func(text: string) -> result<u32, answer>;
            nested-result: func(works: bool) -> list<result<u8, string>>;
        }

        interface handles {
            resource file { size: func() -> u64; }
            open: func(name: string) -> file;
            close: func(file: borrow<file>);
            count: func() -> u32;
        }

        world functions {
            export values;
            export handles;
            export greet: func(name: string) -> string;
            export note: func(text: option<string>);
        }
    "#,
});

use exports::guests::functions::handles;
use exports::guests::functions::values::{self, Answer, Days, Place};

struct Component;

impl Guest for Component {
    fn greet(name: String) -> String {
        format!("{{\"hello\": \"{name}\"}}")
    }

    fn note(text: Option<String>) {
        eprintln!("{text:?}");
    }
}

impl values::Guest for Component {
    fn echo_place(place: Place) -> Place {
        place
    }

    fn echo_answer(answer: Answer) -> Answer {
        answer
    }

    fn echo_days(days: Days) -> Days {
        days
    }

    fn echo_bytes(bytes: Vec<u8>) -> Vec<u8> {
        bytes
    }

    fn echo_lists(lists: Vec<Vec<Vec<u8>>>) -> Vec<Vec<Vec<u8>>> {
        lists
    }

    fn echo_char(character: char) -> char {
        character
    }

    fn echo_nested(maybe: Option<Option<bool>>) -> Option<Option<bool>> {
        maybe
    }

    fn echo_float(number: f32) -> f32 {
        number
    }

    fn divide(a: f64, b: f64) -> f64 {
        a / b
    }

    fn check(text: String) -> Result<u32, Answer> {
        text.parse()
            .map_err(|_| Answer::Names(vec!["not".into(), text]))
    }

    fn nested_result(works: bool) -> Vec<Result<u8, String>> {
        vec![if works { Ok(1) } else { Err("no".into()) }]
    }
}

struct File;

impl handles::GuestFile for File {
    fn size(&self) -> u64 {
        0
    }
}

impl handles::Guest for Component {
    type File = File;

    fn open(_name: String) -> handles::File {
        handles::File::new(File)
    }

    fn close(_file: handles::FileBorrow<'_>) {}

    fn count() -> u32 {
        7
    }
}

export!(Component);
