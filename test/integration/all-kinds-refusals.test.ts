/**
 * Goal: an invalid object of any kind is refused with the path and the reason.
 * Method: full objects of every kind (`support/generators/full-object.ts`) with one fault
 * each, derived from the declaration: members that are missing, unknown or of another type, strings
 * outside their list or rule, numbers outside their range, unions of no member and of two. Each is
 * sent as a dry run to the shipped server. Changes of immutable fields are sent as updates.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { objectMember, objectsMember, textMember } from '../../src/api/json.ts'
import type { JsonObject } from '../../src/api/json.ts'
import { namesOf } from '../../src/api/metadata/names.ts'
import type { ResourceDefinition } from '../../src/registry/kinds/definition.ts'
import { definitionsFor } from '../../src/resources/index.ts'
import { brokenObjects, replaced } from '../support/generators/invalid-objects.ts'
import type { Broken } from '../support/generators/invalid-objects.ts'
import { brokenUnions } from '../support/generators/invalid-unions.ts'
import { FullObjects, variantsOf } from '../support/generators/full-object.ts'
import { collectionOf, nameOf } from '../support/fixtures/kind-path.ts'
import { SpecServer } from '../support/fixtures/spec-server.ts'
import { createOperatedPod } from '../support/fixtures/subresource-target.ts'

const names = namesOf('orch.io')
/** Clients cannot write an observed kind. */
const sendable = definitionsFor(names).filter(({ observe }) => observe === undefined)
const seed = Number(process.env['SEED'] ?? 1)
const DRY = '?dryRun=All&fieldValidation=Strict'

/** Returns a new generator, so that the objects of one kind do not depend on those of another. */
function makerFor(): FullObjects {
  return new FullObjects(names, seed)
}

/** Returns whether the server sets or ignores the field, so that a wrong value is not refused. */
function isForgiven(kind: string, { field, reason }: Broken): boolean {
  if (reason === null) return false
  // The features of these fields are off, so the server drops any value before it checks them.
  if (['.procMount', '.minDomains'].some((end) => field.endsWith(end))) return true
  // As upstream: an unsupported data source is ignored.
  if (kind === 'PersistentVolumeClaim' && field.startsWith('spec.dataSource.')) return true
  if (kind === 'Node') return field.startsWith('spec.configSource') || field.startsWith('status.config')
  return field === 'roleRef.apiGroup' || field.startsWith('status')
}

void test('spec 2: required fields, closed lists, types and bounds of the declarations are enforced in every kind', async (t) => {
  const api = await SpecServer.start(t)
  await createOperatedPod(api)
  for (const definition of sendable) {
    await t.test(`${definition.kind} ${definition.version}`, async (one) => {
      const collection = collectionOf(definition)
      const maker = makerFor()
      const seen = new Set<string>()
      let count = 0
      for (let variant = 0; variant < reviewVariants(definition); variant++) {
        const object = maker.object(definition, variant)
        const well = await api.ask('POST', collection + DRY, { body: object })
        assert.equal(well.status, 201, well.text)
        const forgiven = (broken: Broken): boolean => isForgiven(definition.kind, broken)
        for (const broken of brokenObjects({ schema: definition.schema, object }, seen, forgiven)) {
          await isRefused(api, collection, broken)
          count++
        }
      }
      one.diagnostic(`${count} faults refused`)
      assert.ok(count >= 3, 'something can be wrong')
    })
  }
})

function reviewVariants(definition: ResourceDefinition): number {
  return definition.review !== undefined && definition.scope === 'Namespaced' ? 1 : variantsOf(definition)
}

async function isRefused(api: SpecServer, collection: string, broken: Broken): Promise<void> {
  const { what, field, reason, words, object } = broken
  const { status, doc, text } = await api.ask('POST', collection + DRY, { body: object })
  const reported = `${field} is ${what}: ${text.slice(0, 2000)}`
  if (reason === null) {
    assert.deepEqual([status, doc.reason], [400, 'BadRequest'], reported)
    assert.ok(doc.message?.includes(field) === true && doc.message.includes(words), reported)
    return
  }
  assert.deepEqual([status, doc.reason], [422, 'Invalid'], reported)
  const causes = objectsMember(objectMember(doc as JsonObject, 'details'), 'causes')
  const found = causes.find((cause) => cause['field'] === field && cause['reason'] === reason)
  assert.ok(found !== undefined && textMember(found, 'message').includes(words), reported)
}

void test('spec 2: exactly one member of a union is set in every kind', async (t) => {
  const api = await SpecServer.start(t)
  let count = 0
  for (const definition of sendable) {
    const collection = collectionOf(definition)
    const maker = makerFor()
    const seen = new Set<string>()
    for (let variant = 0; variant < reviewVariants(definition); variant++) {
      const object = maker.object(definition, variant)
      for (const broken of brokenUnions({ schema: definition.schema, object, maker }, seen)) {
        if (broken.field.startsWith('status')) continue
        const { status, doc, text } = await api.ask('POST', collection + DRY, { body: broken.object })
        assert.equal(status, 422, `${definition.kind}, ${broken.what}: ${text.slice(0, 1000)}`)
        const causes = objectsMember(objectMember(doc as JsonObject, 'details'), 'causes')
        const reported = causes.some((cause) => textMember(cause, 'field').startsWith(broken.field))
        assert.ok(reported, `${broken.what} at ${broken.field}: ${text.slice(0, 1000)}`)
        count++
      }
    }
  }
  assert.ok(count > 15, `${count} unions`)
})

/** Immutable fields of some kinds, each with another value. */
const immutables: readonly (readonly [
  kind: string,
  steps: readonly (string | number)[],
  value: string | number | boolean,
])[] = [
  ['ConfigMap', ['data', 't0'], 'other'],
  ['ConfigMap', ['immutable'], false],
  ['Secret', ['type'], 'other'],
  ['Secret', ['immutable'], false],
  ['Pod', ['spec', 'nodeName'], 'other'],
  ['Pod', ['spec', 'containers', 0, 'command', 0], 'other'],
  ['PersistentVolumeClaim', ['spec', 'volumeMode'], 'Filesystem'],
  ['PersistentVolume', ['spec', 'gcePersistentDisk', 'pdName'], 'other'],
  ['PersistentVolume', ['spec', 'volumeMode'], 'Filesystem'],
  ['StorageClass', ['provisioner'], 'other'],
  ['StorageClass', ['volumeBindingMode'], 'WaitForFirstConsumer'],
  ['VolumeAttachment', ['spec', 'nodeName'], 'other'],
  ['CSIDriver', ['spec', 'attachRequired'], false],
  ['CSINode', ['spec', 'drivers', 0, 'nodeID'], 'other'],
  ['CSIStorageCapacity', ['storageClassName'], 'other'],
  ['Node', ['spec', 'providerID'], 'other'],
  ['RoleBinding', ['roleRef', 'name'], 'other'],
  ['ClusterRoleBinding', ['roleRef', 'name'], 'other'],
]

void test('spec 2: an immutable field stays as it was created', async (t) => {
  const api = await SpecServer.start(t)
  const maker = makerFor()
  for (const definition of sendable) {
    const changes = immutables.filter(([kind]) => kind === definition.kind)
    if (changes.length === 0) continue
    const collection = collectionOf(definition)
    const { status, doc, text } = await api.ask('POST', collection, {
      body: maker.object(definition, 0),
    })
    assert.equal(status, 201, text)
    const made = doc as JsonObject
    const path = `${collection}/${nameOf(made)}`
    for (const [kind, steps, value] of changes) {
      const changed = replaced(made, steps, value)
      assert.notDeepEqual(changed, made, `${kind}: ${steps.join('.')} has that value already`)
      const reply = await api.ask('PUT', path, { body: changed })
      assert.deepEqual(
        [reply.status, reply.doc.reason],
        [422, 'Invalid'],
        `${kind}: ${steps.join('.')}: ${reply.text}`,
      )
    }
    assert.deepEqual((await api.ask('GET', path)).doc, made)
    const elsewhere = await api.ask('PUT', path, { body: replaced(made, ['metadata', 'uid'], 'other') })
    assert.equal(elsewhere.status, 409, elsewhere.text)
  }
})

void test('spec 2.1, 4.2: every collection refuses an object of another kind or version', async (t) => {
  const api = await SpecServer.start(t)
  for (const definition of sendable) {
    const collection = collectionOf(definition)
    const object = makerFor().object(definition, 0)
    for (const [member, value] of [
      ['kind', 'Gadget'],
      ['apiVersion', 'v9'],
      ['apiVersion', 'example.com/v1'],
    ] as const) {
      const { status, doc, text } = await api.ask('POST', collection + DRY, {
        body: { ...object, [member]: value },
      })
      assert.deepEqual([status, doc.reason], [400, 'BadRequest'], text)
      assert.ok(doc.message?.includes(value) === true, text)
    }
  }
})

void test('spec 4.2: unknown and duplicate fields are refused, warned about or ignored in every kind', async (t) => {
  const api = await SpecServer.start(t)
  await createOperatedPod(api)
  for (const definition of sendable) {
    const collection = collectionOf(definition)
    const text = JSON.stringify({ ...makerFor().object(definition, 0), nonsense: 1 })
    const body = `{"kind":"Other",${text.slice(1)}`
    const ask = async (mode: string) =>
      await api.ask('POST', `${collection}?dryRun=All&fieldValidation=${mode}`, { body })
    const strict = await ask('Strict')
    assert.equal(strict.status, 400)
    for (const words of ['unknown field "nonsense"', 'duplicate field "kind"']) {
      assert.ok(strict.doc.message?.includes(words) === true, strict.text)
    }
    const warned = await ask('Warn')
    const warnings = warned.headers.get('warning') ?? ''
    assert.equal(warned.status, 201, warned.text)
    assert.ok(warnings.includes('nonsense') && warnings.includes('duplicate field'), warnings)
    const ignored = await ask('Ignore')
    assert.equal(ignored.status, 201, ignored.text)
    // A CustomResourceDefinition keeps its unknown fields, so this mode returns a Warning too.
    const isStored = definition.kind === 'CustomResourceDefinition'
    assert.equal((ignored.headers.get('warning') ?? '').includes('nonsense'), isStored)
  }
})
