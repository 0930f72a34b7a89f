// Sets the theme that the operator chose before the first paint, so that the page does not flash in the other one.
// A classic script: a module would run after the first paint.
(() => {
  try {
    const theme = localStorage.getItem("larder.theme");
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  } catch {
    // The storage is switched off: the theme of the system applies.
  }
})();
