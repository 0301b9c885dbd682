import type { TestContext } from 'node:test'

/** Traffic and observers that go on by themselves until they are told to stop. */
type Going = { stop(): Promise<unknown> }

/**
 * Stops these when the test ends, however it ends: whatever goes on keeps the process, and a test that failed would never be
 * told. What went wrong with them is what the test awaits itself.
 */
export function endsWith(t: TestContext, ...going: readonly Going[]): void {
  t.after(() => Promise.allSettled(going.map((one) => one.stop())))
}
