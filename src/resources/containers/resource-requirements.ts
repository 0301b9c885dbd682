import { quantities, struct } from '../../api/schema/build.ts'

/** Of a container, or of the volume that a claim asks for; their rules differ. */
export const resourceRequirementsSchema = struct(
  'core.v1.ResourceRequirements',
  'How much of which resources is asked for, and how much is allowed.',
  {
    limits: quantities(1, 'The most that may be used, by resource.'),
    requests: quantities(2, 'What is set aside at least, by resource.'),
  },
)
