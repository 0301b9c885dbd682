import { struct, text } from '../../api/schema/build.ts'
import type { ObjectSchema } from '../../api/schema/schema.ts'

/** Another object, or a part of one; which members mean anything is for whoever refers to say. */
export const objectReferenceSchema: ObjectSchema = struct(
  'core.v1.ObjectReference',
  'Names another object, or a part of it.',
  {
    kind: text(1, 'Kind of the object.'),
    namespace: text(2, 'Namespace of the object.'),
    name: text(3, 'Name of the object.'),
    uid: text(4, 'Identity of the object.'),
    apiVersion: text(5, 'Group and version in which the object is meant.'),
    resourceVersion: text(6, 'The version of the object that is meant.'),
    fieldPath: text(7, 'The part that is meant, such as spec.containers{name}.'),
  },
  { mapType: 'atomic' },
)
