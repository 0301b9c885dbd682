import { struct, text } from '../../api/schema/build.ts'
import type { ObjectSchema } from '../../api/schema/schema.ts'

/**
 * A reference to another object, or to a part of it. The referring kind defines which members are
 * used.
 */
export const objectReferenceSchema: ObjectSchema = struct(
  'core.v1.ObjectReference',
  'Reference to another object, or to a part of it.',
  {
    kind: text(1, 'Kind of the object.'),
    namespace: text(2, 'Namespace of the object.'),
    name: text(3, 'Name of the object.'),
    uid: text(4, 'UID of the object.'),
    apiVersion: text(5, 'API version of the object.'),
    resourceVersion: text(6, 'Resource version of the referenced object.'),
    fieldPath: text(7, 'Path of the referenced part, such as spec.containers{name}.'),
  },
  { mapType: 'atomic' },
)
