/*
 * Goal: renewed keys reach the peer links whatever happens to their other users, and keys that
 * cannot be used change nothing.
 * Method: users that fail, on the files of a real cluster.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { SeededRandom } from '../../../../base/random.ts'
import { applyKeys } from '../../../../src/app/apply-keys.ts'
import type { KeyUsers } from '../../../../src/app/apply-keys.ts'
import { clusterPkiPaths, ensureClusterPki } from '../../../../src/pki/cluster-pki.ts'
import type { MemberKeys } from '../../../../src/pki/member-keys.ts'
import { ManualClock } from '../../../support/fakes/manual-clock.ts'

function keysOf(t: TestContext): MemberKeys {
  const directory = mkdtempSync(join(tmpdir(), 'orch-apply-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  const members = [{ name: 'n1', hosts: ['localhost'], serverUrl: 'https://localhost:1' }]
  const parts = { clock: new ManualClock(), random: new SeededRandom(1) }
  ensureClusterPki({ directory, kubeconfigPath: null, members, ...parts })
  const { ca, peerCa, server, peer } = clusterPkiPaths(directory)
  const read = (path: string): string => readFileSync(path, 'utf8')
  return {
    server: {
      ...{ certificate: read(server('n1').certificate), key: read(server('n1').key) },
      ...{ clientAuthorities: read(ca.certificate), proxyAuthorities: null },
    },
    peer: {
      ...{ certificate: read(peer('n1').certificate), key: read(peer('n1').key) },
      authority: read(peerCa.certificate),
    },
    ...{ kubeconfig: null, madeNow: false, fingerprints: {} },
  }
}

function usersOf(seen: string[]): KeyUsers {
  return {
    trust: { replace: () => void seen.push('trust') },
    authorities: { certificates: '' },
    server: { reload: () => void seen.push('server') },
    renewPeerKeys: () => void seen.push('peers'),
    onRenewedKeys: () => void seen.push('others'),
  }
}

void test('renewed keys reach every user, and the peer links first', (t) => {
  const seen: string[] = []
  applyKeys(keysOf(t), usersOf(seen))
  assert.deepEqual(seen, ['peers', 'trust', 'server', 'others'])
})

void test('a renewed peer key is used although another user of the keys fails', (t) => {
  const keys = keysOf(t)
  const fail = (): never => {
    throw new Error('no')
  }
  for (const user of [
    { trust: { replace: fail } },
    { server: { reload: fail } },
    { onRenewedKeys: fail },
  ] satisfies Partial<KeyUsers>[]) {
    const seen: string[] = []
    assert.throws(() => applyKeys(keys, { ...usersOf(seen), ...user }), /no/)
    assert.ok(seen.includes('peers'), Object.keys(user).join())
  }
})

void test('authorities that cannot be used change nothing', (t) => {
  const seen: string[] = []
  const authorities = { certificates: '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n' }
  assert.throws(() => applyKeys(keysOf(t), { ...usersOf(seen), authorities }), { code: 'malformed' })
  assert.deepEqual(seen, [])
})
