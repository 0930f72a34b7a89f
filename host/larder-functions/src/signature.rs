//! The signature of a function in the syntax of WIT. It describes a function that has no documentation.

use crate::function::Parameter;
use crate::types::{Type, TypeId, TypeTable};

/// The length after which the rest of a signature is left out.
const MAX: usize = 1_000;

/// Returns the signature of a function, such as `now(zone: option<string>) -> string`.
pub(crate) fn signature(
    name: &str,
    parameters: &[Parameter],
    result: Option<TypeId>,
    types: &TypeTable,
) -> String {
    let mut writer = Writer {
        text: format!("{name}("),
        types,
    };
    writer.parameters(parameters);
    writer.push(")");
    if let Some(result) = result {
        writer.push(" -> ");
        writer.ty(result);
    }
    writer.into_text()
}

struct Writer<'a> {
    text: String,
    types: &'a TypeTable,
}

impl Writer<'_> {
    fn is_full(&self) -> bool {
        self.text.len() > MAX
    }

    fn push(&mut self, text: &str) {
        if !self.is_full() {
            self.text.push_str(text);
        }
    }

    fn separate(&mut self, position: usize) {
        if position > 0 {
            self.push(", ");
        }
    }

    fn parameters(&mut self, parameters: &[Parameter]) {
        for (position, Parameter { name, ty }) in parameters.iter().enumerate() {
            self.separate(position);
            self.push(&format!("{name}: "));
            self.ty(*ty);
        }
    }

    fn into_text(mut self) -> String {
        if self.is_full() {
            self.text.truncate(self.text.floor_char_boundary(MAX));
            self.text.push('…');
        }
        self.text
    }

    /// Writes a type. Stops at the limit, because a type can contain very many others.
    fn ty(&mut self, id: TypeId) {
        if self.is_full() {
            return;
        }
        let types = self.types;
        match types.get(id) {
            Type::Bool => self.push("bool"),
            Type::Integer(integer) => self.push(integer.name()),
            Type::Float32 => self.push("f32"),
            Type::Float64 => self.push("f64"),
            Type::Char => self.push("char"),
            Type::String => self.push("string"),
            Type::List(element) => self.generic("list", &[Some(*element)]),
            Type::Option(some) => self.generic("option", &[Some(*some)]),
            Type::Tuple(parts) => {
                let parts: Vec<_> = parts.iter().copied().map(Some).collect();
                self.generic("tuple", &parts);
            }
            Type::Result {
                ok: None,
                err: None,
            } => self.push("result"),
            Type::Result { ok, err: None } => self.generic("result", &[*ok]),
            Type::Result { ok, err } => self.generic("result", &[*ok, *err]),
            Type::Record(fields) => {
                let fields = fields.iter().map(|field| (&field.name, Some(field.ty)));
                self.named("record", fields, ": ", "");
            }
            Type::Variant(cases) => {
                let cases = cases.iter().map(|case| (&case.name, case.ty));
                self.named("variant", cases, "(", ")");
            }
            Type::Enum(names) => self.named("enum", names.iter().map(|name| (name, None)), "", ""),
            Type::Flags(names) => {
                self.named("flags", names.iter().map(|name| (name, None)), "", "");
            }
        }
    }

    fn generic(&mut self, name: &str, parts: &[Option<TypeId>]) {
        self.push(name);
        self.push("<");
        for (position, part) in parts.iter().enumerate() {
            self.separate(position);
            match part {
                Some(ty) => self.ty(*ty),
                None => self.push("_"),
            }
        }
        self.push(">");
    }

    fn named<'n>(
        &mut self,
        keyword: &str,
        parts: impl Iterator<Item = (&'n String, Option<TypeId>)>,
        before: &str,
        after: &str,
    ) {
        self.push(keyword);
        self.push(" { ");
        for (position, (name, ty)) in parts.enumerate() {
            if self.is_full() {
                return;
            }
            self.separate(position);
            self.push(name);
            if let Some(ty) = ty {
                self.push(before);
                self.ty(ty);
                self.push(after);
            }
        }
        self.push(" }");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{Case, Field, Integer};

    #[test]
    fn writes_the_syntax_of_wit() {
        let mut types = TypeTable::default();
        let text = types.add(Type::String);
        let number = types.add(Type::Integer(Integer::U64));
        let unit = types.add(Type::Enum(vec!["metric".into(), "imperial".into()]));
        let unit = types.add(Type::Option(unit));
        let field = |name: &str, ty| Field {
            name: name.into(),
            ty,
        };
        let place = types.add(Type::Record(vec![field("city", text), field("unit", unit)]));
        let case = |name: &str, ty| Case {
            name: name.into(),
            ty,
        };
        let problem = types.add(Type::Variant(vec![
            case("gone", None),
            case("other", Some(text)),
        ]));
        let pair = types.add(Type::Tuple(vec![text, number]));
        let pairs = types.add(Type::List(pair));
        let result = types.add(Type::Result {
            ok: Some(pairs),
            err: Some(problem),
        });
        let parameters = [Parameter {
            name: "place".into(),
            ty: place,
        }];
        assert_eq!(
            signature("get", &parameters, Some(result), &types),
            "get(place: record { city: string, unit: option<enum { metric, imperial }> }) -> \
             result<list<tuple<string, u64>>, variant { gone, other(string) }>"
        );
        assert_eq!(signature("stop", &[], None, &types), "stop()");
    }

    #[test]
    fn types_that_contain_many_others_end_soon() {
        let mut types = TypeTable::default();
        let mut ty = types.add(Type::Bool);
        for _ in 0..64 {
            ty = types.add(Type::Tuple(vec![ty; 2]));
        }
        let text = signature(
            "f",
            &[Parameter {
                name: "a".into(),
                ty,
            }],
            None,
            &types,
        );
        assert!(text.ends_with('…') && text.len() < MAX + 10, "{text}");
    }
}
