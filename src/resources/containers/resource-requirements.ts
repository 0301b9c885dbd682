import { quantities, struct } from '../../api/schema/build.ts'

/** Requirements of a container or of a claim's volume; their validation rules differ. */
export const resourceRequirementsSchema = struct(
  'core.v1.ResourceRequirements',
  'Compute resource requests and limits.',
  {
    limits: quantities(1, 'Maximum amounts, by resource.'),
    requests: quantities(2, 'Guaranteed amounts, by resource.'),
  },
)
