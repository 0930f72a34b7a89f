// Waits for a condition, without a fixed time.

// CI is three times slower than a usual machine, and runs two steps at the same time.
export const TIMEOUT_MS = 60_000;
const INTERVAL_MS = 50;

/** Calls `condition` until it returns a true value, which is returned. Errors count as false. */
export async function eventually(what, condition, timeout = TIMEOUT_MS) {
  const end = Date.now() + timeout;
  let last;
  for (;;) {
    try {
      const value = await condition();
      if (value) return value;
      last = undefined;
    } catch (error) {
      last = error;
    }
    if (Date.now() > end) throw new Error(`${what}: not within ${timeout / 1000} s${last ? `: ${last.message}` : ""}`);
    await new Promise((resolve) => setTimeout(resolve, INTERVAL_MS));
  }
}
