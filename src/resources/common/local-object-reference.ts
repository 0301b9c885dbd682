import { struct, text } from '../../api/schema/build.ts'

/** By name, in the namespace of the object that refers. */
export const localObjectReferenceSchema = struct(
  'core.v1.LocalObjectReference',
  'Reference to an object in the same namespace.',
  { name: text(1, 'Name of the object.') },
  { mapType: 'atomic' },
)
