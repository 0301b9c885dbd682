import assert from 'node:assert/strict'
import { mergePatch } from '../../../../../src/api/patch/merge-patch.ts'
import type { JsonObject } from '../../../../../src/api/json.ts'
import type { AnyObject } from '../../../../../src/registry/kinds/definition.ts'
import { causes, refused } from '../../registry/fixture.ts'
import type { Call, Fixture } from '../../registry/fixture.ts'

/** The change (a merge patch), the expected causes, and a part of the message. */
export type BrokenRule = readonly [change: JsonObject, causes: readonly string[], words?: string]

/** Breaks each rule once, in a new object that is valid otherwise. */
export async function refusesNew(
  api: Fixture,
  of: { readonly kind: string; readonly body: JsonObject },
  rules: readonly BrokenRule[],
): Promise<void> {
  for (const [change, wanted, words = ''] of rules) {
    const body = mergePatch(of.body, change)
    const seen = await refused(api.create({ kind: of.kind, body }))
    assert.deepEqual([seen.code, ...causes(seen)], [422, ...wanted], JSON.stringify(change))
    assert.ok(seen.message.includes(words), seen.message)
  }
}

/** Breaks each rule of immutable members once, by a patch of the object. */
export async function refusesChange(api: Fixture, call: Call, rules: readonly BrokenRule[]): Promise<void> {
  for (const [body, wanted, words = ''] of rules) {
    const seen = await refused(api.patch({ ...call, body }))
    assert.deepEqual([seen.code, ...causes(seen)], [422, ...wanted], JSON.stringify(body))
    assert.ok(seen.message.includes(words), seen.message)
  }
}

/** Returns names and cells of the kind's columns, except for the age. */
export function cells(api: Fixture, kind: string, object: AnyObject): JsonObject {
  const shown = (api.definition(kind).columns ?? []).filter(({ name }) => name !== 'Age')
  return Object.fromEntries(shown.map(({ name, cell }) => [name, cell(object)]))
}
