import { flag, int32, listOf, maybe, part, struct, text, time } from '../../api/schema/build.ts'
import type { Field } from '../../api/schema/build.ts'

/** The state of a container, as reported by its node. */

const given = { required: true, always: true } as const

const containerStateWaitingSchema = struct(
  'core.v1.ContainerStateWaiting',
  'State of a container that is not running yet.',
  {
    reason: text(1, 'Machine-readable reason, in CamelCase.'),
    message: text(2, 'Human-readable message.'),
  },
)

const containerStateRunningSchema = struct('core.v1.ContainerStateRunning', 'State of a running container.', {
  startedAt: time(1, 'Start time.'),
})

const containerStateTerminatedSchema = struct(
  'core.v1.ContainerStateTerminated',
  'State of a container that has terminated.',
  {
    exitCode: int32(1, 'Exit code.', given),
    signal: int32(2, 'Signal that terminated the container.'),
    reason: text(3, 'Machine-readable reason, in CamelCase.'),
    message: text(4, 'Human-readable message.'),
    startedAt: time(5, 'Start time.'),
    finishedAt: time(6, 'Termination time.'),
    containerID: text(7, 'ID of the container, as type://id.'),
  },
)

const containerStateSchema = struct(
  'core.v1.ContainerState',
  'State of a container; exactly one member is set, waiting by default.',
  {
    waiting: maybe(1, containerStateWaitingSchema, 'Details of a waiting container.'),
    running: maybe(2, containerStateRunningSchema, 'Details of a running container.'),
    terminated: maybe(3, containerStateTerminatedSchema, 'Details of a terminated container.'),
  },
)

const containerStatusSchema = struct('core.v1.ContainerStatus', 'Observed state of a container.', {
  name: text(1, 'Name of the container.', given),
  state: part(2, containerStateSchema, 'Current state.'),
  lastState: part(3, containerStateSchema, 'Final state of the previous run.'),
  ready: flag(4, 'Whether the container is ready to serve traffic.', given),
  restartCount: int32(5, 'Known number of restarts.', given),
  image: text(6, 'Image that the container runs.', given),
  imageID: text(7, 'ID of the image.', given),
  containerID: text(8, 'ID of the container, as type://id.'),
  started: flag(9, 'Whether the startup probe has succeeded.', { optional: true }),
})

export function containerStatuses(number: number, words: string): Field {
  return listOf(number, containerStatusSchema, words)
}
