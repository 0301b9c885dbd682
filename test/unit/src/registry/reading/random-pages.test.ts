/*
 * Goal: a list, in any pages and of any version, is exactly the state at its version, whatever is
 * written, trimmed and moved to disk between its pages. Method: random writes, lists and trims on
 * the state machine in memory, compared with a model that keeps all states. SEED repeats one run.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../../../base/random.ts'
import { textMember } from '../../../../../src/api/json.ts'
import type { JsonObject } from '../../../../../src/api/json.ts'
import { tinyLimits } from '../../../../support/fixtures/store-machines.ts'
import { thingKind } from '../../../../support/fixtures/thing-kind.ts'
import { Fixture, refused } from '../fixture.ts'
import type { Call, List } from '../fixture.ts'

const only = process.env['SEED']
const seeds = only === undefined ? Array.from({ length: 25 }, (_, at) => at + 1) : [Number(only)]
const steps = 220

type Labels = { readonly [key: string]: string }
type Known = {
  readonly namespace: string
  readonly name: string
  readonly labels: Labels
  readonly node: string
  readonly version: string
}
type State = { readonly revision: number; readonly objects: readonly Known[] }
type Choice = {
  readonly query: { readonly labelSelector?: string; readonly fieldSelector?: string }
  readonly holds: (one: Known) => boolean
}

const choices: readonly Choice[] = [
  { query: {}, holds: () => true },
  { query: {}, holds: () => true },
  { query: { labelSelector: 'l=0' }, holds: ({ labels }) => labels['l'] === '0' },
  { query: { labelSelector: 'l!=0' }, holds: ({ labels }) => labels['l'] !== '0' },
  { query: { labelSelector: 'l in (1,2)' }, holds: ({ labels }) => ['1', '2'].includes(labels['l'] ?? '') },
  { query: { labelSelector: 'l notin (1)' }, holds: ({ labels }) => labels['l'] !== '1' },
  { query: { labelSelector: '!l' }, holds: ({ labels }) => labels['l'] === undefined },
  { query: { labelSelector: 'l,l!=2' }, holds: ({ labels }) => ['0', '1'].includes(labels['l'] ?? '') },
  { query: { fieldSelector: 'metadata.name=c3' }, holds: ({ name }) => name === 'c3' },
  { query: { fieldSelector: 'metadata.name!=c3' }, holds: ({ name }) => name !== 'c3' },
  { query: { fieldSelector: 'metadata.name=c3,metadata.name=c4' }, holds: () => false },
  { query: { fieldSelector: 'metadata.name=a/c3' }, holds: () => false },
  { query: { fieldSelector: 'metadata.namespace=a' }, holds: ({ namespace }) => namespace === 'a' },
  { query: { fieldSelector: 'metadata.namespace!=a' }, holds: ({ namespace }) => namespace !== 'a' },
  {
    query: { fieldSelector: 'metadata.namespace=a-b,metadata.name=c1', labelSelector: 'l' },
    holds: ({ namespace, name, labels }) => namespace === 'a-b' && name === 'c1' && 'l' in labels,
  },
  { query: { fieldSelector: 'data.node=n1' }, holds: ({ node }) => node === 'n1' },
  { query: { fieldSelector: 'data.node=n2' }, holds: ({ node }) => node === 'n2' },
  { query: { fieldSelector: 'data.node=' }, holds: ({ node }) => node === '' },
  { query: { fieldSelector: 'data.node!=n1' }, holds: ({ node }) => node !== 'n1' },
  { query: { fieldSelector: 'data.zone=' }, holds: () => true },
  { query: { fieldSelector: 'data.zone=,data.node=n1' }, holds: ({ node }) => node === 'n1' },
  {
    query: { fieldSelector: 'data.node=n1,metadata.namespace!=a', labelSelector: 'l' },
    holds: ({ namespace, node, labels }) => namespace !== 'a' && node === 'n1' && 'l' in labels,
  },
]

/** One is a prefix of another, so that their objects are neighbours. */
const namespaces = ['a', 'a-b', 'default']

/** A list that has more pages. */
type Open = {
  readonly call: Call
  readonly choice: Choice
  readonly limit: number
  readonly revision: number
  readonly token: string
  /** Position of the last returned object. */
  readonly lastPlace: string
}

type AskedVersion = {
  readonly query: Record<string, string>
  /** The expected revision, or the oldest acceptable one; null: it is compacted. */
  readonly revision: number | null
  readonly isNow: boolean
}

class Run {
  readonly #api: Fixture
  readonly #random: SeededRandom
  readonly #states: State[] = []
  #open: Open[] = []
  #trimmed = 0
  readonly counts = { lists: 0, pages: 0, expired: 0, compacted: 0 }

  constructor(api: Fixture, random: SeededRandom) {
    this.#api = api
    this.#random = random
    this.#states.push({ revision: this.#revision, objects: [] })
  }

  async step(): Promise<void> {
    const draw = this.#random.below(100)
    if (draw < 45) await this.#write()
    else if (draw < 65) await this.#list()
    else if (draw < 95) await this.#nextPage()
    else if (draw < 97) await this.#trim()
    // Changes go to disk, and the past is read from there.
    else this.#api.clock.advance(1000)
  }

  get #revision(): number {
    return this.#api.store.view().revision
  }

  get #newest(): State {
    return this.#states.at(-1) ?? assert.fail('there is a state')
  }

  #at(revision: number): State {
    return this.#states.findLast((state) => state.revision <= revision) ?? assert.fail(`revision ${revision}`)
  }

  async #write(): Promise<void> {
    const random = this.#random
    const [namespace, name] = [random.pick(namespaces), `c${random.below(7)}`]
    const others = this.#newest.objects.filter((one) => one.namespace !== namespace || one.name !== name)
    const exists = others.length < this.#newest.objects.length
    const labels: Labels = random.chance(0.2) ? {} : { l: String(random.below(3)) }
    const node = random.pick(['', 'n1', 'n1', 'n2'])
    const data = { k: String(this.#revision), ...(node === '' ? {} : { node }) }
    const body = { metadata: { name, labels }, data }
    if (random.chance(0.1)) {
      await this.#api.create({ kind: 'Secret', body: { metadata: { name: `s${this.#revision}` } } })
      this.#states.push({ ...this.#newest, revision: this.#revision })
    } else if (exists && random.chance(0.4)) {
      await this.#api.delete({ kind: 'Thing', namespace, name })
      this.#states.push({ revision: this.#revision, objects: others })
    } else {
      const call = { kind: 'Thing', namespace, body }
      const made = await (exists ? this.#api.update({ ...call, name }) : this.#api.create(call))
      const known = { namespace, name, labels, node, version: made.object.metadata.resourceVersion }
      this.#states.push({ revision: this.#revision, objects: [...others, known] })
    }
  }

  async #trim(): Promise<void> {
    await this.#api.trim()
    this.#trimmed = this.#revision
  }

  #version(limit: number): AskedVersion {
    const random = this.#random
    const now = this.#revision
    const past = Math.max(this.#states[0]?.revision ?? 0, now - random.below(30))
    const kept = past >= this.#trimmed ? past : null
    const resourceVersion = String(past)
    switch (random.below(6)) {
      case 0:
        return { query: { resourceVersion: '0' }, revision: now, isNow: true }
      case 1:
        return { query: { resourceVersion }, revision: limit === 0 ? now : kept, isNow: limit === 0 }
      case 2:
        return {
          query: { resourceVersion, resourceVersionMatch: 'NotOlderThan' },
          revision: now,
          isNow: true,
        }
      case 3:
      case 4:
        return { query: { resourceVersion, resourceVersionMatch: 'Exact' }, revision: kept, isNow: false }
      default:
        return { query: {}, revision: now, isNow: true }
    }
  }

  async #list(): Promise<void> {
    const random = this.#random
    const limit = random.chance(0.3) ? 0 : 1 + random.below(5)
    const choice = random.pick(choices)
    const version = this.#version(limit)
    const limited: Record<string, string> = limit === 0 ? {} : { limit: String(limit) }
    const query = { ...choice.query, ...version.query, ...limited }
    const call = { kind: 'Thing', namespace: random.pick([null, null, ...namespaces]), query }
    this.counts.lists++
    if (version.revision === null) {
      this.counts.compacted++
      assert.equal((await refused(this.#api.list(call))).code, 410, JSON.stringify(call))
      return
    }
    const found = await this.#whileWriting(this.#api.list(call))
    const revision = Number(found.metadata.resourceVersion)
    // A list of the newest state has any revision during the request.
    if (version.isNow) assert.ok(revision >= version.revision && revision <= this.#revision)
    else assert.equal(revision, version.revision, JSON.stringify(call))
    this.#take({ call, choice, limit, revision, lastPlace: '' }, found)
  }

  /** Writes may happen before a list has ended. */
  async #whileWriting(list: Promise<List>): Promise<List> {
    list.catch(() => undefined)
    for (let writes = this.#random.below(4); writes > 1; writes--) await this.#write()
    return list
  }

  async #nextPage(): Promise<void> {
    const at = this.#random.below(this.#open.length + 1)
    const open = this.#open[at]
    if (open === undefined) return
    this.#open = this.#open.filter((one) => one !== open)
    this.counts.pages++
    // The limit may change between pages.
    const limit = this.#random.chance(0.3) ? this.#random.below(4) : open.limit
    const limited: Record<string, string> = limit === 0 ? {} : { limit: String(limit) }
    const query = { ...open.choice.query, ...limited, continue: open.token }
    const call = { ...open.call, query }
    if (open.revision >= this.#trimmed) {
      this.#take({ ...open, call, limit }, await this.#whileWriting(this.#api.list(call)))
      return
    }
    this.counts.expired++
    const seen = await refused(this.#api.list(call))
    assert.deepEqual([seen.code, seen.reason], [410, 'Expired'])
    const token = textMember((seen.status['metadata'] ?? {}) as JsonObject, 'continue')
    const instead = await this.#api.list({ ...call, query: { ...query, continue: token } })
    this.#take({ ...open, call, limit, revision: this.#revision }, instead)
  }

  /** Compares a page with the model, and keeps its continue token. */
  #take(requested: Omit<Open, 'token'>, { metadata, items }: List): void {
    const { call, choice, limit, revision, lastPlace } = requested
    const all = this.#at(revision)
      .objects.filter(({ namespace }) => call.namespace === null || namespace === call.namespace)
      .filter(choice.holds)
      .toSorted((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1))
      .filter((one) => placeOf(one) > lastPlace)
    const wanted = limit === 0 ? all : all.slice(0, limit)
    const given = `${JSON.stringify(call)} at ${revision}`
    const shown = items.map((item) => [textMember(item.metadata, 'namespace'), item.metadata.name])
    const names = wanted.map(({ namespace, name }) => [namespace, name])
    assert.deepEqual(shown, names, given)
    const versions = items.map((item) => item.metadata.resourceVersion)
    assert.deepEqual(
      versions,
      wanted.map(({ version }) => version),
      given,
    )
    assert.equal(metadata.resourceVersion, String(revision), given)
    const left = all.length - wanted.length
    const { continue: token, remainingItemCount } = metadata
    // Further objects may not match, which is found out only by reading them.
    const isPlain = Object.keys(choice.query).length === 0
    if (left > 0 || isPlain) assert.equal(token !== undefined, left > 0, given)
    assert.equal(remainingItemCount, isPlain && left > 0 ? left : undefined, given)
    if (token === undefined) return
    const last = wanted.at(-1)
    this.#open.push({ ...requested, token, lastPlace: last === undefined ? lastPlace : placeOf(last) })
  }
}

function placeOf({ namespace, name }: Known): string {
  return `${namespace}/${name}`
}

void test('spec 4.8.1, 4.8.3, 4.8.6: each list, in any pages, is the state at its version', async () => {
  const sum = { lists: 0, pages: 0, expired: 0, compacted: 0 }
  for (const seed of seeds) {
    const api = await Fixture.open({
      ...{ extra: [thingKind()], limits: { sliceObjectsMax: 3 }, storeLimits: tinyLimits },
    })
    try {
      for (const name of ['a', 'a-b']) await api.create({ kind: 'Namespace', body: { metadata: { name } } })
      const run = new Run(api, new SeededRandom(seed))
      for (let step = 0; step < steps; step++) await run.step()
      for (const name of ['lists', 'pages', 'expired', 'compacted'] as const) sum[name] += run.counts[name]
    } catch (cause) {
      const repeat = `SEED=${seed} node --test dist/test/unit/src/registry/reading/random-pages.test.js`
      throw new Error(`${repeat} repeats this: ${String(cause)}`, { cause })
    } finally {
      await api.close()
    }
  }
  console.log(`# ${JSON.stringify(sum)}`)
  const enough = sum.lists > 500 && sum.pages > 200 && sum.expired > 20 && sum.compacted > 20
  assert.ok(only !== undefined || enough, JSON.stringify(sum))
})
