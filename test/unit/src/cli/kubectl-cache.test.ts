/*
 * Goal: after a change of the API domain of a cluster at the same address, the user is warned about
 * the cached discovery of kubectl.
 * Method: a home directory as kubectl fills it.
 */
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { staleDiscovery } from '../../../../src/cli/kubectl-cache.ts'

void test('only cached discovery of another domain at that port is reported', (t) => {
  const scratch = mkdtempSync(join(tmpdir(), 'orch-scratch-'))
  t.after(() => rmSync(scratch, { recursive: true, force: true }))
  assert.deepEqual(staleDiscovery(6443, 'k8s.io', scratch), [])
  const directory = join(scratch, '.kube/cache/discovery/127.0.0.1_6443')
  mkdirSync(directory, { recursive: true })
  assert.deepEqual(staleDiscovery(6443, 'k8s.io', scratch), [], 'nothing was learned yet')
  const groups = (domain: string): string => JSON.stringify({ groups: [{ name: `authorization.${domain}` }] })
  writeFileSync(join(directory, 'servergroups.json'), groups('orch.io'))
  assert.deepEqual(staleDiscovery(6443, 'k8s.io', scratch), [directory])
  assert.deepEqual(staleDiscovery(6443, 'orch.io', scratch), [])
  assert.deepEqual(staleDiscovery(6444, 'k8s.io', scratch), [])
})
