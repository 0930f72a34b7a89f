//! Random types and values: what is written as JSON matches the schema, and is read as the same value.

use larder_functions::{
    Case, Field, Integer, Parameter, Type, TypeId, TypeTable, input_schema, output_schema,
};
use larder_json_schema::{Effort, JsonSchema, pattern};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use serde_json::{Value, json};
use wasmtime::component::Val;

use super::arguments::values;
use super::outcome::structured;
use super::result_json::json as to_json;

/// A type as a tree.
#[derive(Debug, Clone)]
enum Shape {
    Leaf(Type),
    List(Box<Shape>),
    Option(Box<Shape>),
    Tuple(Vec<Shape>),
    Record(Vec<Shape>),
    Variant(Vec<Option<Shape>>),
    Result(Box<Option<Shape>>, Box<Option<Shape>>),
}

fn names(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("n{number}")).collect()
}

fn leaf() -> impl Strategy<Value = Shape> {
    let integers = [
        Integer::S8,
        Integer::U8,
        Integer::S16,
        Integer::U16,
        Integer::S32,
        Integer::U32,
        Integer::S64,
        Integer::U64,
    ];
    let leaf = prop_oneof![
        Just(Type::Bool),
        proptest::sample::select(integers.to_vec()).prop_map(Type::Integer),
        Just(Type::Float32),
        Just(Type::Float64),
        Just(Type::Char),
        Just(Type::String),
        (1..5_usize).prop_map(|count| Type::Enum(names(count))),
        (1..5_usize).prop_map(|count| Type::Flags(names(count))),
    ];
    leaf.prop_map(Shape::Leaf)
}

fn shape() -> impl Strategy<Value = Shape> {
    leaf().prop_recursive(4, 24, 4, |inner| {
        let maybe = || option::of(inner.clone());
        prop_oneof![
            inner.clone().prop_map(|it| Shape::List(it.into())),
            inner.clone().prop_map(|it| Shape::Option(it.into())),
            vec(inner.clone(), 1..4).prop_map(Shape::Tuple),
            vec(inner.clone(), 1..4).prop_map(Shape::Record),
            vec(maybe(), 1..4).prop_map(Shape::Variant),
            (maybe(), maybe()).prop_map(|(ok, err)| Shape::Result(ok.into(), err.into())),
        ]
    })
}

fn add(shape: &Shape, types: &mut TypeTable) -> TypeId {
    let all = |shapes: &[Shape], types: &mut TypeTable| -> Vec<TypeId> {
        shapes.iter().map(|it| add(it, types)).collect()
    };
    let ty = match shape {
        Shape::Leaf(ty) => ty.clone(),
        Shape::List(element) => Type::List(add(element, types)),
        Shape::Option(some) => Type::Option(add(some, types)),
        Shape::Tuple(parts) => Type::Tuple(all(parts, types)),
        Shape::Record(parts) => {
            let parts = all(parts, types).into_iter().zip(names(parts.len()));
            Type::Record(parts.map(|(ty, name)| Field { name, ty }).collect())
        }
        Shape::Variant(parts) => {
            let cases = parts.iter().zip(names(parts.len()));
            let case = |(part, name): (&Option<Shape>, _)| {
                let ty = part.as_ref().map(|it| add(it, types));
                Case { name, ty }
            };
            Type::Variant(cases.map(case).collect())
        }
        Shape::Result(ok, err) => Type::Result {
            ok: ok.as_ref().as_ref().map(|it| add(it, types)),
            err: err.as_ref().as_ref().map(|it| add(it, types)),
        },
    };
    types.add(ty)
}

fn integer(integer: Integer) -> BoxedStrategy<Val> {
    match integer {
        Integer::S8 => any::<i8>().prop_map(Val::S8).boxed(),
        Integer::U8 => any::<u8>().prop_map(Val::U8).boxed(),
        Integer::S16 => any::<i16>().prop_map(Val::S16).boxed(),
        Integer::U16 => any::<u16>().prop_map(Val::U16).boxed(),
        Integer::S32 => any::<i32>().prop_map(Val::S32).boxed(),
        Integer::U32 => any::<u32>().prop_map(Val::U32).boxed(),
        Integer::S64 => any::<i64>().prop_map(Val::S64).boxed(),
        Integer::U64 => any::<u64>().prop_map(Val::U64).boxed(),
    }
}

fn of_leaf(ty: &Type) -> BoxedStrategy<Val> {
    use proptest::num::{f32, f64};
    let finite32 = f32::NORMAL | f32::SUBNORMAL | f32::ZERO | f32::NEGATIVE;
    let finite64 = f64::NORMAL | f64::SUBNORMAL | f64::ZERO | f64::NEGATIVE;
    match ty {
        Type::Bool => any::<bool>().prop_map(Val::Bool).boxed(),
        Type::Integer(ty) => integer(*ty),
        Type::Float32 => finite32.prop_map(Val::Float32).boxed(),
        Type::Float64 => finite64.prop_map(Val::Float64).boxed(),
        Type::Char => any::<char>().prop_map(Val::Char).boxed(),
        Type::String => any::<String>().prop_map(Val::String).boxed(),
        Type::Enum(names) => proptest::sample::select(names.clone())
            .prop_map(Val::Enum)
            .boxed(),
        Type::Flags(names) => proptest::sample::subsequence(names.clone(), 0..=names.len())
            .prop_map(Val::Flags)
            .boxed(),
        other => unreachable!("{other:?} has parts"),
    }
}

fn boxed(shape: &Option<Shape>) -> BoxedStrategy<Option<Box<Val>>> {
    match shape {
        None => Just(None).boxed(),
        Some(shape) => value(shape).prop_map(|it| Some(Box::new(it))).boxed(),
    }
}

fn all(shapes: &[Shape]) -> BoxedStrategy<Vec<Val>> {
    let empty = Just(Vec::new()).boxed();
    shapes.iter().fold(empty, |before, shape| {
        let pushed = (before, value(shape)).prop_map(|(mut values, value)| {
            values.push(value);
            values
        });
        pushed.boxed()
    })
}

fn value(shape: &Shape) -> BoxedStrategy<Val> {
    match shape {
        Shape::Leaf(ty) => of_leaf(ty),
        Shape::List(element) => vec(value(element), 0..4).prop_map(Val::List).boxed(),
        Shape::Option(some) => option::of(value(some))
            .prop_map(|it| Val::Option(it.map(Box::new)))
            .boxed(),
        Shape::Tuple(parts) => all(parts).prop_map(Val::Tuple).boxed(),
        Shape::Record(parts) => {
            let names = names(parts.len());
            let record = move |values| Val::Record(names.iter().cloned().zip(values).collect());
            all(parts)
                .prop_map(move |values: Vec<_>| record(values))
                .boxed()
        }
        Shape::Variant(parts) => {
            let cases = parts.iter().zip(names(parts.len()));
            let cases = cases.map(|(part, name)| {
                boxed(part)
                    .prop_map(move |value| Val::Variant(name.clone(), value))
                    .boxed()
            });
            proptest::strategy::Union::new(cases).boxed()
        }
        Shape::Result(ok, err) => prop_oneof![
            boxed(ok).prop_map(|value| Val::Result(Ok(value))),
            boxed(err).prop_map(|value| Val::Result(Err(value))),
        ]
        .boxed(),
    }
}

fn typed_value() -> impl Strategy<Value = (Shape, Val)> {
    shape().prop_flat_map(|shape| {
        let values = value(&shape);
        (Just(shape), values)
    })
}

fn parameter(shape: &Shape) -> (TypeTable, Parameter) {
    let mut types = TypeTable::default();
    let ty = add(shape, &mut types);
    let name = "value".into();
    (types, Parameter { name, ty })
}

fn is_valid(schema: &str, value: &Value) -> bool {
    let schema: Value = serde_json::from_str(schema).unwrap();
    let schema = JsonSchema::compile(&schema, pattern::size_limit(1_000)).unwrap();
    schema.validate(value, &mut Effort::new(1 << 30)).is_ok()
}

proptest! {
    #[test]
    fn values_stay_the_same((shape, value) in typed_value()) {
        let (types, parameter) = parameter(&shape);
        let text = to_json(&types, parameter.ty, &value).unwrap();
        let arguments: Value = serde_json::from_str(&format!("{{\"value\":{text}}}")).unwrap();
        let parameters = [parameter];
        let read = values(&types, &parameters, &arguments).unwrap();
        prop_assert_eq!(&read, &vec![value]);
        let schema = input_schema(&parameters, &types).unwrap();
        prop_assert!(is_valid(&schema, &arguments), "{}", text);
    }

    #[test]
    fn results_match_their_schema((shape, value) in typed_value()) {
        let (types, Parameter { ty, .. }) = parameter(&shape);
        let text = to_json(&types, ty, &value).unwrap();
        if let Some(schema) = output_schema(Some(ty), &types).unwrap() {
            let result = structured(&types, ty, &text).unwrap();
            let result = serde_json::from_str(result.get()).unwrap();
            prop_assert!(is_valid(&schema, &result), "{}", text);
        }
    }

    #[test]
    fn other_json_is_an_error_or_a_value(
        (shape, _) in typed_value(),
        (_, other) in typed_value(),
        (other_shape, _) in typed_value(),
    ) {
        let (types, parameter) = parameter(&shape);
        let (other_types, other_parameter) = self::parameter(&other_shape);
        // The value may have a type other than that of its parameter: nothing panics.
        let text = to_json(&other_types, other_parameter.ty, &other);
        let json = text.ok().and_then(|text| serde_json::from_str(&text).ok());
        _ = values(&types, &[parameter], &json!({ "value": json.unwrap_or(Value::Null) }));
    }
}
