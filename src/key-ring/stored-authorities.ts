import { assert } from '../../base/assert.ts'
import { encode, parseStored } from '../registry/kinds/encode.ts'
import type { Operation } from '../store/command.ts'
import { keyOf, prefixOf } from '../store/key.ts'
import type { StoredObject } from '../store/object-store.ts'
import type { Revision } from '../store/revision.ts'
import { authoritiesFields, authoritiesOf } from './cluster-authorities.ts'
import type { SharedAuthority } from './authority-stages.ts'

/** No kind has this group, so no API path leads here. */
const internal = { group: 'internal', plural: 'signingauthorities' } as const
const name = 'cluster'

/** Where the authorities are stored. */
export const authoritiesKey = keyOf({ ...internal, namespace: '', name })
export const authoritiesPrefix = prefixOf({ ...internal, namespace: null })

/** Parses a stored object under `authoritiesPrefix`. */
export function storedAuthorities(stored: StoredObject): readonly SharedAuthority[] {
  const authorities = authoritiesOf(parseStored(stored)['spec'])
  assert(authorities !== null, 'stored authorities are authorities')
  return authorities
}

/** @param expected null: nothing is stored yet */
export function putAuthorities(
  authorities: readonly SharedAuthority[],
  expected: Revision | null,
): Operation {
  const object = encode({
    ...{ kind: 'SigningAuthorities', apiVersion: 'internal/v1', metadata: { name, uid: name } },
    spec: authoritiesFields(authorities),
  })
  const condition =
    expected === null ? ({ kind: 'absent' } as const) : ({ kind: 'revision-is', revision: expected } as const)
  return { kind: 'put', key: authoritiesKey, conditions: [condition], object }
}
