import { int32, listOf, maybe, part, struct, text, texts, time } from '../../api/schema/build.ts'
import { checkUncounted } from './job-rules.ts'
import { jobSpecSchema } from './job-spec.ts'

const jobConditionSchema = struct('batch.v1.JobCondition', 'A condition of a Job.', {
  type: text(1, 'Type of the condition: Suspended, Complete or Failed.', { required: true }),
  status: text(2, 'Status of the condition: True, False or Unknown.', { required: true }),
  lastProbeTime: time(3, 'Time of the last check of the condition.'),
  lastTransitionTime: time(4, 'Time of the last change of the status.'),
  reason: text(5, 'Machine-readable reason, in CamelCase.'),
  message: text(6, 'Human-readable message.'),
})

const uncountedTerminatedPodsSchema = struct(
  'batch.v1.UncountedTerminatedPods',
  'Finished Pods that the counts do not include yet.',
  {
    succeeded: texts(1, 'UIDs of Pods that succeeded.', { listType: 'set' }),
    failed: texts(2, 'UIDs of Pods that failed.', { listType: 'set' }),
  },
  { check: checkUncounted },
)

const jobStatusSchema = struct('batch.v1.JobStatus', 'Observed state of a Job.', {
  conditions: listOf(1, jobConditionSchema, 'Conditions of the Job.', {
    patchMergeKey: 'type',
    patchStrategy: 'merge',
    listType: 'atomic',
  }),
  startTime: time(2, 'Time at which the Job was started, or resumed.', { optional: true }),
  completionTime: time(3, 'Time at which the Job succeeded.', { optional: true }),
  active: int32(4, 'Number of Pods that run or wait to run.', { minimum: 0 }),
  succeeded: int32(5, 'Number of Pods that succeeded.', { minimum: 0 }),
  failed: int32(6, 'Number of Pods that failed.', { minimum: 0 }),
  completedIndexes: text(7, 'Indexes that have succeeded, such as 1,3-5.'),
  uncountedTerminatedPods: maybe(
    8,
    uncountedTerminatedPodsSchema,
    'Finished Pods that the counts do not include yet.',
  ),
  ready: int32(9, 'Number of active Pods that are ready.', { optional: true, minimum: 0 }),
})

export const jobSchema = struct('batch.v1.Job', 'Pods that run until they have succeeded.', {
  spec: part(2, jobSpecSchema, 'Desired state of the Job.'),
  status: part(3, jobStatusSchema, 'Observed state; set by the controller.'),
})
