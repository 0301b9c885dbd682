/*
 * Goal: a controller that runs as a service account, with a role of its own, goes on through a
 * failover and the renewal of its token; it loses its watch with its role, and goes on once it has
 * the role again.
 * Method: an informer of @kubernetes/client-node with a token file, against three real processes;
 * the old token is revoked once the file has the next one.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { CoreV1Api, KubeConfig, makeInformer } from '@kubernetes/client-node'
import type { User, V1ConfigMap } from '@kubernetes/client-node'
import { Kubectl } from '../support/drivers/kubectl.ts'
import { ProcessCluster } from '../support/drivers/process-cluster.ts'
import type { MemberProcess } from '../support/drivers/process-cluster.ts'
import { until } from '../support/tools/until.ts'

const kubectl = Kubectl.find()
const namespace = 'default'
const path = `/api/v1/namespaces/${namespace}/configmaps`

type Authenticator = Parameters<KubeConfig['addAuthenticator']>[0]

/** Reads the file for each request; the library itself reads it once a minute. */
class TokenFile implements Authenticator {
  readonly #path: string
  /** The token of the newest request. */
  newest = ''

  constructor(tokenPath: string) {
    this.#path = tokenPath
  }

  isAuthProvider(user: User): boolean {
    return user.name === 'robot'
  }

  applyAuthentication(_user: User, options: { headers?: Record<string, unknown> | object }): Promise<void> {
    const headers = (options.headers ??= {}) as Record<string, string>
    this.newest = readFileSync(this.#path, 'utf8')
    headers['Authorization'] = `Bearer ${this.newest}`
    return Promise.resolve()
  }
}

/** An informer that starts again with the next server when its own ends the watch or refuses it. */
class Robot {
  readonly cache = new Map<string, string>()
  /** The number of watches that failed. */
  breaks = 0
  readonly #informer: ReturnType<typeof makeInformer<V1ConfigMap>>
  #isStopping = false

  constructor(members: readonly MemberProcess[], ca: string, tokens: TokenFile) {
    const config = new KubeConfig()
    config.addAuthenticator(tokens)
    const caData = Buffer.from(ca).toString('base64')
    config.loadFromOptions({
      clusters: members.map(({ name, url }) => ({ name, server: url, caData, skipTLSVerify: false })),
      users: [{ name: 'robot', authProvider: { name: 'robot', config: {} } }],
      contexts: members.map(({ name }) => ({ name, cluster: name, user: 'robot' })),
      currentContext: members[0]?.name ?? '',
    })
    const core = config.makeApiClient(CoreV1Api)
    this.#informer = makeInformer(config, path, () => core.listNamespacedConfigMap({ namespace }))
    const keep = (object: V1ConfigMap): void => {
      this.cache.set(object.metadata?.name ?? '', object.metadata?.resourceVersion ?? '')
    }
    this.#informer.on('add', keep)
    this.#informer.on('update', keep)
    this.#informer.on('delete', (object) => void this.cache.delete(object.metadata?.name ?? ''))
    this.#informer.on('error', () => {
      if (this.#isStopping) return
      this.breaks++
      config.setCurrentContext(members[this.breaks % members.length]?.name ?? '')
      setTimeout(() => void this.#start(), 50)
    })
  }

  async #start(): Promise<void> {
    try {
      await this.#informer.start()
    } catch {
      if (!this.#isStopping) setTimeout(() => void this.#start(), 100)
    }
  }

  start(): Promise<void> {
    return this.#start()
  }

  stop(): Promise<void> {
    this.#isStopping = true
    return this.#informer.stop()
  }
}

void test('an informer runs as a service account through a failover and a token renewal, until it loses its role', async (t) => {
  const cluster = await ProcessCluster.start({ members: 3, domain: 'k8s.io' })
  t.after(() => cluster.remove())
  const scratch = mkdtempSync(join(tmpdir(), 'orch-robot-'))
  t.after(() => rmSync(scratch, { recursive: true, force: true }))
  const leader = await cluster.leader()
  const members = [leader, ...cluster.members.filter((member) => member !== leader)]
  // kubectl asks a member that is not killed.
  const context = `--context=${members[1]?.name ?? assert.fail('three members')}`
  const ok = (...args: readonly string[]): Promise<string> =>
    kubectl.ok(cluster.kubeconfig, [...args, context])
  await ok('create', 'serviceaccount', 'robot')
  await ok('create', 'role', 'reader', '--verb=get,list,watch', '--resource=configmaps')
  await ok('create', 'rolebinding', 'robot', '--role=reader', '--serviceaccount=default:robot')
  const tokenPath = join(scratch, 'token')
  /** Gives the robot a token that is valid as long as the Secret. */
  const renew = async (secret: string): Promise<void> => {
    await ok('create', 'secret', 'generic', secret)
    const bound = ['--bound-object-kind', 'Secret', '--bound-object-name', secret]
    writeFileSync(tokenPath, (await ok('create', 'token', 'robot', ...bound)).trim())
  }
  const write = (name: string, value: string): Promise<string> =>
    kubectl.ok(
      cluster.kubeconfig,
      ['apply', '-f', '-', context],
      JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { value } }),
    )
  const isCurrent = async (robot: Robot, name: string): Promise<boolean> => {
    const version = await ok('get', 'configmap', name, '-o', 'jsonpath={.metadata.resourceVersion}')
    return robot.cache.get(name) === version
  }

  await renew('first')
  const tokens = new TokenFile(tokenPath)
  const robot = new Robot(members, cluster.credentials.ca, tokens)
  t.after(() => robot.stop())
  await robot.start()
  await write('a', '1')
  await until('it sees a write', () => isCurrent(robot, 'a'))

  await leader.stop('SIGKILL')
  await cluster.leader(leader)
  await write('a', '2')
  await write('b', '1')
  await until('it sees writes after the failover', async () => {
    return (await isCurrent(robot, 'a')) && (await isCurrent(robot, 'b'))
  })
  leader.start()
  await leader.waitReady()
  assert.ok(robot.breaks > 0, 'its server was killed')

  const revoked = tokens.newest
  await renew('second')
  await ok('delete', 'secret', 'first')
  await until('the watch with the revoked token ends', () => tokens.newest !== revoked)
  await write('b', '2')
  await until('it sees writes with the next token', () => isCurrent(robot, 'b'))

  const afterRenewal = robot.breaks
  await ok('delete', 'rolebinding', 'robot')
  await until('its watch ends with its permission', () => robot.breaks > afterRenewal)
  await write('b', '3')
  assert.equal(await isCurrent(robot, 'b'), false)
  await ok('create', 'rolebinding', 'robot', '--role=reader', '--serviceaccount=default:robot')
  await until('it goes on with the permission', () => isCurrent(robot, 'b'))
})
