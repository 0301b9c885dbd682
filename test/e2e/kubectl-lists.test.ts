/*
 * Goal: kubectl reads large collections in chunks and follows changes, and misses none.
 * Method: a real kubectl against three real processes that hold 1,500 objects, its requests read
 * from its own log. The long suite has 5,000.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { NoReply } from '../support/drivers/api-client.ts'
import type { ApiClient } from '../support/drivers/api-client.ts'
import { Kubectl } from '../support/drivers/kubectl.ts'
import { ProcessCluster } from '../support/drivers/process-cluster.ts'
import { everyVariant } from '../support/fixtures/variants.ts'
import { patienceMs, until } from '../support/tools/until.ts'

const kubectl = Kubectl.find()
/** A multiple of the length of a page. */
const many = everyVariant ? 5000 : 1500
const pageLength = 100
const path = '/api/v1/namespaces/many/configmaps'
const nameOf = (at: number): string => `item-${String(at).padStart(4, '0')}`

type Page = {
  readonly metadata: {
    readonly resourceVersion: string
    readonly continue?: string
    readonly remainingItemCount?: number
  }
  readonly items: readonly { readonly metadata: { readonly name: string } }[]
}

/** Retries until the object exists, because a busy machine may be slow. */
async function make(client: ApiClient, name: string): Promise<void> {
  let last = ''
  const endMs = performance.now() + patienceMs
  for (let attempt = 0; performance.now() < endMs; attempt++) {
    try {
      const { status, text } = await client.post(path, { metadata: { name, labels: { of: 'test' } } })
      if (status === 201 || (attempt > 0 && status === 409)) return
      last = text
      if (status < 500 && status !== 429) break
    } catch (cause) {
      if (!(cause instanceof NoReply)) throw cause
    }
    await sleep(500)
  }
  assert.fail(`${name} cannot be created: ${last}`)
}

void describe('kubectl and large collections', () => {
  let cluster: ProcessCluster

  const ok = async (...args: readonly string[]): Promise<string> => {
    const result = await kubectl.run(cluster.kubeconfig, args)
    assert.equal(result.code, 0, `kubectl ${args.join(' ')}\n${result.stderr}`)
    return result.stdout
  }

  before(async () => {
    cluster = await ProcessCluster.start({ members: 3 })
    const { client } = await cluster.leader()
    await client.post('/api/v1/namespaces', { metadata: { name: 'many' } })
    let next = 0
    const one = async (): Promise<void> => {
      while (next < many) await make(client, nameOf(next++))
    }
    try {
      await Promise.all(Array.from({ length: 32 }, one))
    } catch (cause) {
      // When this fails, no `after` hook runs.
      await cluster.remove()
      throw cause
    }
  })
  after(() => cluster.remove())

  void test(`spec 4.8.1: get --chunk-size=${pageLength} pages through ${many} objects, on every member`, async () => {
    const wanted = Array.from({ length: many }, (_, at) => `configmap/${nameOf(at)}`)
    for (const { name } of cluster.members) {
      const words = ['--context', name, '-n', 'many', 'get', 'cm', '-l', 'of=test', '-o', 'name']
      const paged = await kubectl.run(cluster.kubeconfig, [...words, `--chunk-size=${pageLength}`, '-v=6'])
      assert.equal(paged.code, 0, paged.stderr)
      assert.deepEqual(paged.stdout.trim().split('\n'), wanted)
      const requested = new Set(paged.stderr.match(/configmaps\?[^\s"]*limit=100[^\s"]*/g))
      const continued = [...requested].filter((url) => url.includes('continue='))
      // After the last full page the CA certificates of the namespace are left, which do not match.
      const pages = many / pageLength
      assert.deepEqual([requested.size, continued.length], [pages + 1, pages], `${pages + 1} pages`)
      assert.equal((await ok(...words, '--chunk-size=0')).trim().split('\n').length, many)
    }
    const table = (await ok('-n', 'many', 'get', 'cm', '-l', 'of=test', `--chunk-size=${pageLength}`))
      .trim()
      .split('\n')
    assert.deepEqual([table.length, table[0]?.split(/\s+/)[0]], [many + 1, 'NAME'])
  })

  void test('spec 4.8.1: get --raw with limit and continue gives one version, and a count of what is left until the last page', async () => {
    const names: string[] = []
    const versions = new Set<string>()
    let token = ''
    for (let at = 0; at === 0 || token !== ''; at++) {
      const { name } = cluster.members[at % 3] ?? assert.fail('there are three members')
      const url = `${path}?limit=${Math.floor(many / 2.5) - 1}${token === '' ? '' : `&continue=${encodeURIComponent(token)}`}`
      const page = JSON.parse(await ok('--context', name, 'get', '--raw', url)) as Page
      names.push(...page.items.map(({ metadata }) => metadata.name).filter((one) => one.startsWith('item-')))
      versions.add(page.metadata.resourceVersion)
      token = page.metadata.continue ?? ''
      // Between the pages something changes, which this list does not show.
      if (at === 0) await ok('-n', 'many', 'delete', 'cm', nameOf(many - 1))
      assert.equal(page.metadata.remainingItemCount !== undefined, token !== '')
    }
    assert.equal(versions.size, 1)
    assert.deepEqual(
      names,
      Array.from({ length: many }, (_, at) => nameOf(at)),
    )
    const wrong = await kubectl.run(cluster.kubeconfig, ['get', '--raw', `${path}?limit=5&continue=made-up`])
    assert.notEqual(wrong.code, 0)
    assert.match(wrong.stderr, /continue/)
  })

  void test('spec 6.1: get --watch shows existing objects and changes, --watch-only changes alone', async () => {
    const follow = (...words: readonly string[]) =>
      kubectl.follow(cluster.kubeconfig, [
        ...['--context', 'n2', '-n', 'default', 'get', 'cm', '--output-watch-events', '--no-headers'],
        ...words,
      ])
    const change = (at: string, ...words: readonly string[]): Promise<string> =>
      ok('--context', at, '-n', 'default', ...words)
    await change('n1', 'create', 'cm', 'early', '--from-literal=a=1')
    await change('n1', 'create', 'cm', 'begun')
    const watches = [follow('--watch'), follow('--watch-only')]
    const reported = (): string => watches.map((one) => one.reported()).join('\n\n')
    const seen = (at: number): readonly string[] =>
      (watches[at]?.lines ?? [])
        .map((line) => line.trim().split(/\s+/).slice(0, 2).join(' '))
        .filter((line) => /early|late/.test(line))
    try {
      // A watch has begun once it shows an event. The second one shows changes only, so objects are
      // changed until it does.
      let changes = 0
      await until(
        'both show something',
        async () => {
          await change('n1', 'label', 'cm', 'begun', '--overwrite', `changes=${changes++}`)
          return watches.every(({ lines }) => lines.some((line) => / begun /.test(line)))
        },
        reported,
        200,
      )
      await change('n3', 'create', 'cm', 'late', '--from-literal=a=1')
      await change('n1', 'label', 'cm', 'early', 'x=y')
      await change('n3', 'delete', 'cm', 'late')
      const comes = ['ADDED late', 'MODIFIED early', 'DELETED late']
      await until('both show all', () => seen(0).length >= 4 && seen(1).length >= 3, reported)
      assert.deepEqual(seen(0), ['ADDED early', ...comes])
      assert.deepEqual(seen(1), comes)
    } finally {
      for (const { child } of watches) child.kill('SIGTERM')
    }
  })
})
