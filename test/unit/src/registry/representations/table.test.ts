/*
 * Goal: a table of many or large objects does not block the event loop, and its rows have the cells
 * of the kind's columns at the time of reading.
 * Method: pieces and rows of stored objects, with a clock that counts turns.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { namesOf } from '../../../../../src/api/metadata/names.ts'
import type { ResourceDefinition } from '../../../../../src/registry/kinds/definition.ts'
import { defaultRegistryLimits } from '../../../../../src/registry/shared/registry-limits.ts'
import { rowOf, rowText } from '../../../../../src/registry/representations/table.ts'
import { jsonTable, textPieces } from '../../../../../src/registry/reading/text-pieces.ts'
import { configMapDefinition } from '../../../../../src/resources/config-map.ts'
import type { StoredObject } from '../../../../../src/store/object-store.ts'
import { allConfigMaps } from '../../../../../fixtures/store-kit.ts'
import { Fixture, ManualClock } from '../fixture.ts'

const definition = configMapDefinition(namesOf('orch.io'))
const shape = { apiVersion: 'meta.orch.io/v1', includeObject: 'None' } as const

class TurnClock extends ManualClock {
  turns = 0

  override soon(action: () => void): void {
    this.turns++
    super.soon(action)
  }
}

async function stored(
  fixture: Fixture,
  names: readonly string[],
  bytes: number,
): Promise<readonly StoredObject[]> {
  for (const name of names) await fixture.configMap(name, { data: { text: 'x'.repeat(bytes) } })
  const { store } = fixture
  return store.view().list(allConfigMaps, { after: null, limit: null }).objects
}

void test('a table yields after a bounded number of bytes, and its pieces have about the same size', async (t) => {
  const fixture = await Fixture.open()
  t.after(() => fixture.close())
  const names = Array.from({ length: 40 }, (_, at) => `m${at}`)
  const items = await stored(fixture, names, 10_000)
  const clock = new TurnClock()
  const limits = { ...defaultRegistryLimits, readTurnBytes: 100_000, pieceBytes: 200 }
  const pieces: string[] = []
  const table = jsonTable({ definition, shape, nowMs: () => clock.wallMs() }, { resourceVersion: '1' })
  for await (const piece of textPieces(table, [items], { clock, limits })) {
    pieces.push(Buffer.from(piece).toString())
  }
  assert.ok(clock.turns >= 3 && clock.turns <= 4, `${clock.turns} turns for 400 kB`)
  assert.ok(pieces.length > 5 && pieces.slice(1).every((piece) => piece.length < 300))
  const { rows } = JSON.parse(pieces.join('')) as { rows: readonly { cells: readonly unknown[] }[] }
  assert.deepEqual(rows.map(({ cells }) => cells[0]).toSorted(), names.toSorted())
})

void test('slow rows yield, in lists and in watches', async (t) => {
  const fixture = await Fixture.open({ limits: { readTurnMs: 10 } })
  t.after(() => fixture.close())
  const names = Array.from({ length: 20 }, (_, at) => `m${at}`)
  const items = await stored(fixture, names, 10)
  const clock = new TurnClock()
  /** Each row takes 4 ms: it yields after every third. */
  const slow = (of: ManualClock): ResourceDefinition => {
    const cell = (): string => {
      of.advance(4)
      return ''
    }
    return { ...definition, columns: [{ name: 'Slow', type: 'string', description: 'x', cell }] }
  }
  const table = jsonTable({ definition: slow(clock), shape, nowMs: () => 0 }, {})
  const limits = { ...defaultRegistryLimits, readTurnMs: 10 }
  for await (const piece of textPieces(table, [items], { clock, limits })) assert.ok(piece.length > 0)
  assert.equal(clock.turns, 6)
  let turns = 0
  const soon = fixture.clock.soon.bind(fixture.clock)
  fixture.clock.soon = (action) => {
    turns++
    soon(action)
  }
  for (const query of [{}, { resourceVersion: '1' }]) {
    turns = 0
    const request = { ...fixture.request({ query }), definition: slow(fixture.clock) }
    const representation = { as: 'table', encoding: 'json', shape } as const
    const answer = await fixture.registry.watch({ ...request, representation })
    assert.ok(answer.kind === 'watch')
    const sizes: number[] = []
    while (sum(sizes) < names.length) {
      const piece = (await answer.stream.next()) ?? assert.fail('it goes on')
      sizes.push(Buffer.from(piece).toString().split('\n').length - 1)
    }
    answer.stream.close()
    assert.deepEqual(sizes, [3, 3, 3, 3, 3, 3, 2])
    assert.ok(turns >= 6, `${turns} turns`)
  }
})

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, one) => all + one, 0)
}

void test('a row is cached without its age, which is computed when it is read', async (t) => {
  const fixture = await Fixture.open()
  t.after(() => fixture.close())
  const [object] = await stored(fixture, ['a'], 1)
  const row = rowOf(definition, shape, object?.bytes ?? assert.fail('it is stored'))
  const now = fixture.clock.wallMs()
  assert.equal(rowText(row, now + 1000), '{"cells":["a",1,"1s"],"object":null}')
  assert.equal(rowText(row, now + 3 * 60 * 60_000), '{"cells":["a",1,"3h"],"object":null}')
  const nameless = Buffer.from('{"kind":"ConfigMap","apiVersion":"v1","metadata":{"creationTimestamp":null}}')
  assert.equal(rowText(rowOf(definition, shape, nameless), now), '{"cells":["",0,"<unknown>"],"object":null}')
})

void test('spec 2.12: a kind without columns of its own has the default ones', async (t) => {
  const fixture = await Fixture.open()
  t.after(() => fixture.close())
  const { object } = await fixture.configMap('a')
  const { columns, ...plain } = definition
  assert.notEqual(columns?.length, 2)
  const request = { ...fixture.request({ name: 'a' }), definition: plain }
  const answer = await fixture.registry.get({
    ...request,
    representation: { as: 'table', encoding: 'json', shape },
  })
  assert.ok(answer.kind === 'document')
  const table = JSON.parse(Buffer.from(answer.bytes).toString()) as {
    readonly columnDefinitions: readonly { readonly name: string; readonly type: string }[]
    readonly rows: readonly { readonly cells: readonly unknown[] }[]
  }
  assert.deepEqual(
    table.columnDefinitions.map(({ name, type }) => [name, type]),
    [
      ['Name', 'string'],
      ['Created At', 'date'],
    ],
  )
  assert.deepEqual(table.rows[0]?.cells, ['a', object.metadata.creationTimestamp])
})
