/*
 * Goal: anonymous access is off where every caller may do everything; permissions are stale when
 * the quorum was reached too long ago.
 * Method: configurations as flags make them; a manual clock.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accessWarnings, allowsAnonymous, staleAccess } from '../../../../src/app/policy.ts'
import { loadConfig } from '../../../../src/config/load.ts'
import type { Settings } from '../../../../src/store/command.ts'
import { StoreError } from '../../../../src/store/store-errors.ts'
import { ManualClock } from '../../../support/fakes/manual-clock.ts'

void test('spec 5: anonymous access is on by default, except with AlwaysAllow', () => {
  const rows: readonly (readonly [args: readonly string[], isAllowed: boolean, warns: boolean])[] = [
    [[], true, false],
    [['--anonymous-auth=false'], false, false],
    [['--authorization-mode=AlwaysDeny'], true, false],
    [['--authorization-mode=AlwaysAllow'], false, true],
    [['--authorization-mode=RBAC,AlwaysAllow'], false, true],
    [['--authorization-mode=AlwaysAllow', '--anonymous-auth'], false, true],
    [['--authorization-mode=AlwaysAllow', '--anonymous-auth=false'], false, false],
  ]
  for (const [args, isAllowed, warns] of rows) {
    const loaded = loadConfig({ args: ['--in-memory', ...args], readFile: () => '' })
    assert.ok(loaded.kind === 'config')
    assert.equal(allowsAnonymous(loaded.config), isAllowed, args.join(' '))
    const warnings = accessWarnings(loaded.config)
    assert.equal(warnings.length, warns ? 1 : 0, args.join(' '))
    for (const warning of warnings) assert.match(warning, /--anonymous-auth is disabled, use another mode/)
  }
})

const settings: Settings = {
  ...{ historyWindowMs: 1000, historyEventsMin: 0, objectBytesMax: 16_384, storageBytesMax: null },
}

void test('permissions are stale when the last contact to a quorum, or else the start, is too long ago', async () => {
  const clock = new ManualClock()
  const status = { quorumContactMs: null as number | null }
  let known: Settings = settings
  const isStale = staleAccess({
    clock,
    consensus: { status },
    store: {
      get settings() {
        return known
      },
    },
  })
  await clock.advance(30_000)
  assert.ok(!isStale())
  await clock.advance(1)
  assert.ok(isStale())
  status.quorumContactMs = clock.monotonicMs()
  assert.ok(!isStale())
  known = { ...settings, staleAccessMs: 5000 }
  await clock.advance(5001)
  assert.ok(isStale())
})

void test('a member whose state is not trusted uses the default time', async () => {
  const clock = new ManualClock()
  const isStale = staleAccess({
    clock,
    consensus: { status: { quorumContactMs: null } },
    store: {
      get settings(): Settings {
        throw new StoreError('stopped', 'the state of this member is not trusted')
      },
    },
  })
  assert.ok(!isStale())
  await clock.advance(30_001)
  assert.ok(isStale())
})
