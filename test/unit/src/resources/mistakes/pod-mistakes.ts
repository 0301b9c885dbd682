import type { JsonObject } from '../../../../../src/api/json.ts'
import type { Mistake } from './mistakes.ts'
import { ENVIRONMENT, LABEL, LABEL_VALUE, NOT_NEGATIVE, PORT, SUBDOMAIN } from './words.ts'

export const container = { name: 'app', image: 'nginx:1.25' }

/**
 * Mistakes in the spec of a Pod, alone or in a template.
 *
 * @param at path of the spec: `spec.template.spec`
 * @param within returns the change of the whole object
 */
export function podMistakes(at: string, within: (spec: JsonObject) => JsonObject): readonly Mistake[] {
  const first = `${at}.containers[0]`
  const of = (title: string, spec: JsonObject, ...causes: string[]): Mistake => [
    title,
    within(spec),
    ...causes,
  ]
  const inContainer = (title: string, members: JsonObject, ...causes: string[]): Mistake =>
    of(title, { containers: [{ ...container, ...members }] }, ...causes)
  return [
    of('no containers', { containers: null }, `FieldValueRequired ${at}.containers: Required value`),
    inContainer('no image', { image: '' }, `FieldValueRequired ${first}.image: Required value`),
    of(
      'a container without a name',
      { containers: [{ image: 'nginx' }] },
      `FieldValueRequired ${first}.name: Required value`,
    ),
    inContainer(
      'a container name with capitals and underscores',
      { name: 'My_App' },
      `FieldValueInvalid ${first}.name: Invalid value: "My_App": ${LABEL}`,
    ),
    of(
      'two containers of one name',
      { containers: [container, container] },
      `FieldValueDuplicate ${at}.containers[1].name: Duplicate value: "app"`,
    ),
    inContainer(
      'a pull policy in lower case',
      { imagePullPolicy: 'always' },
      `FieldValueNotSupported ${first}.imagePullPolicy: Unsupported value: "always": ` +
        'supported values: "Always", "IfNotPresent", "Never"',
    ),
    inContainer(
      'a container port above 65535',
      { ports: [{ containerPort: 80_800 }] },
      `FieldValueInvalid ${first}.ports[0].containerPort: Invalid value: 80800: ${PORT}`,
    ),
    inContainer(
      'a port without a number',
      { ports: [{ name: 'http' }] },
      `FieldValueRequired ${first}.ports[0].containerPort: Required value`,
    ),
    inContainer(
      'a port name of more than 15 characters',
      { ports: [{ containerPort: 80, name: 'http-for-my-users' }] },
      `FieldValueInvalid ${first}.ports[0].name: Invalid value: "http-for-my-users": ` +
        'must be no more than 15 characters',
    ),
    inContainer(
      'a port name with a capital',
      { ports: [{ containerPort: 80, name: 'Http' }] },
      `FieldValueInvalid ${first}.ports[0].name: Invalid value: "Http": ` +
        'must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)',
    ),
    inContainer(
      'two ports of one name',
      {
        ports: [
          { containerPort: 80, name: 'http' },
          { containerPort: 81, name: 'http' },
        ],
      },
      `FieldValueDuplicate ${first}.ports[1].name: Duplicate value: "http"`,
    ),
    inContainer(
      'an application protocol as the protocol of a port',
      { ports: [{ containerPort: 80, protocol: 'HTTP' }] },
      `FieldValueNotSupported ${first}.ports[0].protocol: Unsupported value: "HTTP": ` +
        'supported values: "SCTP", "TCP", "UDP"',
    ),
    inContainer(
      'one host port for two ports',
      {
        ports: [
          { containerPort: 80, hostPort: 8080 },
          { containerPort: 81, hostPort: 8080 },
        ],
      },
      `FieldValueDuplicate ${first}.ports[1].hostPort: Duplicate value: "TCP//8080"`,
    ),
    of(
      'another host port in the network of the node',
      { hostNetwork: true, containers: [{ ...container, ports: [{ containerPort: 80, hostPort: 8080 }] }] },
      `FieldValueInvalid ${first}.ports[0].containerPort: Invalid value: 80: ` +
        'must match `hostPort` when `hostNetwork` is true',
    ),
    inContainer(
      'a variable whose name starts with a digit',
      { env: [{ name: '1A', value: 'x' }] },
      `FieldValueInvalid ${first}.env[0].name: Invalid value: "1A": ${ENVIRONMENT}`,
    ),
    inContainer(
      'a variable without a name',
      { env: [{ value: 'x' }] },
      `FieldValueRequired ${first}.env[0].name: Required value`,
    ),
    inContainer(
      'a variable with a value and a source',
      {
        env: [{ name: 'A', value: 'x', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }],
      },
      `FieldValueInvalid ${first}.env[0].valueFrom: Invalid value: "": ` +
        'may not be specified when `value` is not empty',
    ),
    inContainer(
      'a variable with an empty source',
      { env: [{ name: 'A', valueFrom: {} }] },
      `FieldValueInvalid ${first}.env[0].valueFrom: Invalid value: "": ` +
        'must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`',
    ),
    inContainer(
      'a key of a Secret without the key',
      { env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 's' } } }] },
      `FieldValueRequired ${first}.env[0].valueFrom.secretKeyRef.key: Required value`,
    ),
    inContainer(
      'a request above the limit',
      { resources: { limits: { cpu: '500m' }, requests: { cpu: '1' } } },
      `FieldValueInvalid ${first}.resources.requests: Invalid value: "1": ` +
        'must be less than or equal to cpu limit',
    ),
    inContainer(
      'a misspelled resource',
      { resources: { requests: { cpus: '1' } } },
      `FieldValueInvalid ${first}.resources.requests[cpus]: Invalid value: "cpus": ` +
        'must be a standard resource type or fully qualified',
      `FieldValueInvalid ${first}.resources.requests[cpus]: Invalid value: "cpus": ` +
        'must be a standard resource for containers',
    ),
    inContainer(
      'a negative request',
      { resources: { requests: { memory: '-1Gi' } } },
      `FieldValueInvalid ${first}.resources.requests[memory]: Invalid value: "-1Gi": ${NOT_NEGATIVE}`,
    ),
    inContainer(
      'a probe without an action',
      { readinessProbe: { periodSeconds: 5 } },
      `FieldValueRequired ${first}.readinessProbe: Required value: must specify a handler type`,
    ),
    inContainer(
      'a probe with two actions',
      { livenessProbe: { exec: { command: ['true'] }, httpGet: { port: 80 } } },
      `FieldValueForbidden ${first}.livenessProbe.httpGet: Forbidden: may not specify more than 1 handler type`,
    ),
    inContainer(
      'a liveness probe that must succeed twice',
      { livenessProbe: { tcpSocket: { port: 80 }, successThreshold: 2 } },
      `FieldValueInvalid ${first}.livenessProbe.successThreshold: Invalid value: 2: must be 1`,
    ),
    inContainer(
      'a negative delay of a probe',
      { livenessProbe: { tcpSocket: { port: 80 }, initialDelaySeconds: -1 } },
      `FieldValueInvalid ${first}.livenessProbe.initialDelaySeconds: Invalid value: -1: ${NOT_NEGATIVE}`,
    ),
    inContainer(
      'a mount of an unknown volume',
      { volumeMounts: [{ name: 'data', mountPath: '/data' }] },
      `FieldValueNotFound ${first}.volumeMounts[0].name: Not found: "data"`,
    ),
    of(
      'two mounts at one path',
      {
        volumes: [{ name: 'data', emptyDir: {} }],
        containers: [
          {
            ...container,
            volumeMounts: [
              { name: 'data', mountPath: '/data' },
              { name: 'data', mountPath: '/data' },
            ],
          },
        ],
      },
      `FieldValueInvalid ${first}.volumeMounts[1].mountPath: Invalid value: "/data": must be unique`,
    ),
    of(
      'a mount without a path',
      {
        volumes: [{ name: 'data', emptyDir: {} }],
        containers: [{ ...container, volumeMounts: [{ name: 'data' }] }],
      },
      `FieldValueRequired ${first}.volumeMounts[0].mountPath: Required value`,
    ),
    of(
      'two volumes of one name',
      {
        volumes: [
          { name: 'data', emptyDir: {} },
          { name: 'data', emptyDir: {} },
        ],
      },
      `FieldValueDuplicate ${at}.volumes[1].name: Duplicate value: "data"`,
    ),
    of(
      'a volume with two sources',
      { volumes: [{ name: 'data', emptyDir: {}, hostPath: { path: '/data' } }] },
      `FieldValueForbidden ${at}.volumes[0].hostPath: Forbidden: may not specify more than 1 volume type`,
    ),
    of(
      'a volume of a claim without its name',
      { volumes: [{ name: 'data', persistentVolumeClaim: {} }] },
      `FieldValueRequired ${at}.volumes[0].persistentVolumeClaim.claimName: Required value`,
    ),
    of(
      'a volume of a Secret without its name',
      { volumes: [{ name: 'data', secret: {} }] },
      `FieldValueRequired ${at}.volumes[0].secret.secretName: Required value`,
    ),
    of(
      'a ServiceAccount with an underscore',
      { serviceAccountName: 'my_account' },
      `FieldValueInvalid ${at}.serviceAccountName: Invalid value: "my_account": ${SUBDOMAIN}`,
    ),
    of(
      'an unknown DNS policy',
      { dnsPolicy: 'Cluster' },
      `FieldValueNotSupported ${at}.dnsPolicy: Unsupported value: "Cluster": ` +
        'supported values: "ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"',
    ),
    of(
      'an unknown operator of a toleration',
      { tolerations: [{ key: 'a', operator: 'In', value: 'b' }] },
      `FieldValueNotSupported ${at}.tolerations[0].operator: Unsupported value: "In": ` +
        'supported values: "Equal", "Exists"',
    ),
    of(
      'seconds of a toleration without its effect',
      { tolerations: [{ key: 'a', operator: 'Exists', tolerationSeconds: 5 }] },
      `FieldValueInvalid ${at}.tolerations[0].effect: Invalid value: "": ` +
        "effect must be 'NoExecute' when `tolerationSeconds` is set",
    ),
    of(
      'a label with a space in the node selector',
      { nodeSelector: { disk: 'very fast' } },
      `FieldValueInvalid ${at}.nodeSelector: Invalid value: "very fast": ${LABEL_VALUE}`,
    ),
  ]
}
