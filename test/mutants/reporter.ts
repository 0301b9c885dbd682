/*
 * A reporter for node:test: one line of JSON for every test that ended. Loaded by `check.ts` into
 * the process that runs a test file, where the thrown errors are available as objects.
 */
import type { TestEvent } from 'node:test/reporters'
import { findingOf } from './evidence.ts'
import type { Finding } from './evidence.ts'

export type Report = { readonly test: string; readonly finding: Finding | null }

export default async function* report(source: AsyncIterable<TestEvent>): AsyncGenerator<string, void> {
  for await (const event of source) {
    if (event.type !== 'test:pass' && event.type !== 'test:fail') continue
    const { name, details } = event.data
    if (details.type === 'suite') continue
    const failed = event.type === 'test:fail' ? event.data.details.error : null
    // Reported by the tests inside it.
    if (failed !== null && 'failureType' in failed && failed.failureType === 'subtestsFailed') continue
    const line: Report = { test: name, finding: failed === null ? null : findingOf(name, failed) }
    yield `${JSON.stringify(line)}\n`
  }
}
