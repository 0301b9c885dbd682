import assert from 'node:assert/strict'
import type { JsonObject } from '../../../../../src/api/json.ts'
import { causes, details, refused } from '../../registry/fixture.ts'
import type { Fixture } from '../../registry/fixture.ts'
import { podBody } from './pod-samples.ts'

/** The invalid spec, the expected cause, and a part of its message. */
export type Row = readonly [spec: JsonObject, cause: string, words?: string]

/** Checks by dry runs that each of these Pods is rejected with its cause. */
export async function refuseEach(api: Fixture, rows: readonly Row[]): Promise<void> {
  for (const [spec, cause, words = ''] of rows) {
    const call = { kind: 'Pod', query: { dryRun: 'All' }, body: podBody(spec) }
    const seen = await refused(api.create(call)).catch(() => assert.fail(`accepted: ${JSON.stringify(spec)}`))
    assert.equal(seen.code, 422, JSON.stringify([spec, seen.message]))
    const index = causes(seen).indexOf(cause)
    assert.ok(index >= 0, `${JSON.stringify(spec)}: ${cause} is not among ${JSON.stringify(causes(seen))}`)
    const reported = (details(seen)['causes'] as readonly { readonly message: string }[])[index]
    assert.ok(reported?.message.includes(words), `${reported?.message} does not contain ${words}`)
  }
}
