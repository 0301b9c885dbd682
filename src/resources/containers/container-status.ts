import { flag, int32, listOf, maybe, part, struct, text, time } from '../../api/schema/build.ts'
import type { Field } from '../../api/schema/build.ts'

/** How a container is, as the node tells it. */

const said = { required: true, always: true } as const

const containerStateWaitingSchema = struct('core.v1.ContainerStateWaiting', 'It does not run yet.', {
  reason: text(1, 'Why, in one word for programs.'),
  message: text(2, 'Why, for people.'),
})

const containerStateRunningSchema = struct('core.v1.ContainerStateRunning', 'It runs.', {
  startedAt: time(1, 'Since when.'),
})

const containerStateTerminatedSchema = struct('core.v1.ContainerStateTerminated', 'It has ended.', {
  exitCode: int32(1, 'With which exit code.', said),
  signal: int32(2, 'By which signal.'),
  reason: text(3, 'Why, in one word for programs.'),
  message: text(4, 'Why, for people.'),
  startedAt: time(5, 'When it began.'),
  finishedAt: time(6, 'When it ended.'),
  containerID: text(7, 'Which it was, as type://id.'),
})

const containerStateSchema = struct('core.v1.ContainerState', 'One of the three; none is waiting.', {
  waiting: maybe(1, containerStateWaitingSchema, 'It does not run yet.'),
  running: maybe(2, containerStateRunningSchema, 'It runs.'),
  terminated: maybe(3, containerStateTerminatedSchema, 'It has ended.'),
})

const containerStatusSchema = struct('core.v1.ContainerStatus', 'How a container is.', {
  name: text(1, 'Its name in the Pod.', said),
  state: part(2, containerStateSchema, 'How it is now.'),
  lastState: part(3, containerStateSchema, 'How the one before it ended.'),
  ready: flag(4, 'Whether it can serve.', said),
  restartCount: int32(5, 'How often it was started anew, as far as is known.', said),
  image: text(6, 'The image it runs.', said),
  imageID: text(7, 'Exactly which image that is.', said),
  containerID: text(8, 'Which it is, as type://id.'),
  started: flag(9, 'Whether it has started, by its startup probe.', { optional: true }),
})

export function containerStatuses(number: number, words: string): Field {
  return listOf(number, containerStatusSchema, words)
}
