/*
 * Goal: a list plus the watch from its version always equals a later list: for any selector,
 * resumed anywhere, with no event missed, repeated or out of order.
 * Method: random writes on the state machine in memory; watchers that apply the events.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../../../base/random.ts'
import { Fixture } from '../fixture.ts'
import type { Events } from '../fixture.ts'

type Watcher = {
  readonly query: { readonly [name: string]: string }
  readonly versions: Map<string, string>
  version: number
  events: Events
}

const selectors: readonly { readonly [name: string]: string }[] = [
  {},
  { labelSelector: 'l=0' },
  { labelSelector: 'l!=0' },
  { labelSelector: 'l in (1,2)' },
  { fieldSelector: 'metadata.name=c3' },
  { fieldSelector: 'metadata.name!=c3', labelSelector: 'l' },
]

async function open(api: Fixture, query: Watcher['query']): Promise<Watcher> {
  const list = await api.list({ query })
  const versions = new Map(list.items.map(({ metadata }) => [metadata.name, metadata.resourceVersion]))
  const { resourceVersion } = list.metadata
  const events = await api.watch({ query: { ...query, resourceVersion } })
  return { query, versions, version: Number(resourceVersion), events }
}

async function follow(watcher: Watcher, given: string): Promise<void> {
  for (const { type, object } of await watcher.events.now()) {
    const { name, resourceVersion } = object.metadata
    assert.ok(Number(resourceVersion) > watcher.version, `${given}: versions ascend`)
    watcher.version = Number(resourceVersion)
    const known = watcher.versions.has(name)
    assert.equal(
      known,
      type !== 'ADDED',
      `${given}: ${type} of ${name}, which was ${known ? '' : 'not '}known`,
    )
    if (type === 'DELETED') watcher.versions.delete(name)
    else watcher.versions.set(name, resourceVersion)
  }
}

async function writeSomething(api: Fixture, random: SeededRandom): Promise<void> {
  const name = `c${random.below(8)}`
  const exists = (await api.list({ query: { fieldSelector: `metadata.name=${name}` } })).items.length > 0
  const labels = random.chance(0.2) ? {} : { l: String(random.below(3)) }
  const body = { metadata: { name, labels }, data: { k: String(random.below(3)) } }
  if (!exists) await api.create({ body })
  else if (random.chance(0.3)) await api.delete({ name })
  else await api.update({ name, body })
}

void test('a list plus the events of a watch from its version equals a later list', async (t) => {
  const seed = 90210
  const random = new SeededRandom(seed)
  const api = await Fixture.open({ limits: { watchEventsPerPull: 3, pieceBytes: 600 } })
  t.after(() => api.close())
  const watchers = await Promise.all(selectors.map((query) => open(api, query)))
  for (let round = 0; round < 300; round++) {
    const given = `seed ${seed}, round ${round}`
    await writeSomething(api, random)
    const watcher = random.pick(watchers)
    await follow(watcher, given)
    if (random.chance(0.1)) {
      watcher.events.stream.close()
      const query = { ...watcher.query, resourceVersion: String(watcher.version) }
      watcher.events = await api.watch({ query })
    }
    if (round % 20 !== 19) continue
    for (const each of watchers) {
      await follow(each, given)
      const { items } = await api.list({ query: each.query })
      const wanted = items.map(({ metadata }) => [metadata.name, metadata.resourceVersion] as const)
      const shown = [...each.versions].sort(([a], [b]) => (a < b ? -1 : 1))
      assert.deepEqual(shown, wanted, `${given}: ${JSON.stringify(each.query)}`)
    }
  }
  for (const { events } of watchers) events.stream.close()
})
