// Which view an address shows.

import { approvals } from "./approvals.js";
import { definitions } from "./definitions.js";
import { events } from "./events.js";
import { login } from "./login.js";
import { notFound } from "./not_found.js";
import { overview } from "./overview.js";
import { provider } from "./provider.js";
import { providers } from "./providers.js";
import { read } from "./read.js";
import { resources } from "./resources.js";
import { teams } from "./teams.js";
import { templates } from "./templates.js";

/** The first segment is the page of the navigation; a second one selects a view of that page. */
const VIEWS = {
  "": overview,
  overview,
  providers,
  catalog: resources,
  "catalog/resources": resources,
  "catalog/templates": templates,
  "catalog/tools": definitions.tools,
  "catalog/prompts": definitions.prompts,
  "catalog/read": read,
  approvals,
  events,
  teams,
  login,
};

/** Returns the view of a path, the page that contains it, and the rest of the path. */
export function viewOf(segments) {
  const [page = "overview", ...rest] = segments;
  if (page === "providers" && rest.length === 1) return { view: provider, page, parameters: rest };
  const path = segments.join("/");
  const view = Object.hasOwn(VIEWS, path) ? VIEWS[path] : notFound;
  return { view, page, parameters: rest };
}
