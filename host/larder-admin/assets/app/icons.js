// Icons as SVG paths in a square of 20 units. They are decoration: a text or a label always stands beside them.

import { svg } from "./dom.js";

const PATHS = {
  overview: "M3 14.5 7 9l3.5 3.500L17 5M13 5h4v4",
  providers: "M10 2.5 16.5 6v8L10 17.5 3.5 14V6zM3.5 6 10 9.5 16.5 6M10 9.500v8",
  catalog:
    "M4 4.500A1.5 1.5 0 0 1 5.5 3H16v11H5.500A1.5 1.5 0 0 0 4 15.500zM4 15.500A1.5 1.5 0 0 0 5.5 17H16v-3",
  approvals: "M10 2.5 16 5v4.500c0 4-2.5 6.5-6 8-3.5-1.5-6-4-6-8V5zM7.2 9.800l2 2 3.6-3.8",
  events: "M3 10h3l2-5.5 4 11 2-5.500h3",
  teams:
    "M7.5 9.500a2.8 2.8 0 1 0 0-5.6 2.8 2.8 0 0 0 0 5.600zM2.5 16c.3-2.8 2.3-4.3 5-4.300s4.7 1.5 5 4.300M13 4.200a2.8 2.8 0 0 1 0 5.100M14.6 12c1.7.6 2.7 2 2.9 4",
  menu: "M3 5.500h14M3 10h14M3 14.500h14",
  pause: "M7 4.500v11M13 4.500v11",
  play: "M6.5 4.500v11l9-5.500z",
  light:
    "M10 13.200a3.2 3.2 0 1 0 0-6.4 3.2 3.2 0 0 0 0 6.400zM10 2v1.800M10 16.200V18M2 10h1.800M16.2 10H18M4.3 4.300l1.3 1.300M14.4 14.400l1.3 1.300M15.7 4.300l-1.3 1.300M5.6 14.400l-1.3 1.3",
  dark: "M16 11.800A6.5 6.5 0 0 1 8.2 4a6.5 6.5 0 1 0 7.8 7.800z",
  system: "M3 4.500h14v9H3zM7.5 16.500h5M10 13.500v3",
  logout: "M8 4H4.500v12H8M12 6.5 15.5 10 12 13.500M15.5 10H8",
  check: "M4 10.5 8 14.5 16 6",
  cross: "M5 5l10 10M15 5 5 15",
  warning: "M10 3 18 16.500H2zM10 8v4M10 14.200v.1",
  error: "M10 17a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM10 6.500v4.500M10 13.300v.1",
  back: "M12 4.5 6.5 10l5.5 5.5",
  next: "M8 4.5 13.5 10 8 15.5",
  search: "M8.8 14a5.2 5.2 0 1 0 0-10.4 5.2 5.2 0 0 0 0 10.400zM12.6 12.6 17 17",
  empty: "M3.5 10.5 5.5 4h9l2 6.500V16h-13zM3.5 10.500H7.500c.3 1.5 1.2 2.2 2.5 2.200s2.2-.7 2.5-2.200h4",
};

/** Returns an icon. */
export function icon(name, props = {}) {
  const path = svg("path", { d: PATHS[name] ?? "" });
  return svg(
    "svg",
    { class: "icon", viewBox: "0 0 20 20", "aria-hidden": "true", focusable: "false", ...props },
    path,
  );
}

/** The sign of the page: a jar. */
export function sign() {
  return svg(
    "svg",
    { class: "sign", viewBox: "0 0 32 32", "aria-hidden": "true", focusable: "false" },
    svg("rect", { width: 32, height: 32, rx: 8, class: "sign-back" }),
    svg("path", {
      class: "sign-jar",
      d: "M10 7h12v4H10zM11 11c-2 1-3 2.5-3 5v6.500A2.5 2.5 0 0 0 10.5 25h11a2.5 2.5 0 0 0 2.5-2.500V16c0-2.5-1-4-3-5",
    }),
    svg("path", { class: "sign-content", d: "M8.5 17.500h15" }),
  );
}
