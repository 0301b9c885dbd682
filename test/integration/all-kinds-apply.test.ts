/**
 * Goal: server-side apply works for every stored kind that clients create and patch: it creates
 * what a POST creates, writes nothing the second time, and its fields can be shared.
 * Method: for each of these kinds, in both domains, an object with every member set
 * (`support/generators/full-object.ts`) is applied over HTTP and compared with the same object of a
 * POST.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stringify } from 'yaml'
import { namesOf } from '../../src/api/metadata/names.ts'
import { objectMember, objectsMember, textMember, withoutMembers } from '../../src/api/json.ts'
import type { Json, JsonObject } from '../../src/api/json.ts'
import { isStored } from '../../src/registry/kinds/definition.ts'
import type { ResourceDefinition } from '../../src/registry/kinds/definition.ts'
import { definitionsFor } from '../../src/resources/index.ts'
import { FullObjects } from '../support/generators/full-object.ts'
import { collectionOf, nameOf } from '../support/fixtures/kind-path.ts'
import { SpecServer } from '../support/fixtures/spec-server.ts'
import type { Reply } from '../support/fixtures/spec-server.ts'

const seed = Number(process.env['SEED'] ?? 1)

for (const domain of ['orch.io', 'k8s.io'] as const) {
  void test(`spec 4.10: every kind of ${domain} that is stored, created and patched can be applied`, async (t) => {
    const api = await SpecServer.start(t, { domain })
    const names = namesOf(domain)
    const maker = new FullObjects(names, seed)
    for (const definition of definitionsFor(names)) {
      const { kind, version, verbs } = definition
      if (!isStored(definition) || !verbs.includes('create') || !verbs.includes('patch')) continue
      await t.test(`${kind} ${version}`, async () => {
        const sent = withoutServerFields(maker.object(definition, 0))
        const again = `SEED=${seed} node --test dist/test/integration/all-kinds-apply.test.js`
        await applyKind(api, definition, sent).catch((cause: unknown) => {
          throw new Error(`${(cause as Error).message}\n${again} repeats this`, { cause })
        })
      })
    }
  })
}

async function applyKind(api: SpecServer, definition: ResourceDefinition, sent: JsonObject): Promise<void> {
  const collection = collectionOf(definition)
  const path = `${collection}/${encodeURIComponent(nameOf(sent))}`
  const apply = (manager: string, query = ''): Promise<Reply> =>
    api.ask('PATCH', `${path}?fieldManager=${manager}${query}`, {
      type: 'application/apply-patch+yaml',
      body: stringify(sent, { version: '1.1', aliasDuplicateObjects: false }),
    })
  const made = await api.ask('POST', `${collection}?dryRun=All`, {
    type: 'application/json',
    body: JSON.stringify(sent),
  })
  assert.equal(made.status, 201, made.text)
  const dry = await apply('m', '&dryRun=All')
  assert.equal(dry.status, 201, dry.text)
  assert.deepEqual(
    comparable(dry.doc as unknown as JsonObject),
    comparable(made.doc as unknown as JsonObject),
  )
  const applied = await apply('m')
  assert.equal(applied.status, 201, applied.text)
  const again = await apply('m')
  assert.deepEqual([again.status, again.text], [200, applied.text], 'nothing is written')
  const shared = await apply('other')
  assert.equal(shared.status, 200, shared.text)
  const entries = objectsMember(
    objectMember(shared.doc as unknown as JsonObject, 'metadata'),
    'managedFields',
  )
  assert.deepEqual(entries.map((entry) => textMember(entry, 'manager')).sort(), ['m', 'other'])
  assert.deepEqual(entries[0]?.['fieldsV1'], entries[1]?.['fieldsV1'])
}

/** Returns the object as a client writes it down. */
function withoutServerFields(object: JsonObject): JsonObject {
  const { name, namespace, labels, annotations } = objectMember(object, 'metadata')
  const metadata = Object.entries({ name, namespace, labels, annotations }).filter(
    (entry): entry is [string, Json] => entry[1] !== undefined,
  )
  return { ...object, metadata: Object.fromEntries(metadata) }
}

/** Returns the object without what differs between two equal requests, such as times. */
function comparable(object: JsonObject): JsonObject {
  const changing = ['uid', 'creationTimestamp', 'managedFields']
  const compared = { ...object, metadata: withoutMembers(objectMember(object, 'metadata'), ...changing) }
  const conditions = objectsMember(objectMember(object, 'status'), 'conditions')
  if (conditions.length === 0) return compared
  const untimed = conditions.map((condition) => withoutMembers(condition, 'lastTransitionTime'))
  return { ...compared, status: { ...objectMember(object, 'status'), conditions: untimed } }
}
