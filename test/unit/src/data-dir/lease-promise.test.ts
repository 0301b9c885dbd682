/*
 * Goal: the longest promise that any process of a member may have given is known to the next one.
 * Method: a real directory.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { lowerPromise, promisedMs, recordNoPromise } from '../../../../src/data-dir/lease-promise.ts'
import { limits } from '../../../../src/config/limits.ts'
import { leasePromiseFileName } from '../../../../src/data-dir/layout.ts'
import { everyVariant } from '../../../support/fixtures/variants.ts'

/** A byte is changed in each bit alone and in all of them; in `long/variants` in every way. */
const masks = everyVariant
  ? Array.from({ length: 255 }, (_, at) => at + 1)
  : [1, 2, 4, 8, 16, 32, 64, 128, 255]

type Warned = { readonly log: { warn: (...given: readonly unknown[]) => void }; readonly lines: string[] }

function warned(): Warned {
  const lines: string[] = []
  return { lines, log: { warn: (...given) => void lines.push(String(given[1])) } }
}

function folder(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'orch-promise-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

void test('the longest election timeout of all starts is recorded until it was waited out', (t) => {
  const directory = folder(t)
  const { log, lines } = warned()
  const kept = (): string => readFileSync(join(directory, leasePromiseFileName), 'utf8')
  const promised = (electionMs: number, hasLog = true): number =>
    promisedMs({ directory, electionMs, hasLog, log })
  assert.equal(promised(300, false), 300)
  assert.match(kept(), /^300 /)
  assert.equal(promised(5000), 5000)
  assert.equal(promised(500), 5000)
  assert.equal(promised(300), 5000)
  assert.match(kept(), /^5000 /)
  assert.deepEqual(lines, [])
  lowerPromise(join(directory, 'gone'), 300, log)
  assert.equal(lines.length, 1)
  lowerPromise(directory, 300, log)
  assert.equal(promised(300), 300)
})

void test('a lease promise that has a changed byte, is truncated, or is missing next to a log, counts as the longest', (t) => {
  const directory = folder(t)
  const path = join(directory, leasePromiseFileName)
  const first = warned()
  promisedMs({ directory, electionMs: 5000, hasLog: false, log: first.log })
  const whole = readFileSync(path)
  const spoiled: (Buffer | null)[] = [null]
  for (let at = 0; at < whole.length; at++) {
    spoiled.push(whole.subarray(0, at))
    for (const mask of masks) {
      const changed = Buffer.from(whole)
      changed[at] = (changed[at] ?? 0) ^ mask
      spoiled.push(changed)
    }
  }
  // Each call replaces the damaged record, so the damage is written again for each call. The result
  // is the longest timeout for every kind of damage.
  for (const text of spoiled) {
    if (text === null) rmSync(path)
    else writeFileSync(path, text)
    const { log, lines } = warned()
    const what = String(text)
    assert.equal(promisedMs({ directory, electionMs: 300, hasLog: true, log }), limits.electionMsMax, what)
    assert.equal(lines.length, 1, what)
    assert.match(lines[0] ?? '', text === null ? /was missing, the longest/ : /was damaged, the longest/)
    const again = warned()
    assert.equal(
      promisedMs({ directory, electionMs: 300, hasLog: true, log: again.log }),
      limits.electionMsMax,
    )
    assert.deepEqual(again.lines, [])
  }
})

void test('a restored directory has no promise to keep', (t) => {
  const directory = folder(t)
  const { log, lines } = warned()
  recordNoPromise(directory)
  assert.equal(promisedMs({ directory, electionMs: 300, hasLog: true, log }), 300)
  assert.deepEqual(lines, [])
})
