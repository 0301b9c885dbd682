/*
 * Goal: a changed file is noticed within a second, whenever it changes, also right after the start.
 * Method: real files, mocked timers, and the shared timer of a member's clock.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { SharedTimer } from '../../../../src/host/shared-timer.ts'
import { FileWatch, versionOf } from '../../../../src/pki/file-watch.ts'

void test('a change is noticed within a second, at any time after the start', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const directory = mkdtempSync(join(tmpdir(), 'file-watch-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const path = join(directory, 'file')
  const replace = (text: string): void => {
    writeFileSync(`${path}.new`, text)
    renameSync(`${path}.new`, path)
  }
  let nowMs = 0
  const shared = new SharedTimer(() => nowMs)
  const clock = {
    monotonicMs: () => nowMs,
    wallMs: () => nowMs,
    every: (periodMs: number, action: () => void) => shared.every(periodMs, action),
    after: (delayMs: number, action: () => void) => {
      const timer = setTimeout(action, delayMs)
      return { cancel: () => clearTimeout(timer) }
    },
    soon: (action: () => void) => void setTimeout(action, 0),
  }
  const advance = async (ms: number): Promise<void> => {
    for (let step = 0; step < ms; step++) {
      nowMs++
      t.mock.timers.tick(1)
      await Promise.resolve()
      await Promise.resolve()
    }
  }
  for (const startMs of [1, 250, 499]) {
    for (const changeMs of [1, 249, 251, 499, 501, 999, 1251]) {
      await advance(500 - (nowMs % 500) + startMs)
      replace('before')
      let noticed = 0
      const watch = new FileWatch({
        ...{ paths: () => [path], mayBeMissing: false, read: versionOf(path), clock },
        onChange: () => void noticed++,
      })
      watch.start()
      await advance(changeMs)
      replace('afterwards')
      await advance(950)
      assert.equal(noticed, 1, `started at ${startMs}, changed after ${changeMs} ms`)
      await advance(1000)
      assert.equal(noticed, 1)
      watch.close()
    }
  }
})
