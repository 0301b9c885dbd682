/*
 * Goal: members share their signing keys without files. After a rotation all of them sign with the
 * new key; a revoked key stops working everywhere; a failover and a restart keep the keys, an added
 * member receives them, and a removed one is left out. The file that opens them is the only one in
 * the data directory with a private key, and readable by its owner only.
 * Method: real processes, orchctl and kubectl.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { isRecord } from '../../base/record.ts'
import { ApiClient } from '../support/drivers/api-client.ts'
import { Kubectl } from '../support/drivers/kubectl.ts'
import { OrchctlCluster } from '../support/drivers/orchctl-cluster.ts'
import { ProcessCluster } from '../support/drivers/process-cluster.ts'
import { orchctlProgram } from '../support/drivers/programs.ts'
import { until } from '../support/tools/until.ts'

const kubectl = Kubectl.find()
const run = promisify(execFile)

type Key = { readonly id: string; readonly use: string; readonly members: number }

/** Parses the output of `orchctl keys ... -o json`. */
function keysIn(output: string): readonly Key[] {
  const parsed: unknown = JSON.parse(output)
  assert.ok(isRecord(parsed) && Array.isArray(parsed['keys']))
  return parsed['keys'].filter(isRecord).map(({ id, use, members }) => {
    return { id: String(id), use: String(use), members: Array.isArray(members) ? members.length : 0 }
  })
}

function filesWithPrivateKeys(directory: string): readonly string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => readFileSync(path).includes('PRIVATE KEY'))
}

function keyOf(token: string): string {
  const [header = ''] = token.split('.')
  return (JSON.parse(Buffer.from(header, 'base64url').toString()) as { readonly kid: string }).kid
}

void describe('signing keys of three members', () => {
  let cluster: ProcessCluster

  before(async () => {
    cluster = await ProcessCluster.start({ members: 3, domain: 'k8s.io' })
    await kubectl.ok(cluster.kubeconfig, ['create', 'serviceaccount', 'robot'])
  })
  after(() => cluster.remove())

  async function keys(...args: readonly string[]): Promise<readonly Key[]> {
    const words = [orchctlProgram, 'keys', ...args, '--kubeconfig', cluster.kubeconfig, '-o', 'json']
    return keysIn((await run(process.execPath, words)).stdout)
  }

  /** Returns a token that the member issued. */
  async function tokenFrom({ client }: { readonly client: ApiClient }): Promise<string> {
    const path = '/api/v1/namespaces/default/serviceaccounts/robot/token'
    const reply = await client.post(path, { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest' })
    assert.equal(reply.status, 201, reply.text)
    return (JSON.parse(reply.text) as { readonly status: { readonly token: string } }).status.token
  }

  async function statuses(token: string): Promise<readonly number[]> {
    const { ca } = cluster.credentials
    const running = cluster.members.filter((member) => member.running)
    return Promise.all(
      running.map(async ({ client }) => {
        const caller = new ApiClient(client.url.href, { ca, token })
        try {
          return (await caller.call('GET', '/api')).status
        } finally {
          caller.close()
        }
      }),
    )
  }

  async function everywhere(token: string, status: number): Promise<void> {
    let seen: readonly number[] = []
    const areAll = async (): Promise<boolean> => {
      seen = await statuses(token)
      return seen.every((one) => one === status)
    }
    await until(`every member answers with ${status}`, areAll, () => `the last answers: ${seen.join()}`)
  }

  void test('all members sign with one key, which is stored for all of them', async () => {
    const tokens = await Promise.all(cluster.members.map(tokenFrom))
    const [key] = await keys('list')
    for (const token of tokens) assert.equal(keyOf(token), key?.id)
    await until('the key is sealed for all members', async () => (await keys('list'))[0]?.members === 3)
    for (const { directory } of cluster.members) {
      const path = join(directory, 'data', 'sealing.key')
      assert.equal(statSync(path).mode & 0o777, 0o600)
      assert.deepEqual(filesWithPrivateKeys(join(directory, 'data')), [path])
    }
  })

  void test('after a rotation every member signs with the new key, and tokens of the previous key stay valid', async () => {
    const [member] = cluster.members
    assert.ok(member)
    const token = await tokenFrom(member)
    const [, next] = await keys('rotate')
    assert.equal(next?.use, 'next')
    await until('the new key signs on all members', async () => {
      const tokens = await Promise.all(cluster.members.map(tokenFrom))
      return tokens.every((one) => keyOf(one) === next.id)
    })
    await everywhere(token, 200)
    await everywhere(await tokenFrom(member), 200)
  })

  void test('a revoked key stops working on every member, and open watches of its tokens end', async () => {
    const [member, other] = cluster.members
    assert.ok(member && other)
    const token = await tokenFrom(member)
    const binding = ['--clusterrole=view', '--serviceaccount=default:robot']
    await kubectl.ok(cluster.kubeconfig, ['create', 'clusterrolebinding', 'robot', ...binding])
    const { ca } = cluster.credentials
    const watcher = new ApiClient(other.client.url.href, { ca, token })
    const list = '/api/v1/namespaces/default/configmaps'
    await until('the account may watch', async () => (await watcher.get(list)).status === 200)
    const watch = watcher.call('GET', `${list}?watch=1`)
    const [secret] = [{ type: 'kubernetes.io/service-account-token', account: 'robot' }]
    const object = {
      ...{ apiVersion: 'v1', kind: 'Secret', type: secret.type },
      metadata: { name: 'kept', annotations: { 'kubernetes.io/service-account.name': secret.account } },
    }
    await kubectl.ok(cluster.kubeconfig, ['apply', '-f', '-'], JSON.stringify(object))
    const stored = () =>
      kubectl.ok(cluster.kubeconfig, ['get', 'secret', 'kept', '-o', 'jsonpath={.data.token}'])
    await until('the Secret has a token', async () => (await stored()) !== '')
    const kept = await stored()
    await keys('revoke', keyOf(token))
    await everywhere(token, 401)
    await watch
    watcher.close()
    await until('the Secret has a token of another key', async () => (await stored()) !== kept)
    await everywhere(Buffer.from(await stored(), 'base64').toString(), 200)
    await everywhere(await tokenFrom(member), 200)
  })

  void test('a new leader and a restarted member keep signing with the same key', async () => {
    const leader = await cluster.leader()
    const token = await tokenFrom(leader)
    await leader.stop('SIGKILL')
    const next = await cluster.leader(leader)
    assert.equal(keyOf(await tokenFrom(next)), keyOf(token))
    await everywhere(token, 200)
    leader.start()
    await leader.waitReady()
    assert.equal(keyOf(await tokenFrom(leader)), keyOf(token))
    await everywhere(token, 200)
  })
})

void test('the key is sealed for an added member, and no longer for a removed one', async (t) => {
  const cluster = await OrchctlCluster.up(t, 1)
  const keys = (...args: readonly string[]): readonly Key[] => {
    const { code, out, err } = cluster.run('keys', ...args, '-o', 'json')
    assert.equal(code, 0, err)
    return keysIn(out)
  }
  await until('there is a key', () => keys('list').length === 1)
  const [first] = keys('list')
  assert.ok(first)
  assert.equal(cluster.run('cluster', 'add').code, 0)
  await until('the key is sealed for both members', () => keys('list')[0]?.members === 2)
  assert.deepEqual(keys('list')[0]?.id, first.id)
  const removed = cluster.run('member', 'remove', 'n2')
  assert.equal(removed.code, 0, removed.err)
  await until('the key is sealed for one member', () => keys('list')[0]?.members === 1)
  const unknown = cluster.run('keys', 'revoke', 'nonsense')
  assert.equal(unknown.code, 1)
  assert.match(unknown.err, /there is no key nonsense/)
  assert.match(cluster.run('keys', 'set-rotation', '1h').err, /from 24h to 87600h/)
  assert.match(cluster.run('keys', 'set-rotation', '720h').out, /a new key every 720h|a new key every 30d/)
  assert.match(cluster.run('keys', 'list').out, /signing/)
})
