/*
 * Goal: the declared versions of each kind follow the deprecation rules.
 * Method: walks over all declarations in both domains; one kind goes both ways through the shipped
 * verbs.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compareVersions } from '../../../../src/api/metadata/group-version.ts'
import { namesOf } from '../../../../src/api/metadata/names.ts'
import type { ResourceDefinition } from '../../../../src/registry/kinds/definition.ts'
import { definitionsFor } from '../../../../src/resources/index.ts'
import { Fixture } from '../registry/fixture.ts'

const domains = ['orch.io', 'k8s.io'] as const

function minor(release: string): number {
  const [, digits = ''] = /^1\.(\d+)$/.exec(release) ?? assert.fail(`${release} is no release`)
  return Number(digits)
}

for (const domain of domains) {
  const kinds = definitionsFor(namesOf(domain))
  const find = (of: { readonly group: string; readonly version: string; readonly kind: string }) =>
    kinds.find(({ group, version, kind }) => group === of.group && version === of.version && kind === of.kind)

  void test(`spec 9.5: the storage version of each kind is declared and served, ${domain}`, () => {
    const others = kinds.filter(({ storedAs }) => storedAs !== undefined)
    assert.ok(others.length > 0)
    for (const { group, kind, plural, scope, storedAs } of others) {
      const stored = find({ group: storedAs?.group ?? group, kind, version: storedAs?.name ?? '' })
      assert.ok(stored !== undefined, `${kind} is declared as it is stored`)
      assert.deepEqual([stored.plural, stored.scope, stored.storedAs], [plural, scope, undefined])
    }
  })

  void test(`spec 9.5: a version is replaced by a more stable one, and stays for three releases, ${domain}`, () => {
    const going = kinds.filter(({ deprecated }) => deprecated !== undefined)
    assert.ok(going.length > 0)
    for (const { version, kind, deprecated } of going) {
      assert.ok(deprecated !== undefined && !('words' in deprecated))
      const { replacement, removed } = deprecated
      if (replacement !== null) {
        assert.ok(find(replacement) !== undefined, `${kind} is replaced by something`)
        assert.ok(compareVersions(replacement.version, version) < 0, `${kind} ${version}`)
      }
      if (removed !== '')
        assert.ok(minor(deprecated.removed) - minor(deprecated.since) >= 3, `${kind} ${version}`)
    }
  })

  void test(`spec 9.5: a capacity round-trips through v1beta1 and v1, ${domain}`, async (t) => {
    const fixture = await Fixture.open({ domain })
    t.after(() => fixture.close())
    const group = namesOf(domain).group('storage')
    const of = (version: string): ResourceDefinition =>
      find({ group, version, kind: 'CSIStorageCapacity' }) ?? assert.fail(`no ${version}`)
    const body = {
      ...{ apiVersion: `${group}/v1beta1`, kind: 'CSIStorageCapacity', metadata: { name: 'a' } },
      nodeTopology: { matchLabels: { zone: 'east' } },
      ...{ storageClassName: 'fast', capacity: '5Gi', maximumVolumeSize: '1Gi' },
    }
    const request = fixture.request({ kind: 'CSIStorageCapacity', body })
    await fixture.registry.create({ ...request, definition: of('v1beta1') })
    for (const version of ['v1', 'v1beta1']) {
      const requested = {
        ...fixture.request({ kind: 'CSIStorageCapacity', name: 'a' }),
        definition: of(version),
      }
      const answer = await fixture.registry.get(requested)
      assert.ok(answer.kind === 'document')
      const { metadata, ...rest } = JSON.parse(Buffer.from(answer.bytes).toString()) as typeof body
      assert.equal(metadata.name, 'a')
      const { metadata: sent, ...expected } = body
      assert.equal(sent.name, 'a')
      assert.deepEqual(rest, { ...expected, apiVersion: `${group}/${version}` })
    }
  })
}
