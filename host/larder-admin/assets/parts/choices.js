// What filters and forms offer to choose from: teams and providers.

import { get, isAborted } from "../app/api.js";
import { plain } from "../app/text.js";
import { fillOptions } from "./filters.js";

/** Returns the teams as options of a selection; the first option stands for all of them. */
export async function teamOptions(signal, first = ["", "All teams"]) {
  try {
    const { items } = await get("teams", { limit: 500 }, signal);
    return [first, ...items.map(({ name }) => [name, name])];
  } catch (error) {
    if (!isAborted(error)) console.warn("the teams cannot be loaded", error);
    return [first];
  }
}

/** Loads the teams into the filter `team`. With a single team there is nothing to choose, so the filter is hidden. */
export async function loadTeams(filters, signal) {
  const options = await teamOptions(signal);
  const select = filters.input("team");
  fillOptions(select, options);
  select.closest(".field").hidden = options.length <= 2 && select.value === "";
}

/** Suggests names of providers. Browsers show suggestions as they are, so names with hidden characters are left out. */
export async function suggestProviders(text, signal) {
  const { items } = await get("providers", { q: text, limit: 20 }, signal);
  return items.map(({ name }) => name).filter((name) => plain(name) === name);
}
