/*
 * Goal: a certificate of another authority is detected, and a bundle of authorities is accepted.
 * Method: the keys of two clusters, mixed.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { isIssuedBy } from '../../../../src/pki/issued-by.ts'
import { clusterPkiPaths, ensureClusterPki } from '../../../../src/pki/cluster-pki.ts'
import { freshRandom, systemClock } from '../../../../fixtures/system.ts'

void test('a certificate is found to be issued by its own authority, alone or in a bundle, and by no other', (t) => {
  const scratch = mkdtempSync(join(tmpdir(), 'orch-issued-'))
  t.after(() => rmSync(scratch, { recursive: true, force: true }))
  const made = ['a', 'b'].map((name) => {
    const directory = join(scratch, name)
    ensureClusterPki({
      ...{
        directory,
        kubeconfigPath: join(directory, 'kubeconfig'),
        clock: systemClock,
        random: freshRandom(),
      },
      members: [{ name: 'n1', hosts: ['127.0.0.1'], serverUrl: 'https://127.0.0.1:1' }],
    })
    const paths = clusterPkiPaths(directory)
    const [leaf, root] = [paths.peer('n1').certificate, paths.peerCa.certificate].map((path) =>
      readFileSync(path, 'utf8'),
    )
    return { leaf: leaf ?? '', root: root ?? '' }
  })
  const [one, other] = made
  assert.ok(one !== undefined && other !== undefined)
  assert.ok(isIssuedBy(one.leaf, one.root))
  assert.ok(isIssuedBy(one.leaf, `${other.root}\n${one.root}`))
  assert.ok(isIssuedBy(`${one.leaf}\n${other.leaf}`, one.root))
  // The other authority has the same name and another key.
  assert.ok(!isIssuedBy(one.leaf, other.root))
  assert.ok(!isIssuedBy(`${other.leaf}\n${one.leaf}`, one.root))
  assert.ok(!isIssuedBy(one.leaf, 'nothing'))
  assert.ok(!isIssuedBy('nothing', one.root))
})
