/*
 * Goal: OpenAPI describes every member as the documents of release 1.24 do: type, whether it is
 * required, values, how lists and structs are merged, which members make a union.
 * Method: every definition of the server's documents, in both domains and both dialects, against a
 * table (`facts/openapi-definitions.txt`). Deviations are listed here, with the reason.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { objectMember } from '../../../../../src/api/json.ts'
import type { JsonObject } from '../../../../../src/api/json.ts'
import { namesOf } from '../../../../../src/api/metadata/names.ts'
import type { Names } from '../../../../../src/api/metadata/names.ts'
import { definitionsFor } from '../../../../../src/resources/index.ts'
import { openApiV2 } from '../../../../../src/server/openapi/v2.ts'
import { openApiV3 } from '../../../../../src/server/openapi/v3.ts'
import { linesOf, readDefinitionTable } from '../../../../facts/definition-table.ts'
import type { DefinitionLines } from '../../../../facts/definition-table.ts'

const table = readDefinitionTable()

/** Deviations of this server, and the reason. */
const others: ReadonlyMap<string, string> = new Map([
  ['admissionregistration.v1.MutatingWebhook.sideEffects', 'v1 accepts only two values'],
  ['admissionregistration.v1.ValidatingWebhook.sideEffects', 'v1 accepts only two values'],
  ['apiextensions.v1.CustomResourceDefinitionVersion.selectableFields', 'of later releases, and served'],
  ['apiextensions.v1.ValidationRule.fieldPath', 'of later releases, and served'],
  ['apiextensions.v1.ValidationRule.messageExpression', 'of later releases, and served'],
  ['apiextensions.v1.ValidationRule.optionalOldSelf', 'of later releases, and served'],
  ['apiextensions.v1.ValidationRule.reason', 'of later releases, and served'],
  ['certificates.v1.CertificateSigningRequestSpec.request', 'bytes are not a list'],
  ['certificates.v1.CertificateSigningRequestStatus.certificate', 'bytes are not a list'],
  ['core.v1.EphemeralVolumeSource.volumeClaimTemplate', 'spec 2.5 requires it'],
  ['core.v1.Event.metadata', 'metadata is not required for any kind'],
  ['core.v1.PersistentVolumeClaimSpec.accessModes', 'an alpha mode is not accepted'],
  ['core.v1.PersistentVolumeClaimStatus.accessModes', 'an alpha mode is not accepted'],
  ['core.v1.PersistentVolumeSpec.accessModes', 'an alpha mode is not accepted'],
  ['core.v1.PodOS.name', 'other values are rejected'],
  ['events.v1.Event.eventTime', 'absent in events of the core group'],
  ['events.v1.EventSeries.lastObservedTime', 'optional in series of the core group'],
  ['networking.v1.IngressClassParametersReference.scope', 'other values are rejected'],
  ['storage.v1.CSIDriverSpec.fsGroupPolicy', 'other values are rejected'],
  ['storage.v1.CSIStorageCapacityList.items', 'its map key `name` is not a member of an item'],
  ['storage.v1.StorageClass.reclaimPolicy', 'Recycle is not accepted'],
  ['meta.v1.LabelSelectorRequirement.key', 'a string is not merged'],
])

/** Definitions that the table lacks: those of this server only, and those of later releases. */
const own = /^(cluster\.v1\.Member|apiextensions\.v1\.SelectableField$)/

for (const domain of ['k8s.io', 'orch.io'] as const) {
  for (const dialect of ['v2', 'v3'] as const) {
    void test(`spec 4.1: OpenAPI ${dialect} of ${domain} describes every member as release 1.24 does`, () => {
      const names = namesOf(domain)
      const documents = allDefinitions(names, dialect)
      const reported = new Set<string>()
      const wrong: string[] = []
      for (const [name, definition] of documents) {
        const neutral = neutralOf(names, name)
        const wanted = table.get(inTable(neutral))
        if (wanted === undefined) {
          assert.match(neutral, own)
          continue
        }
        const found = linesOf(definition, {
          prefix: names.clientMarkerPrefix,
          neutral: (reference) => inTable(neutralOf(names, reference)),
        })
        const ours = {
          ...found,
          members: new Map([...found.members].map(([of, line]) => [inUpstream(names, of), line])),
        }
        for (const [place, line] of differences(neutral.replace('.v1beta1.', '.v1.'), wanted, ours)) {
          if (others.has(place)) reported.add(place)
          else wrong.push(line)
        }
      }
      assert.deepEqual(wrong, [])
      assert.deepEqual(
        [...others.keys()].filter((place) => !reported.has(place)),
        [],
        'these deviations no longer exist: remove them from the list',
      )
      assert.ok(documents.size > 200, `${documents.size} definitions`)
    })
  }
}

void test('in the domain orch.io every extension has the name of upstream and its own', () => {
  const names = namesOf('orch.io')
  let compared = 0
  for (const [name, definition] of allDefinitions(names, 'v2')) {
    for (const part of [definition, ...Object.values(objectMember(definition, 'properties'))]) {
      for (const [key, value] of Object.entries(part as JsonObject)) {
        if (!key.startsWith(names.clientMarkerPrefix)) continue
        const ours = names.schemaMarkerPrefix + key.slice(names.clientMarkerPrefix.length)
        assert.deepEqual((part as JsonObject)[ours], value, `${name}: ${ours}`)
        compared++
      }
    }
  }
  assert.ok(compared > 100, `${compared} extensions`)
})

void test('the comparison detects missing, additional and different members', () => {
  const wanted = {
    marks: 'map=atomic',
    members: new Map([
      ['a', 'string required'],
      ['b', '[]string key=x'],
      ['c', 'int32'],
    ]),
  }
  const found = {
    marks: '',
    members: new Map([
      ['a', 'string'],
      ['b', '[]string key=x'],
      ['d', 'int32'],
    ]),
  }
  assert.deepEqual(differences('x', wanted, found), [
    ['x', 'x: "", not "map=atomic"'],
    ['x.a', 'x.a: "string", not "string required"'],
    ['x.c', 'x.c: nothing, not "int32"'],
    ['x.d', 'x.d: "int32", not nothing'],
  ])
})

function allDefinitions(names: Names, dialect: 'v2' | 'v3'): ReadonlyMap<string, JsonObject> {
  const kinds = definitionsFor(names)
  const all =
    dialect === 'v2'
      ? openApiV2(kinds, names).definitions
      : objectMember(objectMember(openApiV3(kinds, names, 'v1'), 'components'), 'schemas')
  return new Map(Object.entries(all) as [string, JsonObject][])
}

/**
 * Returns the name of a definition in the table: for a beta version that of the version that it
 * became, unless the table has both.
 */
function inTable(neutral: string): string {
  const later = ['.v1.', '.v1beta2.'].map((version) => neutral.replace('.v1beta1.', version))
  return [neutral, ...later].find((name) => table.has(name)) ?? neutral
}

/** Returns `core.v1.Pod` for the name of a definition or a reference to it. */
function neutralOf(names: Names, text: string): string {
  const name = text.slice(text.lastIndexOf('/') + 1)
  const [group, version, kind] = name.split('.').slice(-3)
  const neutral = `${group ?? ''}.${version ?? ''}.${kind ?? ''}`
  assert.equal(names.definition(neutral), name)
  return neutral
}

/** Returns the name of an extension as existing clients read it. */
function inUpstream({ schemaMarkerPrefix, clientMarkerPrefix }: Names, member: string): string {
  return member.startsWith(schemaMarkerPrefix)
    ? clientMarkerPrefix + member.slice(schemaMarkerPrefix.length)
    : member
}

/**
 * Returns the differences. A default that only this server describes is not one: release 1.24
 * describes three of its defaults.
 */
function differences(
  name: string,
  wanted: DefinitionLines,
  found: DefinitionLines,
): readonly (readonly [place: string, line: string])[] {
  const shown = (text: string | undefined): string => (text === undefined ? 'nothing' : JSON.stringify(text))
  const lines: (readonly [string, string])[] = []
  if (wanted.marks !== found.marks) {
    lines.push([name, `${name}: ${shown(found.marks)}, not ${shown(wanted.marks)}`])
  }
  for (const member of new Set([...wanted.members.keys(), ...found.members.keys()])) {
    const [theirs, mine] = [wanted.members.get(member), found.members.get(member)]
    const ours = theirs?.includes(' default=') === true ? mine : mine?.replace(/ default=\S*/, '')
    if (theirs === ours) continue
    lines.push([`${name}.${member}`, `${name}.${member}: ${shown(ours)}, not ${shown(theirs)}`])
  }
  return lines
}
