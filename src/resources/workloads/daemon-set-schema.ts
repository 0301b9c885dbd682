import { int32, int64, intOrString, listOf, maybe, part, struct, text, time } from '../../api/schema/build.ts'
import { requiredSelector } from '../common/selector.ts'
import { podTemplateSpecSchema } from '../pods/pod-template-spec.ts'

const daemonSetConditionSchema = struct('apps.v1.DaemonSetCondition', 'A condition of a DaemonSet.', {
  type: text(1, 'Type of the condition.', { required: true }),
  status: text(2, 'Status of the condition: True, False or Unknown.', { required: true }),
  lastTransitionTime: time(3, 'Time of the last change of the status.'),
  reason: text(4, 'Machine-readable reason, in CamelCase.'),
  message: text(5, 'Human-readable message.'),
})

const rollingUpdateDaemonSetSchema = struct('apps.v1.RollingUpdateDaemonSet', 'Limits of a rolling update.', {
  maxUnavailable: intOrString(1, 'On how many nodes the Pod may be unavailable: a number or a percentage.', {
    optional: true,
  }),
  maxSurge: intOrString(
    2,
    'On how many nodes a new Pod may run together with the old one: a number or a percentage.',
    { optional: true },
  ),
})

const daemonSetUpdateStrategySchema = struct(
  'apps.v1.DaemonSetUpdateStrategy',
  'How Pods are replaced after a change of the template.',
  {
    type: text(1, 'Type of the strategy: RollingUpdate or OnDelete.', {
      enum: ['OnDelete', 'RollingUpdate'],
      default: 'RollingUpdate',
    }),
    rollingUpdate: maybe(2, rollingUpdateDaemonSetSchema, 'Limits of a rolling update.'),
  },
)

export const daemonSetSpecSchema = struct('apps.v1.DaemonSetSpec', 'Desired state of a DaemonSet.', {
  selector: requiredSelector(1, 'Selector of the Pods; immutable.'),
  template: part(2, podTemplateSpecSchema, 'Template of the Pods.', { always: true, required: true }),
  updateStrategy: part(
    3,
    daemonSetUpdateStrategySchema,
    'How Pods are replaced after a change of the template.',
  ),
  minReadySeconds: int32(4, 'How long a new Pod must be ready to be available, in seconds.', { minimum: 0 }),
  revisionHistoryLimit: int32(6, 'How many old revisions are kept for a rollback.', {
    optional: true,
    default: 10,
    minimum: 0,
  }),
})

const daemonSetStatusSchema = struct('apps.v1.DaemonSetStatus', 'Observed state of a DaemonSet.', {
  currentNumberScheduled: int32(1, 'Number of nodes that run a Pod and should.', {
    required: true,
    always: true,
    minimum: 0,
  }),
  numberMisscheduled: int32(2, 'Number of nodes that run a Pod and should not.', {
    required: true,
    always: true,
    minimum: 0,
  }),
  desiredNumberScheduled: int32(3, 'Number of nodes that should run a Pod.', {
    required: true,
    always: true,
    minimum: 0,
  }),
  numberReady: int32(4, 'Number of nodes with a ready Pod.', { required: true, always: true, minimum: 0 }),
  observedGeneration: int64(5, 'Generation that the controller acted on last.', { minimum: 0 }),
  updatedNumberScheduled: int32(6, 'Number of nodes with a Pod of the current template.', { minimum: 0 }),
  numberAvailable: int32(7, 'Number of nodes with an available Pod.', { minimum: 0 }),
  numberUnavailable: int32(8, 'Number of nodes that should have an available Pod and do not.', {
    minimum: 0,
  }),
  collisionCount: int32(9, 'How often the name of a new revision was taken.', { optional: true, minimum: 0 }),
  conditions: listOf(10, daemonSetConditionSchema, 'Conditions of the DaemonSet.', {
    patchMergeKey: 'type',
    patchStrategy: 'merge',
  }),
})

export const daemonSetSchema = struct('apps.v1.DaemonSet', 'A Pod on each node, or on some of them.', {
  spec: part(2, daemonSetSpecSchema, 'Desired state of the DaemonSet.'),
  status: part(3, daemonSetStatusSchema, 'Observed state; set by the controller.'),
})
