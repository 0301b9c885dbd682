import assert from 'node:assert/strict'
import { encodeProtobuf } from '../../../../../src/api/codec/protobuf-envelope.ts'
import type { JsonObject } from '../../../../../src/api/json.ts'
import { namesOf } from '../../../../../src/api/metadata/names.ts'
import { wholeObject } from '../../../../../src/api/schema/shared.ts'
import { hasProtobuf } from '../../../../../src/registry/representations/representation.ts'
import type { Place } from '../../../../support/generators/worst-bodies.ts'
import type { Fixture } from '../fixture.ts'

const names = namesOf('k8s.io')

/**
 * Reads an object, sends it back as it was read in each encoding, and patches it with nothing and
 * with itself; each has to succeed and to change nothing.
 */
export async function checkAgain(api: Fixture, place: Place, kind: string, name: string): Promise<void> {
  const { definition } = place
  const what = `${kind}: ${place.key}`
  const read = await api.get({ kind, name })
  const rawBody = JSON.stringify(read.object)
  if (definition.verbs.includes('update')) {
    const put = await api.update({ kind, name, rawBody })
    assert.deepEqual(put.object, read.object, what)
    if (hasProtobuf(definition)) {
      const message = encodeProtobuf(wholeObject(definition.schema), read.object)
      const call = { kind, name, rawBody: message, contentType: names.protobufMediaType }
      assert.deepEqual((await api.update(call)).object, read.object, `${what}, protobuf`)
    }
  }
  if (definition.verbs.includes('patch')) {
    for (const body of [{}, read.object as unknown as JsonObject]) {
      const call = { kind, name, body, contentType: 'application/merge-patch+json' }
      assert.deepEqual((await api.patch(call)).object, read.object, `${what}, patch`)
    }
  }
}
