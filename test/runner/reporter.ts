/*
 * A reporter for node:test: one line of JSON for every test that begins or ends. Loaded by
 * `run-file.ts` into the process that runs a test file, where the thrown errors are available as
 * objects.
 */
import type { TestEvent } from 'node:test/reporters'
import { inspect } from 'node:util'

export type TestReport =
  | { readonly kind: 'begun' | 'passed' | 'group'; readonly test: string }
  | { readonly kind: 'skipped'; readonly test: string; readonly why: string }
  | { readonly kind: 'failed'; readonly test: string; readonly why: string }

export default async function* report(source: AsyncIterable<TestEvent>): AsyncGenerator<string, void> {
  for await (const event of source) {
    const line = reportOf(event)
    if (line !== null) yield `${JSON.stringify(line)}\n`
  }
}

function reportOf(event: TestEvent): TestReport | null {
  switch (event.type) {
    case 'test:dequeue':
      return { kind: 'begun', test: event.data.name }
    case 'test:pass': {
      const { name: test, skip, details } = event.data
      if (details.type === 'suite') return { kind: 'group', test }
      return skip === undefined || skip === false
        ? { kind: 'passed', test }
        : { kind: 'skipped', test, why: String(skip) }
    }
    case 'test:fail': {
      const { name: test, details } = event.data
      const { error } = details
      // The failed subtests report it.
      const isReported = 'failureType' in error && error.failureType === 'subtestsFailed'
      return isReported ? { kind: 'group', test } : { kind: 'failed', test, why: textOf(error) }
    }
    default:
      return null
  }
}

/** Returns the text of the thrown error, without the wrapper of node:test. */
function textOf(error: Error): string {
  const thrown = error.cause ?? error
  return thrown instanceof Error ? (thrown.stack ?? thrown.message) : inspect(thrown)
}
