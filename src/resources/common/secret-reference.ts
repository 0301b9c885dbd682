import { struct, text } from '../../api/schema/build.ts'

/** A reference by name and namespace, for cluster-scoped objects. */
export const secretReferenceSchema = struct(
  'core.v1.SecretReference',
  'Reference to a Secret in any namespace.',
  {
    name: text(1, 'Name of the Secret.'),
    namespace: text(2, 'Namespace of the Secret.'),
  },
  { mapType: 'atomic' },
)
