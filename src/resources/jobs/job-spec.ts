import { flag, int32, int64, maybe, part, struct, text } from '../../api/schema/build.ts'
import { selectorSchema } from '../common/selector.ts'
import { podTemplateSpecSchema } from '../pods/pod-template-spec.ts'

/**
 * The spec of a Job, and of the template of a CronJob. It has no defaults, because such a template
 * gets none.
 */

export const jobSpecSchema = struct('batch.v1.JobSpec', 'Desired state of a Job.', {
  parallelism: int32(1, 'How many Pods may run at the same time.', { optional: true, minimum: 0 }),
  completions: int32(2, 'How many Pods must succeed; unset means that the success of one ends the Job.', {
    optional: true,
    minimum: 0,
  }),
  activeDeadlineSeconds: int64(3, 'How long the Job may run before it is ended, in seconds.', {
    optional: true,
    minimum: 0,
  }),
  backoffLimit: int32(7, 'How many failures are retried before the Job has failed.', {
    optional: true,
    minimum: 0,
  }),
  selector: maybe(4, selectorSchema, 'Selector of the Pods; generated unless manualSelector is true.'),
  manualSelector: flag(5, 'Whether the selector is that of the client.', { optional: true }),
  template: part(6, podTemplateSpecSchema, 'Template of the Pods.', { always: true, required: true }),
  ttlSecondsAfterFinished: int32(8, 'How long a finished Job is kept, in seconds; unset means forever.', {
    optional: true,
    minimum: 0,
  }),
  completionMode: text(
    9,
    'How completions are counted: NonIndexed, or Indexed where each Pod has an index.',
    { optional: true, enum: ['Indexed', 'NonIndexed'] },
  ),
  suspend: flag(10, 'Whether the Job is suspended; its Pods are deleted then.', { optional: true }),
})
