/*
 * Goal: the context of a removed server leaves a kubeconfig, and nothing else does.
 * Method: files with what orchctl writes and what a user may have added or changed.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse, stringify } from 'yaml'
import { ensureKubeconfig, forgetServer } from '../../../../src/pki/kubeconfig.ts'

type Entry = { readonly name: string; readonly [field: string]: unknown }
type File = {
  clusters: Entry[]
  contexts: Entry[]
  users: Entry[]
  'current-context': string
}

const authorityPem = 'authority of this cluster'
const names = (entries: readonly Entry[]): readonly string[] => entries.map(({ name }) => name)

/** @param change the changes of a user to n1, n2 and n3 */
function withFile(change: (file: File) => void, body: (path: string, read: () => File) => void): void {
  const folder = mkdtempSync(join(tmpdir(), 'kubeconfig-'))
  const path = join(folder, 'config')
  const read = (): File => parse(readFileSync(path, 'utf8')) as File
  try {
    const servers = ['n1', 'n2', 'n3'].map((name) => ({ name, url: `https://${name}:6443` }))
    ensureKubeconfig(path, { servers, authorityPem, certificatePem: 'certificate', keyPem: 'key' })
    const file = read()
    change(file)
    writeFileSync(path, stringify(file))
    body(path, read)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const elsewhere: Entry = {
  name: 'elsewhere',
  cluster: { server: 'https://prod:6443', 'certificate-authority-data': 'b3RoZXI=' },
}

void test('only the context and the server of the member are removed', () => {
  withFile(
    () => undefined,
    (path, read) => {
      assert.equal(forgetServer(path, 'n3', authorityPem), true)
      assert.deepEqual(
        [names(read().contexts), names(read().clusters)],
        [
          ['n1', 'n2'],
          ['n1', 'n2'],
        ],
      )
      assert.deepEqual([names(read().users), read()['current-context']], [['admin'], 'n1'])
      assert.equal(statSync(path).mode & 0o777, 0o600)
      assert.equal(forgetServer(path, 'n3', authorityPem), false)
    },
  )
})

void test('entries of a kubeconfig that a user added or changed stay', () => {
  const added: readonly ((file: File) => void)[] = [
    (file) => file.contexts.push({ name: 'mine', context: { cluster: 'n3', user: 'admin' } }),
    (file) => {
      file.clusters.unshift(elsewhere)
      file.contexts.unshift({ name: 'prod', context: { cluster: 'elsewhere', user: 'admin' } })
    },
  ]
  for (const change of added) {
    withFile(change, (path, read) => {
      const before = names(read().contexts)
      assert.equal(forgetServer(path, 'n3', authorityPem), true)
      const after = read()
      assert.deepEqual(
        names(after.contexts),
        before.filter((name) => name !== 'n3'),
      )
      for (const entry of after.contexts) {
        const { cluster } = entry['context'] as { readonly cluster: string }
        assert.ok(names(after.clusters).includes(cluster), `${entry.name} has its server`)
      }
    })
  }
  const own: Entry = { name: 'n3', context: { cluster: 'n3', user: 'admin', namespace: 'games' } }
  withFile(
    (file) => file.contexts.splice(2, 1, own),
    (path, read) => {
      assert.equal(forgetServer(path, 'n3', authorityPem), false)
      assert.deepEqual(names(read().contexts), ['n1', 'n2', 'n3'])
    },
  )
})

void test('a server of another cluster stays, although it has the name of the removed member', () => {
  withFile(
    () => undefined,
    (path, read) => {
      assert.equal(forgetServer(path, 'n3', 'another authority'), false)
      assert.deepEqual(names(read().contexts), ['n1', 'n2', 'n3'])
    },
  )
})

void test('if the removed context was the current one, another one of the same cluster becomes current, never one of another cluster', () => {
  const prod = (file: File): void => {
    file.clusters.unshift(elsewhere)
    file.contexts.unshift({ name: 'prod', context: { cluster: 'elsewhere', user: 'admin' } })
    file['current-context'] = 'n3'
  }
  withFile(prod, (path, read) => {
    forgetServer(path, 'n3', authorityPem)
    assert.equal(read()['current-context'], 'n1')
  })
  const alone = (file: File): void => {
    prod(file)
    file.contexts = file.contexts.filter(({ name }) => name === 'prod' || name === 'n3')
  }
  withFile(alone, (path, read) => {
    forgetServer(path, 'n3', authorityPem)
    assert.equal(read()['current-context'], '')
  })
})
