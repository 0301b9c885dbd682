/*
 * Goal: encryption at rest on real members: after a migration the bytes of a Secret are in no file,
 * keys rotate under load without a restart, and a missing key is named and harms nothing else.
 * Method: three processes; every file of their directories and a saved snapshot are searched for
 * random texts that Secrets have, and for one of a ConfigMap, which proves the search.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFileSync, readdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { ApiClient, Reply } from '../support/drivers/api-client.ts'
import { orchctl } from '../support/drivers/orchctl.ts'
import { ProcessCluster } from '../support/drivers/process-cluster.ts'
import type { MemberProcess } from '../support/drivers/process-cluster.ts'
import { until } from '../support/tools/until.ts'

const secrets = '/api/v1/namespaces/default/secrets'
const configMaps = '/api/v1/namespaces/default/configmaps'

function keyOf(kind: string, name: string, fill: number): string {
  return `{${kind}: {keys: [{name: ${name}, secret: ${Buffer.alloc(32, fill).toString('base64')}}]}}`
}

const one = keyOf('aesgcm', 'one', 1)
const two = keyOf('secretbox', 'two', 2)
const three = keyOf('aescbc', 'three', 3)

function fileOf(member: MemberProcess): string {
  return join(member.directory, 'encryption.yaml')
}

function configure(member: MemberProcess, ...providers: readonly string[]): void {
  const content = `{kind: EncryptionConfiguration, apiVersion: apiserver.config.k8s.io/v1, resources: [
    {resources: [secrets], providers: [${providers.join(', ')}]}]}`
  writeFileSync(`${fileOf(member)}.new`, content, { mode: 0o600 })
  renameSync(`${fileOf(member)}.new`, fileOf(member))
}

function flagsOf(member: MemberProcess): readonly string[] {
  return ['--encryption-provider-config', fileOf(member)]
}

function reloadsOf(member: MemberProcess): number {
  return member.currentLog().split('the encryption configuration changed: it is in use').length - 1
}

/** Changes the files of running members, and waits until they are in use. */
async function reconfigure(
  members: readonly MemberProcess[],
  ...providers: readonly string[]
): Promise<void> {
  const before = members.map(reloadsOf)
  for (const member of members) configure(member, ...providers)
  for (const [at, member] of members.entries()) {
    await until(
      `${member.name} uses the changed file`,
      () => reloadsOf(member) > (before[at] ?? 0),
      () => member.logTail(),
    )
  }
}

/** Length of the parts of a text that are searched: a random one is in no other text. */
const partLength = 16

/**
 * Returns whether a part of the text is in the content. The database compresses its files: there a
 * few characters of a text may refer to the same ones elsewhere.
 */
function isIn(content: Buffer, text: string): boolean {
  const starts = Array.from({ length: text.length - partLength + 1 }, (_, at) => at)
  return starts.some((at) => content.includes(text.slice(at, at + partLength)))
}

/** Returns which of the texts are in files of the directory, with the path of each file. */
function foundIn(directory: string, texts: readonly string[]): readonly string[] {
  const files = readdirSync(directory, { recursive: true, withFileTypes: true })
  return files
    .filter((entry) => entry.isFile())
    .flatMap((entry) => {
      const path = join(entry.parentPath, entry.name)
      const content = readFileSync(path)
      return texts.filter((text) => isIn(content, text)).map((text) => `${text} in ${path}`)
    })
}

async function created(client: ApiClient, path: string, name: string, text: string): Promise<void> {
  const reply = await client.post(path, secretOf(path, name, text))
  assert.equal(reply.status, 201, reply.text)
}

function secretOf(path: string, name: string, text: string): Readonly<Record<string, unknown>> {
  const data = path === secrets ? { stringData: { text } } : { data: { text } }
  return { metadata: { name }, ...data }
}

function textIn({ status, text }: Reply): string {
  assert.equal(status, 200, text)
  const { data } = JSON.parse(text) as { readonly data: { readonly text: string } }
  return Buffer.from(data.text, 'base64').toString()
}

async function metricsOf({ client }: MemberProcess): Promise<readonly string[]> {
  return (await client.get('/metrics')).text.split('\n').filter((line) => line.startsWith('orch_encryption'))
}

async function migrate(cluster: ProcessCluster): Promise<void> {
  const migrated = await orchctl('storage', 'migrate', 'secrets', '--kubeconfig', cluster.kubeconfig)
  assert.equal(migrated.code, 0, migrated.err)
}

function randomText(): string {
  return randomBytes(32).toString('hex')
}

/** Clients that write five Secrets at one member each, and keep what was acknowledged. */
class SecretWriters {
  readonly acknowledged = new Map<string, string>()
  readonly #runs: readonly Promise<void>[]
  #isStopped = false

  constructor(members: readonly MemberProcess[]) {
    this.#runs = members.map((member) => this.#run(member))
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await Promise.all(this.#runs)
  }

  async #run({ name, client }: MemberProcess): Promise<void> {
    for (let at = 0; !this.#isStopped; at++) {
      const [secret, text] = [`load-${name}-${at % 5}`, randomText()]
      if (at < 5) await created(client, secrets, secret, text)
      else {
        const reply = await client.put(`${secrets}/${secret}`, secretOf(secrets, secret, text))
        assert.equal(reply.status, 200, reply.text)
      }
      this.acknowledged.set(secret, text)
      assert.equal(textIn(await client.get(`${secrets}/${secret}`)), text)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
}

void test('Secrets are encrypted on three members, keys rotate under load, and a missing key is named', async (t) => {
  const cluster = await ProcessCluster.start({
    members: 3,
    config: {
      'initial-history-window': '1s',
      'initial-history-events-min': 0,
    },
  })
  t.after(() => cluster.remove())
  const { members } = cluster
  const [n1, n2, n3] = ['n1', 'n2', 'n3'].map((name) => cluster.member(name))
  assert.ok(n1 && n2 && n3)
  const texts = Array.from({ length: 5 }, randomText)
  const publicText = randomText()
  for (const [at, text] of texts.entries()) await created(n1.client, secrets, `s-${at}`, text)
  await created(n1.client, configMaps, 'public', publicText)
  const searched = texts.flatMap((text) => [text, Buffer.from(text).toString('base64')])
  for (const member of members) {
    await member.onDisk()
    const bare = texts.map((text) => Buffer.from(text).toString('base64'))
    assert.ok(foundIn(member.directory, bare).length >= bare.length, 'the search finds plain text')
  }

  await t.test('after a migration, the bytes of Secrets are in no file', async () => {
    for (const member of members) {
      configure(member, one, '{identity: {}}')
      assert.equal(await member.stop(), 0)
      member.start(flagsOf(member))
      await member.waitReady()
    }
    await migrate(cluster)
    for (const member of members) {
      await until(
        `the files of ${member.name} have no plain text`,
        async () => (await metricsOf(member)).includes('orch_encryption_plain_text_removed 1'),
        async () => (await metricsOf(member)).join('\n'),
        500,
      )
      await until(
        `no file of ${member.name} has a Secret`,
        () => foundIn(member.directory, searched).length === 0,
        () => `${foundIn(member.directory, searched).join('\n')}\n${member.logTail()}`,
        500,
      )
      assert.ok(foundIn(member.directory, [publicText]).length > 0, 'the search finds a ConfigMap')
      for (const [at, text] of texts.entries())
        assert.equal(textIn(await member.client.get(`${secrets}/s-${at}`)), text)
    }
    const path = join(cluster.directory, 'backup.snap')
    const saved = await orchctl('snapshot', 'save', path, '--kubeconfig', cluster.kubeconfig)
    assert.equal(saved.code, 0, saved.err)
    const content = readFileSync(path)
    assert.deepEqual(
      searched.filter((text) => isIn(content, text)),
      [],
    )
    assert.ok(isIn(content, publicText), 'the search finds a ConfigMap in the snapshot')
  })

  await t.test('keys are rotated without a restart while clients write, and nothing is lost', async () => {
    const pids = members.map(({ pid }) => pid)
    const writers = new SecretWriters(members)
    t.after(() => writers.stop())
    await reconfigure(members, one, two)
    await reconfigure(members, two, one)
    await migrate(cluster)
    for (const member of members) {
      await until(
        `no object of ${member.name} has the key one`,
        async () => !(await metricsOf(member)).some((line) => line.includes('key="one"')),
        async () => (await metricsOf(member)).join('\n'),
        200,
      )
    }
    await reconfigure(members, two)
    await writers.stop()
    assert.ok(writers.acknowledged.size > 0)
    for (const { client } of members) {
      const reply = await client.get(secrets)
      assert.equal(reply.status, 200, reply.text)
      type Listed = {
        readonly metadata: { readonly name: string }
        readonly data: { readonly text?: string }
      }
      const { items } = JSON.parse(reply.text) as { readonly items: readonly Listed[] }
      const byName = new Map(items.map(({ metadata, data }) => [metadata.name, data.text ?? '']))
      for (const [name, text] of writers.acknowledged)
        assert.equal(Buffer.from(byName.get(name) ?? '', 'base64').toString(), text)
      for (const [at, text] of texts.entries())
        assert.equal(Buffer.from(byName.get(`s-${at}`) ?? '', 'base64').toString(), text)
    }
    assert.deepEqual(
      members.map(({ pid }) => pid),
      pids,
    )
  })

  await t.test('a member without a key names it and serves the other resources', async () => {
    await reconfigure([n1, n2], three, two)
    await created(n1.client, secrets, 'with-three', 'a text')
    for (const path of [`${secrets}/with-three`, secrets]) {
      const { status, text } = await n3.client.get(path)
      assert.equal(status, 500, text)
      assert.match(
        text,
        /"kind":"Status".*aescbc key \\"three\\", which this member lacks: add it for secrets/,
      )
    }
    assert.equal((await n3.client.get(`${configMaps}/public`)).status, 200)
    assert.equal(textIn(await n3.client.get(`${secrets}/s-0`)), texts[0])
    await created(n3.client, configMaps, 'at-n3', 'a text')
    assert.match(n3.currentLog(), /aescbc key \\"three\\", which this member lacks/)
    await reconfigure([n3], two, three)
    assert.equal(textIn(await n3.client.get(`${secrets}/with-three`)), 'a text')
  })

  await t.test('a configuration that loses a key in use is refused, with the objects counted', async () => {
    const before = n3.currentLog().length
    configure(n3, two)
    await until('the change is refused', () => n3.currentLog().slice(before).includes('is refused'))
    assert.match(
      n3.currentLog().slice(before),
      /could not read 1 object of secrets with the aescbc key \\"three\\"/,
    )
    assert.equal(textIn(await n3.client.get(`${secrets}/with-three`)), 'a text')
    assert.equal(await n3.stop(), 0)
    for (const [flags, why] of [
      [
        flagsOf(n3),
        /lacks keys in use, so this member could not read 1 object of secrets with the aescbc key/,
      ],
      [[], /the flag is not set, so this member could not read .*of secrets with the secretbox key/],
    ] as const) {
      n3.start(flags)
      await until('it ends', () => !n3.running)
      assert.equal(await n3.stop(), 2)
      assert.match(n3.currentLog(), why)
    }
    configure(n3, two, three)
    n3.start(flagsOf(n3))
    await n3.waitReady()
    assert.equal(textIn(await n3.client.get(`${secrets}/with-three`)), 'a text')
  })
})
