import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'

/** The variable of the environment that replaces `patienceMs`. */
export const patienceVariable = 'TEST_PATIENCE_MS'

/**
 * How long a test of real processes waits for a condition, in ms. It is no speed limit: on a busy
 * machine everything takes many times longer, and this is when a test gives up and prints what it
 * saw.
 */
export const patienceMs = Number(process.env[patienceVariable] ?? 120_000)

/**
 * Waits until something holds, up to `patienceMs`, whatever the number of checks.
 *
 * @param what is awaited
 * @param seen describes the actual state, for the message of a timeout
 * @param lookMs interval of checks
 */
export async function until(
  what: string,
  holds: () => boolean | Promise<boolean>,
  seen: () => string | Promise<string> = () => '',
  lookMs = 50,
): Promise<void> {
  const endMs = performance.now() + patienceMs
  while (!(await holds())) {
    if (performance.now() > endMs)
      assert.fail(`not within ${patienceMs / 1000} s: ${what}\n${await seen()}`.trimEnd())
    await sleep(lookMs)
  }
}

/**
 * Waits until a count reaches a goal, as long as it rises at least once in `patienceMs`: how fast
 * depends on the machine.
 */
export async function untilReached(what: string, goal: number, count: () => number): Promise<void> {
  for (let last = count(); last < goal; last = count()) {
    await until(
      `${what} rises`,
      () => count() > last,
      () => `${last} of ${goal}`,
    )
  }
}
