/*
 * Goal: anonymous access is off where every caller may do everything.
 * Method: configurations as flags make them.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accessWarnings, allowsAnonymous } from '../../../../src/app/policy.ts'
import { loadConfig } from '../../../../src/config/load.ts'

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
