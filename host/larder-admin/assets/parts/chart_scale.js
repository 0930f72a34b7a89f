// The geometry of a chart: where a value stands, how high the axis is, and the paths of a line. Knows no elements.

/** Returns the point of a value in the coordinates of the picture. */
export function pointAt(index, value, top, size) {
  const width = size.width - size.left - size.right;
  const height = size.height - size.top - size.bottom;
  const x = size.left + (index / Math.max(1, size.length - 1)) * width;
  return { x: round(x), y: round(size.top + (1 - value / top) * height) };
}

/** Returns the upper end of an axis: the next round number. Sizes have round numbers in base 1024. */
export function axisTop(value, base = 10) {
  if (!(value > 0)) return 1;
  const unit = base === 1024 ? 1024 ** Math.floor(Math.log2(value) / 10) : 1;
  const scaled = value / unit;
  const power = 10 ** Math.floor(Math.log10(scaled));
  const factor = [1, 1.5, 2, 3, 4, 5, 6, 8, 10].find((one) => one * power >= scaled * 1.02) ?? 12;
  return factor * power * unit;
}

/** Returns the same for numbers of things: half of it is a whole number too, so that each label of the axis is one. */
export function wholeAxisTop(value) {
  return 2 * Math.ceil(axisTop(value) / 2);
}

/** Returns the path of the line, and that of the area below it. A value that is not known divides both. */
export function linePaths(values, top, size) {
  let line = "";
  let area = "";
  for (const run of runs(values)) {
    const points = run.map((index) => pointAt(index, values[index], top, size));
    const text = points.map(({ x, y }) => `${x} ${y}`).join("L");
    const floor = size.height - size.bottom;
    // A single value has no length: a small circle makes it visible.
    line += points.length === 1 ? circle(points[0]) : `M${text}`;
    if (points.length > 1) area += `M${points[0].x} ${floor}L${text}L${points.at(-1).x} ${floor}Z`;
  }
  return [line || "M0 0", area || "M0 0"];
}

function circle({ x, y }) {
  return `M${round(x - 1)} ${y}a1 1 0 1 0 2 0a1 1 0 1 0 -2 0`;
}

/** Indexes of known values, in runs without a gap. */
function runs(values) {
  const result = [];
  let run = [];
  values.forEach((value, index) => {
    if (Number.isFinite(value)) return run.push(index);
    if (run.length > 0) result.push(run);
    run = [];
  });
  return run.length > 0 ? [...result, run] : result;
}

function round(value) {
  return Math.round(value * 10) / 10;
}
