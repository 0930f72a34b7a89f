// Converts exceptions to errors of the contract.

import { toError } from './errors.js';

/** An exported function that throws errors of the contract. Any other exception would be a trap. */
export function guarded(name, logError, implementation) {
  return (argument) => {
    try {
      return implementation(argument);
    } catch (thrown) {
      throw toError(thrown, name, logError);
    }
  };
}
