/*
 * Goal: no kind has a default that appears only at the second write: a write that changes nothing
 * leaves the object and its version as they are.
 * Method: of every kind, an object with every member set, the same without labels and annotations,
 * and the smallest object that is accepted (members are left out one after the other, by dry runs)
 * are created and applied; then each is written again without a change.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  equalJson,
  isJsonObject,
  objectMember,
  setMember,
  textMember,
  withoutMembers,
} from '../../../../src/api/json.ts'
import type { JsonObject, JsonObjectDraft } from '../../../../src/api/json.ts'
import { apiVersionOf, isStored } from '../../../../src/registry/kinds/definition.ts'
import type { ResourceDefinition } from '../../../../src/registry/kinds/definition.ts'
import { FullObjects } from '../../../support/generators/full-object.ts'
import { Fixture } from '../registry/fixture.ts'
import type { Call, Got } from '../registry/fixture.ts'

const seed = Number(process.env['SEED'] ?? 1)

type Shape = (api: Fixture, kind: string, full: JsonObject) => Promise<JsonObject>

const shapes: { readonly [words: string]: Shape } = {
  'an object with every member': (_, __, full) => Promise.resolve(full),
  'an object without labels': (_, __, full) => Promise.resolve(unlabelled(full)),
  'the smallest object': (api, kind, full) => smallest(api, kind, unlabelled(full)),
}

for (const [words, shape] of Object.entries(shapes)) {
  void test(`a write without a change writes nothing: ${words} of every kind`, async (t) => {
    const [created, applied] = [await Fixture.open(), await Fixture.open()]
    t.after(() => Promise.all([created.close(), applied.close()]))
    const maker = new FullObjects(created.names, seed)
    let kinds = 0
    for (const definition of created.catalog.all()) {
      const { verbs, kind } = definition
      if (!isStored(definition) || !verbs.includes('create') || !verbs.includes('patch')) continue
      kinds++
      await t.test(`${apiVersionOf(definition)}/${kind}`, async () => {
        const full = withoutServerFields(maker.object(definition, 0))
        const body = await shape(created, `${apiVersionOf(definition)}/${kind}`, full)
        await createdAgain(created, definition, body)
        await appliedAgain(applied, definition, body)
      })
    }
    assert.ok(kinds > 40)
  })
}

async function createdAgain(api: Fixture, definition: ResourceDefinition, body: JsonObject): Promise<void> {
  const kind = `${apiVersionOf(definition)}/${definition.kind}`
  const made = await api.create({ kind, body })
  const { name } = made.object.metadata
  const writes: { readonly [words: string]: (call: Call) => Promise<Got> } = {
    'merge patch': (call) => api.patch({ ...call, body: {} }),
    'JSON patch': (call) => api.patch({ ...call, contentType: 'application/json-patch+json', body: [] }),
    PUT: (call) => api.update({ ...call, body: made.object }),
  }
  for (const [words, write] of Object.entries(writes)) {
    api.clock.advance(2000)
    assert.deepEqual((await write({ kind, name })).object, made.object, words)
  }
  assert.deepEqual((await api.get({ kind, name })).object, made.object)
}

async function appliedAgain(api: Fixture, definition: ResourceDefinition, body: JsonObject): Promise<void> {
  const kind = `${apiVersionOf(definition)}/${definition.kind}`
  const name = textMember(objectMember(body, 'metadata'), 'name')
  const type = { contentType: 'application/apply-patch+yaml', query: { fieldManager: 'm' } }
  const first = await api.patch({ kind, name, ...type, body })
  api.clock.advance(2000)
  assert.deepEqual((await api.patch({ kind, name, ...type, body })).object, first.object, 'apply')
}

function withoutServerFields(object: JsonObject): JsonObject {
  const { name = '', labels = {}, annotations = {} } = objectMember(object, 'metadata')
  return { ...object, metadata: { name, labels, annotations } }
}

function unlabelled(object: JsonObject): JsonObject {
  return { ...object, metadata: { name: textMember(objectMember(object, 'metadata'), 'name') } }
}

/** Leaves out every member without which the object is still accepted, outer ones first. */
async function smallest(api: Fixture, kind: string, full: JsonObject): Promise<JsonObject> {
  const isAccepted = (body: JsonObject): Promise<boolean> =>
    api.create({ kind, body, query: { dryRun: 'All' } }).then(
      () => true,
      () => false,
    )
  const reduced = async (value: JsonObject, whole: (part: JsonObject) => JsonObject): Promise<JsonObject> => {
    let left = value
    for (const name of Object.keys(value)) {
      const without = withoutMembers(left, name)
      if (await isAccepted(whole(without))) {
        left = without
        continue
      }
      const below = value[name]
      if (!isJsonObject(below)) continue
      const others = left
      const inside = (part: JsonObject): JsonObject => {
        const draft: JsonObjectDraft = { ...others }
        setMember(draft, name, part)
        return draft
      }
      left = inside(await reduced(below, (part) => whole(inside(part))))
    }
    return left
  }
  const { apiVersion = '', kind: kindName = '', metadata = {}, ...members } = full
  const whole = (part: JsonObject): JsonObject => ({ apiVersion, kind: kindName, metadata, ...part })
  // A member that is removed later may have been the reason to keep an earlier one.
  for (let left: JsonObject = members; ;) {
    const smaller = await reduced(left, whole)
    if (equalJson(smaller, left)) return whole(left)
    left = smaller
  }
}
