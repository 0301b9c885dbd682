import { struct, text } from '../../api/schema/build.ts'

/** A reference by name, in the namespace of the referring object. */
export const localObjectReferenceSchema = struct(
  'core.v1.LocalObjectReference',
  'Reference to an object in the same namespace.',
  { name: text(1, 'Name of the object.') },
  { mapType: 'atomic' },
)
