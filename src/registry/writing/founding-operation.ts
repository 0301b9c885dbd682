import { assert } from '../../../base/assert.ts'
import type { Clock } from '../../../base/clock.ts'
import type { Random } from '../../../base/random.ts'
import { emptyObject } from '../../api/apply/empty-object.ts'
import { oneVersion } from '../../api/apply/kind-versions.ts'
import { managedFieldsOf } from '../../api/apply/managers.ts'
import { mergeTypeOf } from '../../api/apply/merge-type.ts'
import { trackUpdate } from '../../api/apply/ownership.ts'
import { formatTime } from '../../api/metadata/time.ts'
import { conform } from '../../api/schema/conform.ts'
import { applyDefaults } from '../../api/schema/default.ts'
import type { Operation } from '../../store/command.ts'
import { keyOf } from '../../store/key.ts'
import { ownUserAgent } from '../calls/own-user-agent.ts'
import type { WholeSchemas } from '../calls/verb-dependencies.ts'
import { apiVersionOf, placeOf } from '../kinds/definition.ts'
import type { AnyObject, ResourceDefinition } from '../kinds/definition.ts'
import { encode } from '../kinds/encode.ts'
import { stampCreated } from '../kinds/metadata.ts'
import { setByServer, withManagedFields } from './manage-fields.ts'

export type FoundingDependencies = {
  readonly clock: Clock
  readonly random: Random
  readonly schemas: WholeSchemas
}

/**
 * Returns an object of the server as an operation of the first command of a cluster. It is stored
 * like one that the server creates with its own client, but without a request, admission and
 * validation: with all of them, a new cluster would take much longer to be ready.
 *
 * @param object valid, of a kind that is stored in the version of the definition
 */
export function foundingOperation(
  definition: ResourceDefinition,
  object: AnyObject,
  { clock, random, schemas }: FoundingDependencies,
): Operation {
  const { hooks, storedAs } = definition
  const { name = '', namespace = null } = object.metadata
  assert(storedAs === undefined, `${definition.plural} are stored in this version`)
  const schema = schemas.of(definition)
  const { value, unknown } = conform(schema, object)
  assert(unknown.length === 0, `${definition.plural} ${name} has only known fields`)
  // Conforming to a schema with metadata checks the type.
  const whole = applyDefaults(schema, value) as AnyObject
  const stamped = stampCreated(hooks.fillDefaults?.(whole) ?? whole, namespace, {
    ...{ clock, random, definition },
  })
  const time = formatTime(clock.wallMs())
  const prepared = hooks.prepareForCreate?.(stamped, { user: noUser, time }) ?? stamped
  const type = mergeTypeOf(schema)
  const apiVersion = apiVersionOf(definition)
  const owners = trackUpdate(
    {
      ...{ type, before: emptyObject(schema), after: stamped, versions: oneVersion(type, apiVersion) },
      except: setByServer(type, { shaped: stamped, prepared, pathsMax: Number.MAX_SAFE_INTEGER }),
    },
    new Map(),
    { writer: { manager: ownUserAgent, apiVersion, subresource: '', time }, updatersMax: 1 },
  )
  const managed = withManagedFields(prepared, managedFieldsOf(owners))
  const key = keyOf({ namespace: namespace ?? '', name, ...placeOf(definition) })
  return { kind: 'put', key, conditions: [{ kind: 'absent' }], object: encode(managed) }
}

/** The objects are created without a request, so without a user. */
const noUser = Object.freeze({ name: '', uid: '', groups: [], extra: {} })
