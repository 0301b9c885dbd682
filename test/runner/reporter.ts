/*
 * A reporter for node:test: one line of JSON for every test or test file that begins or ends.
 * Loaded by `run-files.ts` into the process that runs test files, where the thrown errors are
 * available as objects. There each test file is a group at the top level: see `load-files.ts`.
 */
import type { TestEvent } from 'node:test/reporters'
import { inspect } from 'node:util'

/** `test` is null where the report is about the file as a whole. */
type About = { readonly file: string; readonly test: string | null }

export type TestReport =
  | (About & { readonly kind: 'begun' | 'passed' })
  /** A group of tests, or a file, has ended. Its tests report what failed. */
  | (About & { readonly kind: 'group'; readonly ms: number })
  | (About & { readonly kind: 'skipped'; readonly why: string })
  | (About & { readonly kind: 'failed'; readonly why: string })

export default async function* report(source: AsyncIterable<TestEvent>): AsyncGenerator<string, void> {
  let file = ''
  for await (const event of source) {
    if (event.type === 'test:dequeue' && event.data.nesting === 0) file = event.data.name
    const line = reportOf(event, file)
    if (line !== null) yield `${JSON.stringify(line)}\n`
  }
}

function reportOf(event: TestEvent, file: string): TestReport | null {
  switch (event.type) {
    case 'test:dequeue':
      return { kind: 'begun', file, test: testOf(event.data) }
    case 'test:pass': {
      const { skip, details } = event.data
      const test = testOf(event.data)
      if (details.type === 'suite') return { kind: 'group', file, test, ms: details.duration_ms }
      return skip === undefined || skip === false
        ? { kind: 'passed', file, test }
        : { kind: 'skipped', file, test, why: String(skip) }
    }
    case 'test:fail': {
      const { error, duration_ms: ms } = event.data.details
      const test = testOf(event.data)
      // The failed subtests report it.
      const isReported = 'failureType' in error && error.failureType === 'subtestsFailed'
      return isReported
        ? { kind: 'group', file, test, ms }
        : { kind: 'failed', file, test, why: textOf(error) }
    }
    default:
      return null
  }
}

function testOf({ name, nesting }: { readonly name: string; readonly nesting: number }): string | null {
  return nesting === 0 ? null : name
}

/** Returns the text of the thrown error, without the wrapper of node:test. */
function textOf(error: Error): string {
  const thrown = error.cause ?? error
  return thrown instanceof Error ? (thrown.stack ?? thrown.message) : inspect(thrown)
}
