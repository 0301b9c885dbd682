import {
  flag,
  int32,
  int64,
  intOrString,
  listOf,
  maybe,
  part,
  struct,
  text,
  time,
} from '../../api/schema/build.ts'
import { requiredSelector } from '../common/selector.ts'
import { podTemplateSpecSchema } from '../pods/pod-template-spec.ts'

const deploymentConditionSchema = struct('apps.v1.DeploymentCondition', 'A condition of a Deployment.', {
  type: text(1, 'Type of the condition: Available, Progressing or ReplicaFailure.', { required: true }),
  status: text(2, 'Status of the condition: True, False or Unknown.', { required: true }),
  lastUpdateTime: time(6, 'Time of the last update of the condition.'),
  lastTransitionTime: time(7, 'Time of the last change of the status.'),
  reason: text(4, 'Machine-readable reason, in CamelCase.'),
  message: text(5, 'Human-readable message.'),
})

const rollingUpdateDeploymentSchema = struct(
  'apps.v1.RollingUpdateDeployment',
  'Limits of a rolling update.',
  {
    maxUnavailable: intOrString(
      1,
      'How many Pods may be unavailable during an update: a number or a percentage.',
      { optional: true },
    ),
    maxSurge: intOrString(
      2,
      'How many Pods there may be above the desired number: a number or a percentage.',
      { optional: true },
    ),
  },
)

const deploymentStrategySchema = struct(
  'apps.v1.DeploymentStrategy',
  'How old Pods are replaced by new ones.',
  {
    type: text(1, 'Type of the strategy: RollingUpdate or Recreate.', {
      enum: ['Recreate', 'RollingUpdate'],
      default: 'RollingUpdate',
    }),
    rollingUpdate: maybe(2, rollingUpdateDeploymentSchema, 'Limits of a rolling update.'),
  },
  { patchStrategy: 'retainKeys' },
)

export const deploymentSpecSchema = struct('apps.v1.DeploymentSpec', 'Desired state of a Deployment.', {
  replicas: int32(1, 'Desired number of Pods.', { optional: true, default: 1, minimum: 0 }),
  selector: requiredSelector(2, 'Selector of the Pods; immutable.'),
  template: part(3, podTemplateSpecSchema, 'Template of the Pods.', { always: true, required: true }),
  strategy: part(4, deploymentStrategySchema, 'How old Pods are replaced by new ones.', { always: true }),
  minReadySeconds: int32(5, 'How long a new Pod must be ready to be available, in seconds.', { minimum: 0 }),
  revisionHistoryLimit: int32(6, 'How many old ReplicaSets are kept for a rollback.', {
    optional: true,
    default: 10,
    minimum: 0,
  }),
  paused: flag(7, 'Whether the rollout is paused.'),
  progressDeadlineSeconds: int32(
    9,
    'How long a rollout may make no progress before it has failed, in seconds.',
    { optional: true, default: 600, minimum: 0 },
  ),
})

const deploymentStatusSchema = struct('apps.v1.DeploymentStatus', 'Observed state of a Deployment.', {
  observedGeneration: int64(1, 'Generation that the controller acted on last.', { minimum: 0 }),
  replicas: int32(2, 'Number of Pods.', { minimum: 0 }),
  updatedReplicas: int32(3, 'Number of Pods of the current template.', { minimum: 0 }),
  readyReplicas: int32(7, 'Number of ready Pods.', { minimum: 0 }),
  availableReplicas: int32(4, 'Number of available Pods.', { minimum: 0 }),
  unavailableReplicas: int32(
    5,
    'Number of Pods that are still needed until all desired Pods are available.',
    { minimum: 0 },
  ),
  conditions: listOf(6, deploymentConditionSchema, 'Conditions of the Deployment.', {
    patchMergeKey: 'type',
    patchStrategy: 'merge',
  }),
  collisionCount: int32(
    8,
    'How often the name of a new ReplicaSet was already in use; part of the hash for its name.',
    { optional: true, minimum: 0 },
  ),
})

export const deploymentSchema = struct(
  'apps.v1.Deployment',
  'A set of equal Pods, and how they are replaced by others.',
  {
    spec: part(2, deploymentSpecSchema, 'Desired state of the Deployment.'),
    status: part(3, deploymentStatusSchema, 'Observed state; set by the controller.'),
  },
)
