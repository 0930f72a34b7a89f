//! The examples of RFC 6570, sections 1.2 and 3.2, with a scheme before each of them. Each expansion is matched, in
//! each order of the map `keys`.

use std::collections::BTreeSet;

use super::{Variable, parse_template};

const VALUES: &[(&str, &str)] = &[
    ("var", "value"),
    ("hello", "Hello World!"),
    ("half", "50%"),
    ("base", "http://example.com/home/"),
    ("empty", ""),
    ("path", "/foo/bar"),
    ("who", "fred"),
    ("dub", "me/too"),
    ("v", "6"),
    ("x", "1024"),
    ("y", "768"),
    ("dom", "example"),
    ("dom", "com"),
    ("list", "red"),
    ("list", "green"),
    ("list", "blue"),
    ("count", "one"),
    ("count", "two"),
    ("count", "three"),
];
const KEYS: [(&str, &str); 3] = [("semi", ";"), ("dot", "."), ("comma", ",")];
const ORDERS: [[usize; 3]; 6] = [
    [0, 1, 2],
    [0, 2, 1],
    [1, 0, 2],
    [1, 2, 0],
    [2, 0, 1],
    [2, 1, 0],
];

fn variables(order: [usize; 3]) -> Vec<Variable> {
    let keys = order.map(|n| Variable {
        key: Some(KEYS[n].0.to_owned()),
        ..Variable::new("keys", KEYS[n].1)
    });
    VALUES
        .iter()
        .map(|(name, value)| Variable::new(*name, *value))
        .chain(keys)
        .collect()
}

/// Checks each expansion of the table, and that the values of its match expand to the same URI. With `<=>` these are
/// the values of the table, with `=>` they are other values.
fn check(table: &str) {
    for line in table.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (is_same, (template, expected)) = match line.split_once(" <=> ") {
            Some(sides) => (true, sides),
            None => (false, line.split_once(" => ").unwrap()),
        };
        let template = parse_template(&format!("x:{template}"));
        let mut uris = BTreeSet::new();
        for values in ORDERS.map(variables) {
            let uri = template.expand(&values);
            let matched = template
                .matches(&uri)
                .unwrap_or_else(|| panic!("{line}: {uri}"))
                .variables;
            assert_eq!(template.expand(&matched), uri, "{line}: {matched:?}");
            let defined = |name| {
                values
                    .iter()
                    .filter(move |variable| variable.name == name)
                    .cloned()
            };
            let defined: Vec<_> = template.variables().flat_map(defined).collect();
            assert_eq!(matched == defined, is_same, "{line}: {matched:?}");
            uris.insert(uri);
        }
        assert!(uris.contains(&format!("x:{expected}")), "{line}: {uris:?}");
        let has_map = template.variables().any(|name| name == "keys");
        assert_eq!(uris.len(), if has_map { ORDERS.len() } else { 1 }, "{line}");
    }
}

#[test]
fn simple() {
    check(
        "{var} <=> value
         {hello} <=> Hello%20World%21
         {half} <=> 50%25
         O{undef}X <=> OX
         {x,y} <=> 1024,768
         {x,hello,y} <=> 1024,Hello%20World%21,768
         map?{x,y} <=> map?1024,768
         ?{x,empty} <=> ?1024,
         ?{x,undef} <=> ?1024
         {var:30} <=> value
         {list} <=> red,green,blue
         {list*} <=> red,green,blue
         {count} <=> one,two,three
         {count*} <=> one,two,three
         {keys*} <=> semi=%3B,dot=.,comma=%2C",
    );
}

#[test]
fn reserved_and_fragment() {
    check(
        "{+var} <=> value
         {+hello} <=> Hello%20World!
         {+half} <=> 50%25
         {base}index <=> http%3A%2F%2Fexample.com%2Fhome%2Findex
         {+base}index <=> http://example.com/home/index
         O{+undef}X <=> OX
         {+path}/here <=> /foo/bar/here
         here?ref={+path} <=> here?ref=/foo/bar
         {+x,hello,y} <=> 1024,Hello%20World!,768
         {+path,x}/here <=> /foo/bar,1024/here
         {+list*} <=> red,green,blue
         {+keys*} <=> semi=;,dot=.,comma=,
         {#var} <=> #value
         {#hello} <=> #Hello%20World!
         {#half} <=> #50%25
         foo{#empty} <=> foo#
         foo{#undef} <=> foo
         {#x,hello,y} <=> #1024,Hello%20World!,768
         {#path,x}/here <=> #/foo/bar,1024/here
         {#list*} <=> #red,green,blue
         {#keys*} <=> #semi=;,dot=.,comma=,",
    );
}

#[test]
fn labels_and_segments() {
    check(
        "{.who} <=> .fred
         {.who,who} <=> .fred.fred
         {.half,who} <=> .50%25.fred
         www{.dom*} <=> www.example.com
         X{.var} <=> X.value
         X{.empty} <=> X.
         X{.undef} <=> X
         X{.x,y} <=> X.1024.768
         X{.list} <=> X.red,green,blue
         X{.list*} <=> X.red.green.blue
         X{.keys*} <=> X.semi=%3B.dot=..comma=%2C
         {/who} <=> /fred
         {/who,who} <=> /fred/fred
         {/half,who} <=> /50%25/fred
         {/who,dub} <=> /fred/me%2Ftoo
         {/var} <=> /value
         {/var,empty} <=> /value/
         {/var,undef} <=> /value
         {/var,x}/here <=> /value/1024/here
         {/var:1,var} <=> /v/value
         {/list} <=> /red,green,blue
         {/list*} <=> /red/green/blue
         {/count} <=> /one,two,three
         {/count*} <=> /one/two/three
         {/keys*} <=> /semi=%3B/dot=./comma=%2C",
    );
}

#[test]
fn parameters_and_queries() {
    check(
        "{;who} <=> ;who=fred
         {;half} <=> ;half=50%25
         {;empty} <=> ;empty
         {;v,empty,who} <=> ;v=6;empty;who=fred
         {;v,bar,who} <=> ;v=6;who=fred
         {;x,y} <=> ;x=1024;y=768
         {;x,y,empty} <=> ;x=1024;y=768;empty
         {;x,y,undef} <=> ;x=1024;y=768
         {;list} <=> ;list=red,green,blue
         {;list*} <=> ;list=red;list=green;list=blue
         {;count} <=> ;count=one,two,three
         {;count*} <=> ;count=one;count=two;count=three
         {;keys*} <=> ;semi=%3B;dot=.;comma=%2C
         {?who} <=> ?who=fred
         {?half} <=> ?half=50%25
         {?x,y} <=> ?x=1024&y=768
         {?x,y,empty} <=> ?x=1024&y=768&empty=
         {?x,y,undef} <=> ?x=1024&y=768
         {?list} <=> ?list=red,green,blue
         {?list*} <=> ?list=red&list=green&list=blue
         {?count} <=> ?count=one,two,three
         {?count*} <=> ?count=one&count=two&count=three
         {?keys*} <=> ?semi=%3B&dot=.&comma=%2C
         {&who} <=> &who=fred
         {&half} <=> &half=50%25
         ?fixed=yes{&x} <=> ?fixed=yes&x=1024
         {&x,y,empty} <=> &x=1024&y=768&empty=
         {&x,y,undef} <=> &x=1024&y=768
         {&list} <=> &list=red,green,blue
         {&list*} <=> &list=red&list=green&list=blue
         {&count*} <=> &count=one&count=two&count=three
         {&keys*} <=> &semi=%3B&dot=.&comma=%2C",
    );
}

/// Several values have the same expansion. The documentation of the crate has a rule for each of these values.
#[test]
fn ambiguous_values() {
    // Between literal texts, an empty value is undefined. In `{x,y}`, the last variables are undefined.
    check(
        "O{empty}X => OX
         O{+empty}X => OX
         ?{undef,y} => ?768",
    );
    // The characters after a prefix are not in the URI.
    check(
        "{var:3} => val
         {+path:6}/here => /foo/b/here
         {#path:6}/here => #/foo/b/here
         X{.var:3} => X.val
         {;hello:5} => ;hello=Hello
         {?var:3} => ?var=val
         {&var:3} => &var=val",
    );
    // An earlier variable matches as much as possible.
    check(
        "up{+path}{var}/here => up/foo/barvalue/here
         {/list*,path:4} => /red/green/blue/%2Ffoo",
    );
    // `+` and `#` do not change commas in values.
    check(
        "{+list} => red,green,blue
         {#list} => #red,green,blue
         {+keys} => semi,;,dot,.,comma,,
         {#keys} => #semi,;,dot,.,comma,,",
    );
    // Without `*`, a map is written as a list of its keys and values.
    check(
        "{keys} => semi,%3B,dot,.,comma,%2C
         X{.keys} => X.semi,%3B,dot,.,comma,%2C
         {/keys} => /semi,%3B,dot,.,comma,%2C
         {;keys} => ;keys=semi,%3B,dot,.,comma,%2C
         {?keys} => ?keys=semi,%3B,dot,.,comma,%2C
         {&keys} => &keys=semi,%3B,dot,.,comma,%2C",
    );
}
