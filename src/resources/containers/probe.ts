import { int32, int64, struct } from '../../api/schema/build.ts'
import { probeHandlerSchema } from './handler.ts'

/**
 * A periodic health check of a container. The schema of containers has the rules for members that
 * only some types of probes may have.
 */
export const probeSchema = struct(
  'core.v1.Probe',
  'A health check of a container.',
  {
    initialDelaySeconds: int32(
      2,
      'Delay in seconds between the start of the container and the first probe.',
      {
        minimum: 0,
      },
    ),
    timeoutSeconds: int32(3, 'Timeout of a probe in seconds.', { minimum: 0, default: 1 }),
    periodSeconds: int32(4, 'Interval between probes in seconds.', { minimum: 0, default: 10 }),
    successThreshold: int32(5, 'Consecutive successes after a failure that count as success.', {
      minimum: 0,
      default: 1,
    }),
    failureThreshold: int32(6, 'Consecutive failures that count as failure.', { minimum: 0, default: 3 }),
    terminationGracePeriodSeconds: int64(
      7,
      "Grace period in seconds after a failure of this probe; the Pod's when unset.",
      { optional: true },
    ),
  },
  { inline: [{ number: 1, schema: probeHandlerSchema }] },
)
