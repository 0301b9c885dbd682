/*
 * Goal: commands that orchctl prints name files as an operator would type them.
 * Method: paths below, above and next to a working directory.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shownPath } from '../../../../src/cli/shown-path.ts'

void test('paths below the working directory are shown relative, all others absolute', () => {
  for (const [path, shown] of [
    ['/srv/.cluster', '.cluster'],
    ['.cluster/pki', '.cluster/pki'],
    ['/srv/..data', '..data'],
    ['/srv', '/srv'],
    ['/', '/'],
    ['/tmp/cluster', '/tmp/cluster'],
    ['../tmp/cluster', '/tmp/cluster'],
    ['/srvshop/cluster', '/srvshop/cluster'],
  ] as const) {
    assert.equal(shownPath(path, '/srv'), shown, path)
  }
})
