/*
 * Goal: a PUT creates missing objects, and needs a resourceVersion, for the same kinds as in
 * upstream 1.24.
 * Method: the declarations are compared with AllowCreateOnUpdate and AllowUnconditionalUpdate of
 * upstream's strategies; the shipped verbs run on the state machine in memory.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { namesOf } from '../../../../src/api/metadata/names.ts'
import { isStored } from '../../../../src/registry/kinds/definition.ts'
import type { ResourceDefinition } from '../../../../src/registry/kinds/definition.ts'
import { definitionsFor } from '../../../../src/resources/index.ts'
import { dualStackRanges } from '../../../../fixtures/service-ranges.ts'
import { causes, Fixture, refused } from '../registry/fixture.ts'

const stored = definitionsFor(namesOf('k8s.io'), dualStackRanges).filter(
  (definition) => isStored(definition) && definition.verbs.includes('update') && definition.kind !== 'Member',
)

function pluralsOf(selects: (definition: ResourceDefinition) => boolean): readonly string[] {
  return [...new Set(stored.filter(selects).map(({ plural }) => plural))].sort()
}

void test('a PUT creates the same kinds of missing objects as upstream', () => {
  assert.deepEqual(
    pluralsOf(({ putCreates }) => putCreates === true),
    [
      ...['clusterrolebindings', 'clusterroles', 'endpoints', 'events', 'leases', 'limitranges'],
      ...['rolebindings', 'roles', 'runtimeclasses', 'services'],
    ],
  )
})

void test('a PUT of the same kinds as upstream needs a resourceVersion', () => {
  assert.deepEqual(
    pluralsOf(({ updateNeedsVersion }) => updateNeedsVersion === true),
    [
      ...['apiservices', 'csidrivers', 'csinodes', 'csistoragecapacities', 'customresourcedefinitions'],
      ...['leases', 'mutatingwebhookconfigurations', 'poddisruptionbudgets', 'runtimeclasses'],
      ...['validatingwebhookconfigurations', 'volumeattachments'],
    ],
  )
})

void test('a RuntimeClass is created by PUT, and then replaced only at its version', async (t) => {
  const api = await Fixture.open({ domain: 'k8s.io' })
  t.after(() => api.close())
  for (const version of ['v1', 'v1beta1']) {
    const [kind, name] = [`node.k8s.io/${version}/RuntimeClass`, version]
    const body = { metadata: { name }, handler: 'runc' }
    assert.equal((await api.update({ kind, name, body })).code, 201)
    const seen = await refused(api.update({ kind, name, body }))
    assert.deepEqual([seen.code, causes(seen)], [422, ['FieldValueInvalid metadata.resourceVersion']])
  }
})
