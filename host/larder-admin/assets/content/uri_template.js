// URI templates (RFC 6570, level 4): the variables of one, and its expansion with texts that an operator wrote. For a
// variable with `*`, commas divide values. Knows no elements.

const OPERATORS = {
  "": { first: "", between: ",", named: false, empty: "", reserved: false },
  "+": { first: "", between: ",", named: false, empty: "", reserved: true },
  "#": { first: "#", between: ",", named: false, empty: "", reserved: true },
  ".": { first: ".", between: ".", named: false, empty: "", reserved: false },
  "/": { first: "/", between: "/", named: false, empty: "", reserved: false },
  ";": { first: ";", between: ";", named: true, empty: "", reserved: false },
  "?": { first: "?", between: "&", named: true, empty: "=", reserved: false },
  "&": { first: "&", between: "&", named: true, empty: "=", reserved: false },
};
const EXPRESSION = /\{([+#./;?&]?)([^{}]*)\}/g;
const VARIABLE = /^((?:[\w.]|%[0-9a-f]{2})+)(\*|:\d{1,4})?$/i;
const RESERVED = /(%[0-9a-f]{2})|([^\w.~:/?#[\]@!$&'()*+,;=-])/giu;

/** Returns the variables of a template in order, or null if it is not one. */
export function variables(template) {
  const found = new Map();
  for (const [, , list] of template.matchAll(EXPRESSION)) {
    for (const text of list.split(",")) {
      const match = VARIABLE.exec(text);
      if (!match) return null;
      const [, name, modifier] = match;
      found.set(name, { name, isList: modifier === "*" || found.get(name)?.isList === true });
    }
  }
  return [...found.values()];
}

/** Expands a template. A variable without a value, or with an empty one, is left out. */
export function expand(template, values) {
  return template.replace(EXPRESSION, (whole, sign, list) => {
    const operator = OPERATORS[sign];
    const parts = list.split(",").flatMap((text) => variable(text, values, operator));
    return parts.length === 0 ? "" : operator.first + parts.join(operator.between);
  });
}

function variable(text, values, operator) {
  const [, name, modifier = ""] = VARIABLE.exec(text) ?? [];
  const value = Object.hasOwn(values, name) ? values[name] : "";
  if (value === "") return [];
  if (modifier === "*") return value.split(",").map((part) => one(name, part.trim(), operator));
  const length = modifier === "" ? Infinity : Number(modifier.slice(1));
  return [one(name, [...value].slice(0, length).join(""), operator)];
}

function one(name, value, operator) {
  const encoded = operator.reserved ? encodeReserved(value) : encode(value);
  if (!operator.named) return encoded;
  return encoded === "" ? name + operator.empty : `${name}=${encoded}`;
}

/** Everything but unreserved characters. */
function encode(value) {
  const safe = value.toWellFormed?.() ?? value;
  return encodeURIComponent(safe).replace(
    /[!'()*]/g,
    (found) => `%${found.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** Reserved characters and percent-encoded triples stay. */
function encodeReserved(value) {
  const safe = value.toWellFormed?.() ?? value;
  return safe.replace(RESERVED, (found, triple) => triple ?? encode(found));
}
