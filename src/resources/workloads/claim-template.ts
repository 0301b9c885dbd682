import type { ObjectSchema } from '../../api/schema/schema.ts'
import { wholeObject } from '../../api/schema/shared.ts'
import { claimSchema } from '../persistent-volume-claim.ts'

const whole = wholeObject(claimSchema)

/**
 * A claim inside of a template: a whole object. Its kind and apiVersion have defaults, because
 * protobuf messages do not carry them.
 */
export const claimTemplateSchema: ObjectSchema = {
  ...whole,
  properties: {
    ...whole.properties,
    apiVersion: { type: 'string', default: 'v1', description: 'Group and version of the claim.' },
    kind: { type: 'string', default: 'PersistentVolumeClaim', description: 'Kind of the claim.' },
  },
}
