import type { Json, JsonObject, JsonObjectDraft } from '../../../src/api/json.ts'
import { objectMember } from '../../../src/api/json.ts'
import type { Hint, Hints, Mend, ObjectMaker } from './hint.ts'

/**
 * Like `full-object-hints.ts`, for kinds that create Pods. Their templates are small, with all
 * members that have defaults: the kinds Pod and PodTemplate cover the others.
 */

const one =
  (value: Json): Hint =>
  () =>
    value
const leftOut: Hint = () => undefined

/** Returns a template that a selector with its labels selects. */
function smallTemplate(maker: ObjectMaker, restartPolicy: string): JsonObject {
  const container = {
    ...{ name: maker.word(), image: `registry.example.com/${maker.word()}:1.0`, resources: {} },
    ...{ terminationMessagePath: '/dev/termination-log', terminationMessagePolicy: 'File' },
    imagePullPolicy: 'IfNotPresent',
  }
  return {
    metadata: { creationTimestamp: null, labels: { app: maker.word() } },
    spec: {
      ...{ containers: [container], restartPolicy, terminationGracePeriodSeconds: 30 },
      ...{ dnsPolicy: 'ClusterFirst', securityContext: {}, schedulerName: 'default-scheduler' },
    },
  }
}

const lasting: Hint = (maker) => smallTemplate(maker, 'Always')
const all = one(100)

export const workloadHints: Hints = {
  'core.v1.ReplicationControllerSpec.template': lasting,
  'core.v1.ReplicationControllerStatus.replicas': all,
  'core.v1.ReplicationControllerStatus.readyReplicas': all,
  'apps.v1.DeploymentSpec.template': lasting,
  'apps.v1.DeploymentSpec.progressDeadlineSeconds': one(600),
  'apps.v1.DeploymentStrategy.type': one('RollingUpdate'),
  'apps.v1.RollingUpdateDeployment.maxUnavailable': one('30%'),
  'apps.v1.RollingUpdateDeployment.maxSurge': one(3),
  'apps.v1.DeploymentStatus.replicas': all,
  'apps.v1.DeploymentStatus.readyReplicas': all,
  'apps.v1.ReplicaSetSpec.template': lasting,
  'apps.v1.ReplicaSetStatus.replicas': all,
  'apps.v1.ReplicaSetStatus.readyReplicas': all,
  'apps.v1.StatefulSetSpec.template': lasting,
  'apps.v1.StatefulSetSpec.podManagementPolicy': one('Parallel'),
  'apps.v1.StatefulSetUpdateStrategy.type': one('RollingUpdate'),
  // Alpha in this release.
  'apps.v1.RollingUpdateStatefulSetStrategy.maxUnavailable': leftOut,
  'apps.v1.StatefulSetSpec.persistentVolumeClaimRetentionPolicy': leftOut,
  'apps.v1.StatefulSetStatus.replicas': all,
  'apps.v1.StatefulSetStatus.readyReplicas': all,
  'batch.v1.JobSpec.template': (maker) => smallTemplate(maker, 'Never'),
  'batch.v1.JobSpec.completionMode': one('Indexed'),
  'batch.v1.JobSpec.manualSelector': one(true),
  // Alpha in this release.
  'batch.v1.CronJobSpec.timeZone': leftOut,
  'batch.v1.CronJobSpec.schedule': one('*/5 1-3 * jan mon,fri'),
  'batch.v1.CronJobSpec.concurrencyPolicy': one('Forbid'),
  'batch.v1.JobTemplateSpec.metadata': (maker) => ({
    ...{ creationTimestamp: null, labels: { app: maker.word() } },
  }),
  'policy.v1.PodDisruptionBudgetSpec.minAvailable': leftOut,
  'policy.v1.PodDisruptionBudgetSpec.maxUnavailable': one('50%'),
  'core.v1.PersistentVolumeClaim.apiVersion': one('v1'),
  'core.v1.PersistentVolumeClaim.kind': one('PersistentVolumeClaim'),
  'core.v1.PersistentVolumeClaim.metadata': (maker) => ({ creationTimestamp: null, name: maker.word() }),
  'apps.v1.DaemonSetSpec.template': lasting,
  'apps.v1.DaemonSetUpdateStrategy.type': one('RollingUpdate'),
  'apps.v1.RollingUpdateDaemonSet.maxUnavailable': one(0),
  'apps.v1.RollingUpdateDaemonSet.maxSurge': one('10%'),
}

/** Selects the Pods of the template. */
const selecting: Mend = (draft) => {
  const labels = objectMember(objectMember(objectMember(draft, 'template'), 'metadata'), 'labels')
  draft['selector'] = { matchLabels: labels, matchExpressions: [{ key: 'app', operator: 'Exists' }] }
}

export const workloadMends: { readonly [shape: string]: Mend } = {
  'core.v1.ReplicationControllerSpec': (draft) => {
    draft['selector'] = objectMember(objectMember(objectMember(draft, 'template'), 'metadata'), 'labels')
  },
  'apps.v1.DeploymentSpec': selecting,
  'apps.v1.ReplicaSetSpec': selecting,
  'apps.v1.StatefulSetSpec': selecting,
  'apps.v1.DaemonSetSpec': selecting,
  'batch.v1.JobSpec': selecting,
  'batch.v1.JobTemplateSpec': (draft) => {
    const spec: JsonObjectDraft = { ...objectMember(draft, 'spec') }
    for (const name of ['selector', 'manualSelector']) delete spec[name]
    draft['spec'] = spec
  },
}
