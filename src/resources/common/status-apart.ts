import type { JsonObject } from '../../api/json.ts'
import { applyDefaults } from '../../api/schema/default.ts'
import type { ObjectSchema } from '../../api/schema/schema.ts'
import type { ResourceHooks } from '../../registry/kinds/definition.ts'
import { keeping } from './status-subresource.ts'

/** Hooks of a kind whose status only `/status` writes: a new object has the empty status. */
export function statusApart(
  schema: ObjectSchema,
): Required<Pick<ResourceHooks, 'prepareForCreate' | 'prepareForUpdate'>> {
  const status = emptyStatus(schema)
  return {
    prepareForCreate: (object) => ({ ...object, status }),
    prepareForUpdate: (object, current) => keeping(object, current, 'status'),
  }
}

/** Returns the status with those members that JSON always has. */
export function emptyStatus({ properties }: ObjectSchema): JsonObject {
  const { status } = properties
  return status?.type === 'object' ? applyDefaults(status, {}) : {}
}
