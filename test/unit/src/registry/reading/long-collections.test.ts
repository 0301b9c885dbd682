/*
 * Goal: long lists and initial events yield between slices, and show one revision whatever is
 * written concurrently.
 * Method: tiny slices; between any two pieces something is created, changed or deleted.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { SeededRandom } from '../../../../../base/random.ts'
import { Fixture, parseEvents } from '../fixture.ts'
import type { Call, FixtureOptions, List } from '../fixture.ts'

const small = { sliceObjectsMax: 7, pieceBytes: 400, readTurnBytes: 1500 }

async function open(t: TestContext, options: FixtureOptions = {}): Promise<Fixture> {
  const api = await Fixture.open({ limits: small, ...options })
  t.after(() => api.close())
  return api
}

function label(at: number): { readonly labels: { readonly l: string } } {
  return { labels: { l: String(at % 3) } }
}

async function fill(api: Fixture, count: number): Promise<void> {
  for (let at = 0; at < count; at++)
    await api.configMap(`c${at}`, { metadata: { name: `c${at}`, ...label(at) } })
}

async function writeSomething(api: Fixture, random: SeededRandom): Promise<void> {
  const name = `c${random.below(70)}`
  const there = (await api.list({ query: { fieldSelector: `metadata.name=${name}` } })).items.length > 0
  const metadata = { name, ...label(random.below(3)) }
  if (!there) await api.configMap(name, { metadata })
  else if (random.chance(0.4)) await api.delete({ name })
  else await api.update({ name, body: { metadata, data: { k: String(random.below(1000)) } } })
}

/** Reads a list piece by piece. */
async function readSlowly(api: Fixture, call: Call, between: () => Promise<void>): Promise<List> {
  const answer = await api.registry.list(api.request(call))
  assert.ok(answer.kind === 'pieces')
  const pieces: Uint8Array[] = []
  for await (const piece of answer.pieces as AsyncIterable<Uint8Array>) {
    pieces.push(piece)
    await between()
  }
  return JSON.parse(Buffer.concat(pieces).toString()) as List
}

function versions(list: List): readonly string[] {
  return list.items.map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`)
}

/** Counts how often the verbs yield. */
function countTurns(api: Fixture): () => number {
  let turns = 0
  const soon = api.clock.soon.bind(api.clock)
  api.clock.soon = (action) => {
    turns++
    soon(action)
  }
  return () => turns
}

void test('spec 4.8.3: a long list shows the revision it names, whatever is written while it is sent', async (t) => {
  for (let seed = 1; seed <= 6; seed++) {
    const api = await open(t)
    const random = new SeededRandom(seed)
    await fill(api, 60)
    for (let round = 0; round < 4; round++) {
      const query = random.pick([
        {},
        { labelSelector: 'l=1' },
        { labelSelector: 'l', limit: '25' },
        { limit: '20' },
      ])
      const before = await api.list({ query })
      const during = await readSlowly(api, { query }, () => writeSomething(api, random))
      assert.deepEqual(versions(during), versions(before), `seed ${seed}, ${JSON.stringify(query)}`)
      assert.equal(during.metadata.resourceVersion, before.metadata.resourceVersion)
    }
  }
})

void test('the pages of a list show one revision, whatever is written between and within them', async (t) => {
  const api = await open(t)
  const random = new SeededRandom(77)
  await fill(api, 60)
  for (const selector of [{}, { labelSelector: 'l!=2' }]) {
    const before = await api.list({ query: selector })
    const found: string[] = []
    let left = before.items.length
    let token: string | undefined
    do {
      const more: Record<string, string> = token === undefined ? {} : { continue: token }
      const page = await readSlowly(api, { query: { ...selector, limit: '11', ...more } }, () =>
        writeSomething(api, random),
      )
      found.push(...versions(page))
      left -= page.items.length
      const shown = 'labelSelector' in selector || left === 0 ? undefined : left
      assert.equal(page.metadata.remainingItemCount, shown)
      token = page.metadata.continue
    } while (token !== undefined)
    assert.deepEqual(found, versions(before))
  }
})

void test('a list that is read for longer than the history window fails instead of mixing revisions', async (t) => {
  const api = await open(t)
  await fill(api, 60)
  const reading = readSlowly(api, {}, async () => {
    await api.configMap(`late${api.store.view().revision}`)
    await api.trim()
  })
  await assert.rejects(reading, { code: 'compacted' })
})

void test('the initial events of a watch are sorted in slices, and followed by concurrent writes', async (t) => {
  const api = await open(t)
  const random = new SeededRandom(5)
  await fill(api, 60)
  for (let at = 0; at < 60; at++) await writeSomething(api, random)
  const expected = await api.list({})
  const turns = countTurns(api)
  const opening = api.watch({})
  await api.configMap('a-late-one')
  const events = await opening
  assert.ok(turns() >= Math.floor(expected.items.length / small.sliceObjectsMax))
  const reported = await events.now()
  const revisions = reported.map(({ object }) => Number(object.metadata.resourceVersion))
  assert.deepEqual(
    revisions,
    revisions.toSorted((a, b) => a - b),
  )
  assert.deepEqual(
    reported
      .slice(0, -1)
      .map(({ object }) => `${object.metadata.name} ${object.metadata.resourceVersion}`)
      .toSorted(),
    [...versions(expected)].toSorted(),
  )
  assert.equal(reported.at(-1)?.object.metadata.name, 'a-late-one')
  events.stream.close()
})

void test('a client that reads initial events for longer than the history window gets an error', async (t) => {
  const api = await open(t)
  await fill(api, 30)
  const events = await api.watch({})
  const first = await events.stream.next()
  assert.ok(first !== null && parseEvents(first).length > 0)
  await api.configMap('late')
  await api.trim()
  const last = await events.stream.next()
  assert.ok(last !== null)
  assert.deepEqual(
    parseEvents(last).map(({ type, object }) => [type, object['code'], object['reason']]),
    [['ERROR', 410, 'Expired']],
  )
  assert.equal(await events.stream.next(), null)
})

void test('a selector yields after a bounded number of parsed bytes', async (t) => {
  const kind = 'Secret'
  const api = await open(t)
  const data = { big: Buffer.alloc(600, 'x').toString('base64') }
  for (let at = 0; at < 20; at++) {
    const type = at % 4 === 0 ? 'orch.io/wanted' : 'Opaque'
    await api.create({ kind, body: { metadata: { name: `s${at}` }, type, data } })
  }
  const query = { fieldSelector: 'type=orch.io/wanted' }
  const turns = countTurns(api)
  assert.equal((await api.list({ kind, query })).items.length, 5)
  assert.ok(turns() >= 5, `${turns()} turns for 20 kB`)
  const { resourceVersion } = (await api.list({ kind, query })).metadata
  const events = await api.watch({ kind, query: { ...query, resourceVersion } })
  for (let at = 0; at < 20; at++) {
    const patch = { body: { data: { more: Buffer.from(String(at)).toString('base64') } } }
    await api.patch({ kind, name: `s${at}`, ...patch })
  }
  let reported = 0
  for (let calls = 0; reported < 5; calls++) {
    assert.ok(calls < 100, 'it comes to an end')
    const piece = await events.stream.next()
    if (piece === null || piece.length === 0) await events.more()
    else reported += parseEvents(piece).length
  }
  assert.equal(reported, 5)
  events.stream.close()
})
