/*
 * Goal: the two groups of events are two views of one store, over HTTP, in every encoding: an
 * object written through one can be read, listed, watched and deleted through the other, by its
 * names there.
 * Method: the shipped server; each step in the life of an object uses the other group, and watches
 * of both groups see all steps.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { objectMember, objectsMember, textMember } from '../../src/api/json.ts'
import type { JsonObject } from '../../src/api/json.ts'
import { namesOf } from '../../src/api/metadata/names.ts'
import { definitionsFor } from '../../src/resources/index.ts'
import { FullObjects } from '../support/generators/full-object.ts'
import { KindClient, encodings } from '../support/drivers/kind-client.ts'
import { nameOf } from '../support/fixtures/kind-path.ts'
import { SpecServer } from '../support/fixtures/spec-server.ts'

/** Corresponding field names: in the core group, in the events group. */
const pairs = [
  ['involvedObject', 'regarding'],
  ['message', 'note'],
  ['source', 'deprecatedSource'],
  ['reportingComponent', 'reportingController'],
  ...['reportingInstance', 'reason', 'action', 'type', 'eventTime', 'related', 'series'].map(
    (name) => [name, name] as const,
  ),
] as const

function sameEvent(core: JsonObject, grouped: JsonObject, what: string): void {
  assert.deepEqual(core['metadata'], grouped['metadata'], what)
  for (const [inCore, inGroup] of pairs)
    assert.deepEqual(core[inCore], grouped[inGroup], `${what}: ${inGroup}`)
}

for (const domain of ['orch.io', 'k8s.io'] as const) {
  void test(`an event is written alternately through both groups in every encoding, ${domain}`, async (t) => {
    const api = await SpecServer.start(t, { domain })
    const names = namesOf(domain)
    const events = definitionsFor(names).filter(({ kind }) => kind === 'Event')
    const [core, grouped] = ['v1', `${names.group('events')}/v1`].map((wanted) => {
      const found = events.find(
        ({ group, version }) => (group === '' ? version : `${group}/${version}`) === wanted,
      )
      return new KindClient(api, names, found ?? assert.fail(wanted))
    }) as [KindClient, KindClient]
    const maker = new FullObjects(names, 5)
    for (const [turn, encoding] of encodings.entries()) {
      const from = await core.revision()
      const [writer, reader] = turn % 2 === 0 ? [grouped, core] : [core, grouped]
      const sent = withoutHolders(maker.object(grouped.definition, 0))
      const name = nameOf(sent)
      const given = writer === grouped ? sent : { ...inCore(sent), apiVersion: 'v1' }
      const by = { body: encoding, accept: encoding, code: 201 } as const
      await writer.send('POST', writer.collection, given, by)
      const [one, two] = [core, grouped].map((client) => `${client.collection}/${name}`) as [string, string]
      for (const other of encodings) {
        sameEvent(await core.get(one, other), await grouped.get(two, other), `${encoding}, ${other}`)
      }
      // A client of the other group updates the event.
      const path = reader === core ? one : two
      const before = await reader.get(path, encoding)
      const series = { count: 7, lastObservedTime: '2026-01-02T03:04:05.000006Z' }
      await reader.send('PUT', path, { ...before, series }, { ...by, code: 200 })
      const after = await grouped.get(two, encoding)
      assert.deepEqual(after['series'], series)
      sameEvent(await core.get(one, encoding), after, 'once changed')
      const query = `?fieldSelector=metadata.name%3D${name}`
      for (const client of [core, grouped]) {
        const items = objectsMember(await client.list(query, encoding), 'items')
        assert.equal(items.length, 1)
        assert.deepEqual(objectMember(items[0] ?? {}, 'series'), series)
      }
      const gone = await api.ask('DELETE', reader === core ? two : one)
      assert.deepEqual([gone.status, gone.doc.kind], [200, 'Status'])
      await checkSameEvents([core, grouped], `${query}&watch=true&resourceVersion=${from}`)
    }
  })
}

/** Checks that watches of both groups return the same events, each in its own form. */
async function checkSameEvents(
  [core, grouped]: readonly [KindClient, KindClient],
  query: string,
): Promise<void> {
  for (const encoding of ['json', 'protobuf'] as const) {
    const [seen, reported] = [await core.watch(query, encoding, 3), await grouped.watch(query, encoding, 3)]
    assert.deepEqual(
      seen.map(({ type }) => type),
      ['ADDED', 'MODIFIED', 'DELETED'],
    )
    for (const [at, { type, object }] of seen.entries()) {
      const other = reported[at] ?? assert.fail('a watch is short')
      assert.equal(other.type, type)
      assert.deepEqual([textMember(object, 'apiVersion'), textMember(other.object, 'kind')], ['v1', 'Event'])
      sameEvent(object, other.object, `${type} in ${encoding}`)
    }
  }
}

function withoutHolders(object: JsonObject): JsonObject {
  const { finalizers, ownerReferences, ...metadata } = objectMember(object, 'metadata')
  assert.ok(finalizers !== undefined && ownerReferences !== undefined)
  return { ...object, metadata }
}

function inCore(object: JsonObject): JsonObject {
  const names = new Map<string, string>(pairs.map(([core, grouped]) => [grouped, core]))
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [names.get(name) ?? name, value]))
}
