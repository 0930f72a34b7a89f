// Shows an image whose bytes were checked, from a blob of this page that is released when the view is left.

import { h } from "../app/dom.js";
import { count } from "../app/format.js";
import { notice } from "../parts/states.js";

/** An image with more pixels needs too much memory when it is decoded: 4 bytes for each. */
const MAX_PIXELS = 50_000_000;

/** Returns the view of an image; `found` is the result of `imageType`. */
export function imageView(bytes, found, signal) {
  const { type, width, height } = found;
  const size = `${count(width)} × ${count(height)} pixels`;
  if (width * height > MAX_PIXELS)
    return notice("warning", h("p", null, `The image is too large to show: ${size}.`));
  const url = URL.createObjectURL(new Blob([bytes], { type }));
  signal.addEventListener("abort", () => URL.revokeObjectURL(url));
  const caption = h("figcaption", { class: "hint" }, `${type}, ${size}`);
  const failed = () =>
    image.replaceWith(notice("warning", h("p", null, "The browser cannot decode the image.")));
  const image = h("img", {
    src: url,
    alt: `Content of the resource: ${type}, ${size}`,
    on: { error: failed },
  });
  return h("figure", { class: "image" }, image, caption);
}
