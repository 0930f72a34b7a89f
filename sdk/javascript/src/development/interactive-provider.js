// The component of `larder dev` for the world `interactive-provider`, as provider.js.

import * as interactionHost from 'larder:provider/interaction-host@0.1.0';

import { forwardedInteractions, forwardedResources } from './exports.js';
import { program } from './program.js';

const load = program({ 'larder:provider/interaction-host@0.1.0': interactionHost });

export const { resourceProvider, completionProvider, versionProvider } = forwardedResources(load);
export const { toolProvider, promptProvider, searchProvider, settingsProvider } = forwardedInteractions(load);
