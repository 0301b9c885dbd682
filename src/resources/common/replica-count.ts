import { numberMember, objectMember } from '../../api/json.ts'
import type { SelectableField } from '../../registry/kinds/definition.ts'

/** `status.replicas` for field selectors. */
export const replicaCount: SelectableField = Object.freeze({
  name: 'status.replicas',
  textOf: (object) => String(numberMember(objectMember(object, 'status'), 'replicas') ?? 0),
})
