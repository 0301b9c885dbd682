import { int32, int64, struct } from '../../api/schema/build.ts'
import { probeHandlerSchema } from './handler.ts'

/** Asked again and again while a container lives. What only some probes may say is checked by the container. */
export const probeSchema = struct(
  'core.v1.Probe',
  'How and how often to find out how a container is.',
  {
    initialDelaySeconds: int32(2, 'Seconds from the start of the container to the first time.', {
      minimum: 0,
    }),
    timeoutSeconds: int32(3, 'Seconds after which no answer is a failure.', { minimum: 0, default: 1 }),
    periodSeconds: int32(4, 'Seconds from one time to the next.', { minimum: 0, default: 10 }),
    successThreshold: int32(5, 'Successes in a row that make up for a failure.', { minimum: 0, default: 1 }),
    failureThreshold: int32(6, 'Failures in a row that count.', { minimum: 0, default: 3 }),
    terminationGracePeriodSeconds: int64(
      7,
      'Seconds that the container gets to end when this probe fails; unset: as the Pod says.',
      { optional: true },
    ),
  },
  { inline: [{ number: 1, schema: probeHandlerSchema }] },
)
