import type { TestContext } from 'node:test'

/** Traffic and observers that run until they are stopped. */
type Going = { stop(): Promise<unknown> }

/**
 * Stops these at the end of the test, also after a failure: running ones keep the process alive and
 * hide the failure. The test itself awaits their errors.
 */
export function endsWith(t: TestContext, ...going: readonly Going[]): void {
  t.after(() => Promise.allSettled(going.map((one) => one.stop())))
}
