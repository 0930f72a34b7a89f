// The exported functions of the component of `larder dev`, which call those of the program.

// Functions without errors in the contract, and what they return if the program cannot be loaded. The next function that
// the host calls returns the error.
const WITHOUT_ERRORS = {
  describe: (problem) => ({ summary: problem, claims: [] }),
  matchUri: () => null,
  settings: () => [],
};

export const forwardedResources = (load) => ({
  ...forwarded(load, 'resourceProvider', ['describe', 'listResources', 'listTemplates', 'matchUri', 'readResource']),
  ...forwarded(load, 'completionProvider', ['complete']),
  ...forwarded(load, 'versionProvider', ['versions']),
});

export const forwardedInteractions = (load) => ({
  ...forwarded(load, 'toolProvider', ['listTools', 'callTool']),
  ...forwarded(load, 'promptProvider', ['listPrompts', 'getPrompt', 'completeArgument']),
  ...forwarded(load, 'searchProvider', ['search']),
  ...forwarded(load, 'settingsProvider', ['settings']),
});

function forwarded(load, name, functions) {
  const called = (key) => (...given) => {
    const { exported, problem } = find(load, name, WITHOUT_ERRORS[key]);
    if (exported) return exported[key](...given);
    if (WITHOUT_ERRORS[key]) return WITHOUT_ERRORS[key](problem);
    throw { tag: 'failed', val: problem };
  };
  return { [name]: Object.fromEntries(functions.map((key) => [key, called(key)])) };
}

// Returns what the program exports under this name, or why it does not.
function find(load, name, isSilent) {
  const { exports, problem } = load(isSilent);
  if (problem) return { problem };
  const hint = `the program has no export \`${name}\`: export what \`defineProvider\` returns`;
  return exports[name] ? { exported: exports[name] } : { problem: hint };
}
