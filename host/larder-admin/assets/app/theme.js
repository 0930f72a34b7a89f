// The switch between the theme of the system, light and dark. `early_theme.js` applies the choice at the next start.

const KEY = "larder.theme";
const THEMES = ["system", "light", "dark"];

/** The chosen theme: `system`, `light` or `dark`. */
export function theme() {
  return document.documentElement.dataset.theme ?? "system";
}

/** Applies the next theme and returns it. */
export function nextTheme() {
  const next = THEMES[(THEMES.indexOf(theme()) + 1) % THEMES.length];
  if (next === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = next;
  try {
    if (next === "system") localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, next);
  } catch {
    // The storage is switched off: the choice holds until the page is closed.
  }
  return next;
}
