import { assert } from '../../../base/assert.ts'
import type { Clock } from '../../../base/clock.ts'
import type { Random } from '../../../base/random.ts'
import { causesOf } from '../../api/errors/findings.ts'
import { validateMetaOnCreate } from '../../api/metadata/object-meta.ts'
import { formatTime } from '../../api/metadata/time.ts'
import type { Operation } from '../../store/command.ts'
import { keyOf } from '../../store/key.ts'
import { apiVersionOf, placeOf } from './definition.ts'
import type { AnyObject, ResourceDefinition } from './definition.ts'
import { encode } from './encode.ts'
import { stampCreated } from './metadata.ts'

/** Returns an initial object of a cluster as an operation of its first command. */
export function bootstrapOperation(
  definition: ResourceDefinition,
  target: { readonly name: string; readonly namespace: string | null },
  dependencies: { readonly clock: Clock; readonly random: Random },
): Operation {
  const { plural, kind, hooks } = definition
  const { name, namespace } = target
  const bare: AnyObject = { kind, apiVersion: apiVersionOf(definition), metadata: { name } }
  const stamped = stampCreated(bare, namespace, { ...dependencies, definition })
  const writing = { user: noUser, time: formatTime(dependencies.clock.wallMs()) }
  const object = hooks.prepareForCreate?.(stamped, writing) ?? stamped
  const rules = { namespaced: namespace !== null, validateName: definition.validateName }
  const wrong = causesOf((found) => {
    validateMetaOnCreate(object.metadata, rules, found)
    hooks.validate?.(object, found)
  })
  assert(wrong.length === 0, `${plural} ${name} follows the rules of its kind`)
  const key = keyOf({ namespace: namespace ?? '', name, ...placeOf(definition) })
  return { kind: 'put', key, conditions: [{ kind: 'absent' }], object: encode(object) }
}

/** Initial objects are created without a request, so without a user. */
const noUser = Object.freeze({ name: '', uid: '', groups: [], extra: {} })
