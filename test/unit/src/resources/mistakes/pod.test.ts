/*
 * Goal: common mistakes in a Pod have upstream's status, reason, causes and words.
 * Method: one change of a valid Pod for each row, through the shipped verbs.
 */
import { refuseNew, refuseUpdates } from './mistakes.ts'
import { container, podMistakes } from './pod-mistakes.ts'
import { LABEL, LABEL_VALUE, NO_NAME, QUALIFIED_NAME, SUBDOMAIN } from './words.ts'

const kind = 'Pod'
const body = { metadata: { name: 'web' }, spec: { containers: [container] } }

refuseNew({ kind, body }, [
  ['no name', { metadata: { name: null } }, NO_NAME],
  [
    'a name with capitals and underscores',
    { metadata: { name: 'Web_1' } },
    `FieldValueInvalid metadata.name: Invalid value: "Web_1": ${SUBDOMAIN}`,
  ],
  [
    'a label key with a space',
    { metadata: { labels: { 'my app': 'web' } } },
    `FieldValueInvalid metadata.labels: Invalid value: "my app": ${QUALIFIED_NAME}`,
  ],
  [
    'a label value with a space',
    { metadata: { labels: { app: 'my web' } } },
    `FieldValueInvalid metadata.labels: Invalid value: "my web": ${LABEL_VALUE}`,
  ],
  ...podMistakes('spec', (spec) => ({ spec })),
  [
    'a space before the image',
    { spec: { containers: [{ ...container, image: ' nginx' }] } },
    'FieldValueInvalid spec.containers[0].image: Invalid value: " nginx": ' +
      'must not have leading or trailing whitespace',
  ],
  [
    'an unknown restart policy',
    { spec: { restartPolicy: 'Sometimes' } },
    'FieldValueNotSupported spec.restartPolicy: Unsupported value: "Sometimes": ' +
      'supported values: "Always", "OnFailure", "Never"',
  ],
  [
    'a deadline of 0 seconds',
    { spec: { activeDeadlineSeconds: 0 } },
    'FieldValueInvalid spec.activeDeadlineSeconds: Invalid value: 0: ' +
      'must be between 1 and 2147483647, inclusive',
  ],
  [
    'a host name with a dot',
    { spec: { hostname: 'web.local' } },
    `FieldValueInvalid spec.hostname: Invalid value: "web.local": ${LABEL}`,
  ],
  [
    'no servers for a DNS policy of its own',
    { spec: { dnsPolicy: 'None' } },
    'FieldValueRequired spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is ' +
      'None',
  ],
  [
    'a probe of an init container',
    { spec: { initContainers: [{ ...container, name: 'i', readinessProbe: { tcpSocket: { port: 80 } } }] } },
    'FieldValueInvalid spec.initContainers[0].readinessProbe: Invalid value: …: ' +
      'must not be set for init containers',
  ],
  [
    'a debug container from the start',
    { spec: { ephemeralContainers: [{ ...container, name: 'debug' }] } },
    'FieldValueForbidden spec.ephemeralContainers: Forbidden: cannot be set on create',
  ],
  [
    'the process namespace of the node, and one of its own',
    { spec: { hostPID: true, shareProcessNamespace: true } },
    'FieldValueInvalid spec.shareProcessNamespace: Invalid value: true: ' +
      'ShareProcessNamespace and HostPID cannot both be enabled',
  ],
])

const fixed =
  'FieldValueForbidden spec: Forbidden: pod updates may not change fields other than ' +
  '`spec.containers[*].image`, `spec.initContainers[*].image`, `spec.activeDeadlineSeconds`, ' +
  '`spec.tolerations` (only additions to existing tolerations) or ' +
  '`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n…'
const tolerations = [{ key: 'a', operator: 'Exists', effect: 'NoSchedule' }]
const limited = { ...body, spec: { ...body.spec, activeDeadlineSeconds: 60, tolerations } }

refuseUpdates({ kind, body: limited }, [
  ['another command', { spec: { containers: [{ ...container, command: ['sh'] }] } }, fixed],
  ['a variable', { spec: { containers: [{ ...container, env: [{ name: 'A', value: 'b' }] }] } }, fixed],
  ['another restart policy', { spec: { restartPolicy: 'Never' } }, fixed],
  ['another node selector', { spec: { nodeSelector: { disk: 'fast' } } }, fixed],
  [
    'a further container',
    { spec: { containers: [container, { ...container, name: 'b' }] } },
    'FieldValueForbidden spec.containers: Forbidden: pod updates may not add or remove containers',
  ],
  [
    'a later deadline',
    { spec: { activeDeadlineSeconds: 90 } },
    'FieldValueInvalid spec.activeDeadlineSeconds: Invalid value: 90: ' +
      'must be less than or equal to previous value',
  ],
  [
    'a removed deadline',
    { spec: { activeDeadlineSeconds: null } },
    'FieldValueInvalid spec.activeDeadlineSeconds: Invalid value: "null": ' +
      'must not update from a positive integer to nil value',
  ],
  [
    'a removed toleration',
    { spec: { tolerations: null } },
    'FieldValueForbidden spec.tolerations: Forbidden: ' +
      'existing toleration can not be modified except its tolerationSeconds',
  ],
])
