// The component of `larder dev` for the world `provider`: it loads the program when a guest starts, so that a save needs
// no new component. Never deploy it.

import { forwardedResources } from './exports.js';
import { program } from './program.js';

export const { resourceProvider, completionProvider, versionProvider } = forwardedResources(program({}));
