/*
 * Goal: common mistakes in a StatefulSet have upstream's status, reason, causes and words.
 * Method: one change of a valid object for each row, through the shipped verbs.
 */
import type { JsonObject } from '../../../../../src/api/json.ts'
import { refuseNew, refuseUpdates } from './mistakes.ts'
import { deadlineMistake, otherSelector, ownerMistakes, workload } from './template-mistakes.ts'
import { NO_MATCH, NOT_NEGATIVE } from './words.ts'

const claim = {
  metadata: { name: 'data' },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
}
const body = workload({ serviceName: 'web', volumeClaimTemplates: [claim] })
const valid = { kind: 'StatefulSet', group: 'apps', body }
const at = 'spec.updateStrategy'
const strategy = (updateStrategy: JsonObject): JsonObject => ({ spec: { updateStrategy } })

refuseNew(valid, [
  ...ownerMistakes('statefulset'),
  deadlineMistake('activeDeadlineSeconds in StatefulSet is not Supported'),
  [
    'no selector',
    { spec: { selector: null } },
    'FieldValueRequired spec.selector: Required value',
    `FieldValueInvalid spec.template.metadata.labels: Invalid value: map[string]string{"app":"web"}: ${NO_MATCH}`,
  ],
  [
    'a negative number of replicas',
    { spec: { replicas: -1 } },
    `FieldValueInvalid spec.replicas: Invalid value: -1: ${NOT_NEGATIVE}`,
  ],
  [
    'an unknown order of the Pods',
    { spec: { podManagementPolicy: 'Random' } },
    'FieldValueInvalid spec.podManagementPolicy: Invalid value: "Random": ' +
      "must be 'OrderedReady' or 'Parallel'",
  ],
  [
    'the strategy of a Deployment',
    strategy({ type: 'Recreate' }),
    `FieldValueInvalid ${at}.type: Invalid value: "Recreate": must be 'RollingUpdate' or 'OnDelete'`,
  ],
  [
    'a negative partition',
    strategy({ rollingUpdate: { partition: -1 } }),
    `FieldValueInvalid ${at}.rollingUpdate.partition: Invalid value: -1: ${NOT_NEGATIVE}`,
  ],
  [
    'a partition without a rolling update',
    strategy({ type: 'OnDelete', rollingUpdate: { partition: 1 } }),
    `FieldValueInvalid ${at}.rollingUpdate: Invalid value: …: only allowed for updateStrategy 'RollingUpdate'`,
  ],
])

const fixed =
  "FieldValueForbidden spec: Forbidden: updates to statefulset spec for fields other than 'replicas', " +
  "'template', 'updateStrategy', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
const larger = { ...claim, spec: { ...claim.spec, resources: { requests: { storage: '2Gi' } } } }

refuseUpdates(valid, [
  ['another Service', { spec: { serviceName: 'api' } }, fixed],
  ['larger claims', { spec: { volumeClaimTemplates: [larger] } }, fixed],
  ['no claims', { spec: { volumeClaimTemplates: null } }, fixed],
  ['another order of the Pods', { spec: { podManagementPolicy: 'Parallel' } }, fixed],
  ['another selector', otherSelector.change, fixed],
  ['another number of kept revisions', { spec: { revisionHistoryLimit: 3 } }, fixed],
])
