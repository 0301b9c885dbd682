import { assert } from '../../../base/assert.ts'
import { copied } from '../../../base/copied.ts'
import { jsonText } from '../../api/codec/json-text.ts'
import { keyOf } from '../../store/key.ts'
import type { StoredObject } from '../../store/object-store.ts'
import { noRevision } from '../../store/revision.ts'
import { wantedBy } from '../calls/consistency.ts'
import type { VerbRequest } from '../calls/verb.ts'
import type { VerbDependencies } from '../calls/verb-dependencies.ts'
import { placeOf } from '../kinds/definition.ts'
import type { AnyObject, ResourceDefinition } from '../kinds/definition.ts'
import { readState } from './read-state.ts'

/**
 * Returns the objects of a kind that is observed, in the form of stored ones and sorted by name.
 * Unless the header requests another mode, the read needs no quorum: a cluster that lost it can
 * still be observed. As upstream, the requested resourceVersion does not matter.
 *
 * @throws ApiError as `readState`
 */
export function observedObjects(
  dependencies: VerbDependencies,
  request: VerbRequest,
): Promise<readonly StoredObject[]> {
  const { definition, context } = request
  const { observe } = definition
  assert(observe !== undefined, `${definition.plural} are observed`)
  return readState(dependencies, context, wantedBy(request, { kind: 'any' }), {
    take: () =>
      observe(dependencies.components?.() ?? [])
        .map((object) => inStoredForm(definition, object))
        .toSorted((a, b) => (a.key < b.key ? -1 : 1)),
  })
}

function inStoredForm(definition: ResourceDefinition, object: AnyObject): StoredObject {
  const { kind, apiVersion, ...rest } = object
  const head = `{"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(apiVersion)},`
  const bytes = Buffer.from(head + jsonText(rest).slice(1))
  return {
    key: keyOf({ namespace: '', name: object.metadata.name ?? '', ...placeOf(definition) }),
    revision: noRevision,
    ...{ uid: '', labels: null, terminating: false },
    ...{ bytes, byteLength: bytes.byteLength, itemOffset: Buffer.byteLength(head) },
    copyTo: (target, to, from) => copied(bytes.subarray(from), target, to),
    beginning: bytes,
  }
}
