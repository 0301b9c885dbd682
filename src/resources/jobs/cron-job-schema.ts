import { flag, int32, int64, listOf, part, struct, text, time } from '../../api/schema/build.ts'
import { objectMetaSchema } from '../../api/schema/shared.ts'
import { objectReferenceSchema } from '../common/object-reference.ts'
import { jobSpecSchema } from './job-spec.ts'

const jobTemplateSpecSchema = struct('batch.v1.JobTemplateSpec', 'Template for Jobs.', {
  metadata: part(1, objectMetaSchema, 'Labels and annotations of the Jobs.'),
  spec: part(2, jobSpecSchema, 'Desired state of the Jobs.'),
})

const cronJobSpecSchema = struct('batch.v1.CronJobSpec', 'Desired state of a CronJob.', {
  schedule: text(1, 'When Jobs are started, in the five fields of cron.', { required: true }),
  timeZone: text(8, 'Time zone of the schedule; alpha, dropped.', { optional: true }),
  startingDeadlineSeconds: int64(2, 'How late a Job may start, in seconds.', { optional: true, minimum: 0 }),
  concurrencyPolicy: text(3, 'What happens if the last Job still runs: Allow, Forbid or Replace.', {
    enum: ['Allow', 'Forbid', 'Replace'],
    default: 'Allow',
  }),
  suspend: flag(4, 'Whether no further Jobs are started.', { optional: true, default: false }),
  jobTemplate: part(5, jobTemplateSpecSchema, 'Template of the Jobs.', { always: true, required: true }),
  successfulJobsHistoryLimit: int32(6, 'How many succeeded Jobs are kept.', {
    optional: true,
    default: 3,
    minimum: 0,
  }),
  failedJobsHistoryLimit: int32(7, 'How many failed Jobs are kept.', {
    optional: true,
    default: 1,
    minimum: 0,
  }),
})

const cronJobStatusSchema = struct('batch.v1.CronJobStatus', 'Observed state of a CronJob.', {
  active: listOf(1, objectReferenceSchema, 'Jobs that run.', { listType: 'atomic' }),
  lastScheduleTime: time(4, 'Time of the last start of a Job.', { optional: true }),
  lastSuccessfulTime: time(5, 'Time of the last success of a Job.', { optional: true }),
})

export const cronJobSchema = struct('batch.v1.CronJob', 'Jobs that are started by a schedule.', {
  spec: part(2, cronJobSpecSchema, 'Desired state of the CronJob.'),
  status: part(3, cronJobStatusSchema, 'Observed state; set by the controller.'),
})
