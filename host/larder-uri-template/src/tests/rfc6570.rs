//! The examples of RFC 6570, sections 1.2 and 3.2, with a scheme in front.

use super::parse_template;

const SCALARS: &[(&str, &str)] = &[
    ("var", "value"),
    ("hello", "Hello World!"),
    ("half", "50%"),
    ("base", "http://example.com/home/"),
    ("empty", ""),
    ("path", "/foo/bar"),
    ("who", "fred"),
    ("dom", "example.com"),
    ("dub", "me/too"),
    ("v", "6"),
    ("x", "1024"),
    ("y", "768"),
    ("list", "red"),
    ("list", "green"),
    ("list", "blue"),
    ("count", "one"),
    ("count", "two"),
    ("count", "three"),
];

/// Checks each expansion of the table, and with `<=>` also that matching returns the values.
fn check(table: &str) {
    let values: Vec<_> =
        SCALARS.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    for line in table.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (reversible, (template, uri)) = match line.split_once(" <=> ") {
            Some(sides) => (true, sides),
            None => (false, line.split_once(" => ").unwrap()),
        };
        let (template, uri) = (parse_template(&format!("x:{template}")), format!("x:{uri}"));
        assert_eq!(template.expand(&values), uri, "{line}");
        let defined: Vec<_> = template
            .variables()
            .flat_map(|name| values.iter().filter(move |(other, _)| other == name).cloned())
            .collect();
        let matched = template.matches(&uri).map(|captures| captures.values);
        assert_eq!(matched == Some(defined), reversible, "{line}: {matched:?}");
    }
}

#[test]
fn simple() {
    check(
        "{var} <=> value
         {hello} <=> Hello%20World%21
         {half} <=> 50%25
         O{empty}X => OX
         O{undef}X => OX
         {x,y} <=> 1024,768
         {x,hello,y} <=> 1024,Hello%20World%21,768
         ?{x,empty} => ?1024,
         ?{x,undef} <=> ?1024
         ?{undef,y} => ?768
         {var:3} => val
         {var:30} <=> value
         {list} => red,green,blue
         {list*} <=> red,green,blue
         {count*} <=> one,two,three",
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
         O{+empty}X => OX
         {+path}/here <=> /foo/bar/here
         here?ref={+path} <=> here?ref=/foo/bar
         up{+path}{var}/here => up/foo/barvalue/here
         {+x,hello,y} <=> 1024,Hello%20World!,768
         {+path,x}/here <=> /foo/bar,1024/here
         {+path:6}/here => /foo/b/here
         {+list} => red,green,blue
         {+list*} <=> red,green,blue
         {#var} <=> #value
         {#hello} <=> #Hello%20World!
         {#half} <=> #50%25
         foo{#empty} <=> foo#
         foo{#undef} <=> foo
         {#x,hello,y} <=> #1024,Hello%20World!,768
         {#path,x}/here <=> #/foo/bar,1024/here
         {#path:6}/here => #/foo/b/here
         {#list*} <=> #red,green,blue",
    );
}

#[test]
fn labels_and_segments() {
    check(
        "{.who} <=> .fred
         {.who,who} <=> .fred.fred
         X{.var} <=> X.value
         www{.dom} <=> www.example.com
         X{.empty} <=> X.
         X{.undef} <=> X
         X{.var:3} => X.val
         X{.list*} <=> X.red.green.blue
         X{.x,y} <=> X.1024.768
         {/who} <=> /fred
         {/half,who} <=> /50%25/fred
         {/who,dub} <=> /fred/me%2Ftoo
         {/var} <=> /value
         {/var,empty} <=> /value/
         {/var,undef} <=> /value
         {/var,x}/here <=> /value/1024/here
         {/var:1,var} <=> /v/value
         {/list*} <=> /red/green/blue
         {/list*,path:4} => /red/green/blue/%2Ffoo",
    );
}

#[test]
fn parameters_and_queries() {
    check(
        "{;who} <=> ;who=fred
         {;half} <=> ;half=50%25
         {;empty} <=> ;empty
         {;v,empty,who} <=> ;v=6;empty;who=fred
         {;v,undef,who} <=> ;v=6;who=fred
         {;x,y,empty} <=> ;x=1024;y=768;empty
         {;hello:5} => ;hello=Hello
         {;list*} <=> ;list=red;list=green;list=blue
         {?who} <=> ?who=fred
         {?x,y,empty} <=> ?x=1024&y=768&empty=
         {?x,y,undef} <=> ?x=1024&y=768
         {?var:3} => ?var=val
         {?list} => ?list=red,green,blue
         {?list*} <=> ?list=red&list=green&list=blue
         ?fixed=yes{&x} <=> ?fixed=yes&x=1024
         {&var:3} => &var=val
         {&x,y,empty} <=> &x=1024&y=768&empty=
         {&list*} <=> &list=red&list=green&list=blue",
    );
}
