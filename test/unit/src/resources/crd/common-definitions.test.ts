/*
 * Goal: definitions as many packages ship them can be created and applied in strict mode, also the
 * largest, and their objects are accepted and refused by their schemas and rules.
 * Method: definitions in the style of these packages (`support/fixtures/definitions`), with the
 * shipped verbs on the state machine in memory.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { jsonText } from '../../../../../src/api/codec/json-text.ts'
import type { JsonObject } from '../../../../../src/api/json.ts'
import { customKinds } from '../../../../../src/resources/crd/custom-kind.ts'
import { definitionSamples } from '../../../../support/fixtures/definitions/all.ts'
import { definitionOf, objectOfSample } from '../../../../support/fixtures/definitions/sample.ts'
import type { DefinitionSample } from '../../../../support/fixtures/definitions/sample.ts'
import { someDomains } from '../../../../support/fixtures/variants.ts'
import { Fixture, causes, refused } from '../../registry/fixture.ts'
import { definitionKind } from './definition-samples.ts'

const strict = { fieldValidation: 'Strict' }

/** Accepts the names by hand, as the controller does. */
async function establish(api: Fixture, { plural, group, kind, names = {} }: DefinitionSample): Promise<void> {
  const acceptedNames = { singular: kind.toLowerCase(), listKind: `${kind}List`, ...names, plural, kind }
  const conditions = [{ type: 'Established', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' }]
  const { object } = await api.patch({
    ...{ kind: definitionKind, name: `${plural}.${group}`, subresource: 'status' },
    body: { status: { conditions, acceptedNames } },
  })
  assert.deepEqual(api.catalog.setCustom(customKinds(object, api.names)), [])
}

for (const domain of someDomains) {
  for (const sample of definitionSamples) {
    const kind = `${sample.group}/${sample.apiVersion}/${sample.kind}`
    void test(`the definition of ${kind} is created and applied in ${domain}, and its objects are validated`, async (t) => {
      const api = await Fixture.open({ domain })
      t.after(() => api.close())
      const body = definitionOf(api.names, sample)
      const name = `${sample.plural}.${sample.group}`
      const apply = { contentType: 'application/apply-patch+yaml', query: { ...strict, fieldManager: 'm' } }
      assert.equal(
        (await api.create({ kind: definitionKind, body, query: { ...strict, dryRun: 'All' } })).code,
        201,
      )
      const made = await api.patch({ kind: definitionKind, name, body, ...apply })
      assert.deepEqual([made.code, api.warnings.splice(0)], [201, []])
      assert.deepEqual(
        (made.object['spec'] as JsonObject)['versions'],
        (body['spec'] as JsonObject)['versions'],
      )
      const again = await api.patch({ kind: definitionKind, name, body, ...apply })
      assert.equal(again.object.metadata.resourceVersion, made.object.metadata.resourceVersion)
      await establish(api, sample)

      for (const [index, spec] of sample.valid.entries()) {
        const object = objectOfSample(sample, `valid-${index}`, spec)
        assert.equal((await api.create({ kind, body: object, query: strict })).code, 201)
        const applied = await api.patch({
          kind,
          name: `applied-${index}`,
          body: { ...object, metadata: { name: `applied-${index}` } },
          ...apply,
        })
        assert.equal(applied.code, 201)
      }
      for (const { what, spec, causes: wanted, words } of sample.invalid) {
        const seen = await refused(
          api.create({ kind, body: objectOfSample(sample, 'invalid', spec), query: strict }),
        )
        assert.deepEqual([seen.code, causes(seen)], [422, wanted], `${what}: ${seen.message}`)
        assert.ok(seen.message.includes(words), `${what}: ${seen.message}`)
      }
      for (const { what, spec, refusal } of sample.changes) {
        const change = api.patch({ kind, name: 'valid-0', body: { spec }, query: strict })
        if (refusal === null) assert.equal((await change).code, 200, what)
        else assert.ok((await refused(change)).message.includes(refusal), what)
      }
      assert.deepEqual(api.warnings, [])
    })
  }
}

void test('the largest sample is as long as the largest definitions of packages', () => {
  const lengths = definitionSamples.map((sample) => jsonText(sample.versions('x-kubernetes-')).length)
  assert.ok(Math.max(...lengths) > 600_000, lengths.join())
  assert.ok(lengths.filter((length) => length > 262_144).length >= 2)
})
