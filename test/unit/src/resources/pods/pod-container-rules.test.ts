/*
 * Goal: each rule of a container is broken once, and reported as by upstream: reason, field and
 * message.
 * Method: tables of errors in a minimal Pod; a dry run of creating it through the shipped verbs.
 */
import { after, before, test } from 'node:test'
import type { JsonObject } from '../../../../../src/api/json.ts'
import { Fixture } from '../../registry/fixture.ts'
import { refuseEach } from './pod-refusals.ts'
import { container } from './pod-samples.ts'

let api: Fixture
before(async () => void (api = await Fixture.open()))
after(() => api.close())

/** Returns a spec with one container that has these members. */
function having(members: JsonObject): JsonObject {
  return { containers: [container(members)] }
}

const first = 'spec.containers[0]'
const label = 'a lowercase RFC 1123 label must consist of'

void test('containers have distinct names, images and no unsupported fields', async () => {
  await refuseEach(api, [
    [{ containers: [] }, 'FieldValueRequired spec.containers'],
    [having({ name: '' }), `FieldValueRequired ${first}.name`],
    [having({ name: 'A_b' }), `FieldValueInvalid ${first}.name`, label],
    [having({ image: '' }), `FieldValueRequired ${first}.image`],
    [having({ image: ' a' }), `FieldValueInvalid ${first}.image`, 'leading or trailing whitespace'],
    [{ containers: [container(), container()] }, 'FieldValueDuplicate spec.containers[1].name'],
    [{ initContainers: [container()] }, 'FieldValueDuplicate spec.initContainers[0].name'],
    [
      having({ imagePullPolicy: 'Never ' }),
      `FieldValueNotSupported ${first}.imagePullPolicy`,
      '"IfNotPresent"',
    ],
    [having({ terminationMessagePolicy: 'Log' }), `FieldValueNotSupported ${first}.terminationMessagePolicy`],
    [
      { initContainers: [container({ name: 'b', readinessProbe: { exec: { command: ['a'] } } })] },
      'FieldValueInvalid spec.initContainers[0].readinessProbe',
      'must not be set for init containers',
    ],
    [
      { initContainers: [container({ name: 'b', lifecycle: {} })] },
      'FieldValueInvalid spec.initContainers[0].lifecycle',
      'must not be set for init containers',
    ],
    [
      { ephemeralContainers: [container({ name: 'b' })] },
      'FieldValueForbidden spec.ephemeralContainers',
      'cannot be set on create',
    ],
  ])
})

void test('ports are valid port numbers, and host ports are distinct', async () => {
  const port = (...ports: readonly JsonObject[]): JsonObject => having({ ports })
  const at = `${first}.ports[0]`
  const range = 'must be between 1 and 65535, inclusive'
  await refuseEach(api, [
    [port({}), `FieldValueRequired ${at}.containerPort`],
    [port({ containerPort: 0 }), `FieldValueRequired ${at}.containerPort`],
    [port({ containerPort: 65536 }), `FieldValueInvalid ${at}.containerPort`, range],
    [port({ containerPort: 1, hostPort: -1 }), `FieldValueInvalid ${at}.hostPort`, range],
    [
      port({ containerPort: 1, protocol: 'tcp' }),
      `FieldValueNotSupported ${at}.protocol`,
      '"SCTP", "TCP", "UDP"',
    ],
    [port({ containerPort: 1, name: 'x'.repeat(16) }), `FieldValueInvalid ${at}.name`, 'no more than 15'],
    [port({ containerPort: 1, name: '12' }), `FieldValueInvalid ${at}.name`, 'at least one letter'],
    [port({ containerPort: 1, name: 'a--b' }), `FieldValueInvalid ${at}.name`, 'consecutive hyphens'],
    [port({ containerPort: 1, name: '-a' }), `FieldValueInvalid ${at}.name`, 'begin or end with a hyphen'],
    [port({ containerPort: 1, name: 'A' }), `FieldValueInvalid ${at}.name`, 'only alpha-numeric'],
    [
      port({ containerPort: 1, name: 'a' }, { containerPort: 2, name: 'a' }),
      `FieldValueDuplicate ${first}.ports[1].name`,
    ],
    [
      port({ containerPort: 1, hostPort: 9 }, { containerPort: 2, hostPort: 9 }),
      `FieldValueDuplicate ${first}.ports[1].hostPort`,
      'TCP//9',
    ],
    [
      { ...port({ containerPort: 1, hostPort: 9 }), hostNetwork: true },
      `FieldValueInvalid ${at}.containerPort`,
      'must match `hostPort` when `hostNetwork` is true',
    ],
  ])
})

void test('environment variables have valid names, and one value each', async () => {
  const env = (variable: JsonObject): JsonObject => having({ env: [variable] })
  const from = (valueFrom: JsonObject): JsonObject => env({ name: 'A', valueFrom })
  const at = `${first}.env[0]`
  const key = { name: 'n', key: 'k' }
  await refuseEach(api, [
    [env({ name: '' }), `FieldValueRequired ${at}.name`],
    [env({ name: '1a' }), `FieldValueInvalid ${at}.name`, 'must not start with a digit'],
    [env({ name: '..a' }), `FieldValueInvalid ${at}.name`, "must not start with '..'"],
    [from({}), `FieldValueInvalid ${at}.valueFrom`, 'must specify one of: `fieldRef`, `resourceFieldRef`'],
    [
      from({ configMapKeyRef: key, secretKeyRef: key }),
      `FieldValueInvalid ${at}.valueFrom`,
      'more than one field',
    ],
    [
      env({ name: 'A', value: 'v', valueFrom: { secretKeyRef: key } }),
      `FieldValueInvalid ${at}.valueFrom`,
      'not empty',
    ],
    [from({ configMapKeyRef: { key: 'k' } }), `FieldValueRequired ${at}.valueFrom.configMapKeyRef.name`],
    [from({ secretKeyRef: { name: 'n' } }), `FieldValueRequired ${at}.valueFrom.secretKeyRef.key`],
    [from({ secretKeyRef: { name: 'n', key: 'a/b' } }), `FieldValueInvalid ${at}.valueFrom.secretKeyRef.key`],
    [from({ fieldRef: {} }), `FieldValueRequired ${at}.valueFrom.fieldRef.fieldPath`],
    [
      from({ fieldRef: { apiVersion: 'v2', fieldPath: 'metadata.name' } }),
      `FieldValueInvalid ${at}.valueFrom.fieldRef.fieldPath`,
      'error converting fieldPath: unsupported pod version: v2',
    ],
    [
      from({ fieldRef: { fieldPath: 'spec.hostname' } }),
      `FieldValueNotSupported ${at}.valueFrom.fieldRef.fieldPath`,
      '"status.podIPs"',
    ],
    [
      from({ fieldRef: { fieldPath: "metadata.labels['a b']" } }),
      `FieldValueInvalid ${at}.valueFrom.fieldRef`,
      'name part must consist of',
    ],
    [
      from({ fieldRef: { fieldPath: "spec.x['a']" } }),
      `FieldValueInvalid ${at}.valueFrom.fieldRef`,
      'subscript',
    ],
    [
      from({ resourceFieldRef: { resource: 'limits.gpu' } }),
      `FieldValueNotSupported ${at}.valueFrom.resourceFieldRef.resource`,
    ],
    [
      from({ resourceFieldRef: { resource: 'limits.cpu', divisor: '2' } }),
      `FieldValueInvalid ${at}.valueFrom.resourceFieldRef.divisor`,
      "only divisor's values",
    ],
    [having({ envFrom: [{}] }), `FieldValueInvalid ${first}.envFrom[0]`, '`configMapRef` or `secretRef`'],
    [having({ envFrom: [{ secretRef: {} }] }), `FieldValueRequired ${first}.envFrom[0].secretRef.name`],
    [
      having({ envFrom: [{ prefix: '1', secretRef: { name: 'n' } }] }),
      `FieldValueInvalid ${first}.envFrom[0].prefix`,
    ],
  ])
})

void test('a handler has exactly one type, with its required fields', async () => {
  const probe = (members: JsonObject): JsonObject => having({ livenessProbe: members })
  const at = `${first}.livenessProbe`
  const exec = { command: ['true'] }
  await refuseEach(api, [
    [probe({}), `FieldValueRequired ${at}`, 'must specify a handler type'],
    [
      probe({ exec, tcpSocket: { port: 1 } }),
      `FieldValueForbidden ${at}.tcpSocket`,
      'more than 1 handler type',
    ],
    [probe({ exec: {} }), `FieldValueRequired ${at}.exec.command`],
    [probe({ httpGet: {} }), `FieldValueInvalid ${at}.httpGet.port`, 'between 1 and 65535'],
    [probe({ httpGet: { port: 0 } }), `FieldValueInvalid ${at}.httpGet.port`, 'between 1 and 65535'],
    [probe({ httpGet: { port: 'a_b' } }), `FieldValueInvalid ${at}.httpGet.port`, 'only alpha-numeric'],
    [probe({ httpGet: { port: 1, scheme: 'FTP' } }), `FieldValueNotSupported ${at}.httpGet.scheme`],
    [
      probe({ httpGet: { port: 1, httpHeaders: [{ name: 'a b', value: '' }] } }),
      `FieldValueInvalid ${at}.httpGet.httpHeaders[0].name`,
      'a valid HTTP header',
    ],
    [probe({ tcpSocket: { port: 70000 } }), `FieldValueInvalid ${at}.tcpSocket.port`],
    [probe({ grpc: { port: 0 } }), `FieldValueInvalid ${at}.grpc.port`, 'between 1 and 65535'],
    [
      probe({ exec, periodSeconds: -1 }),
      `FieldValueInvalid ${at}.periodSeconds`,
      'greater than or equal to 0',
    ],
    [probe({ exec, successThreshold: 2 }), `FieldValueInvalid ${at}.successThreshold`, 'must be 1'],
    [
      having({ readinessProbe: { exec, terminationGracePeriodSeconds: 1 } }),
      `FieldValueInvalid ${first}.readinessProbe.terminationGracePeriodSeconds`,
      'must not be set for readinessProbes',
    ],
    [having({ lifecycle: { preStop: {} } }), `FieldValueRequired ${first}.lifecycle.preStop`],
    [
      having({ lifecycle: { postStart: { exec, httpGet: { port: 1 } } } }),
      `FieldValueForbidden ${first}.lifecycle.postStart.httpGet`,
    ],
  ])
})

void test('mounts and devices refer to existing volumes, each at a path of its own', async () => {
  const volumes = [{ name: 'v', emptyDir: {} }]
  const mount = (...volumeMounts: readonly JsonObject[]): JsonObject => ({
    ...having({ volumeMounts }),
    volumes,
  })
  const at = `${first}.volumeMounts[0]`
  const claim = [{ name: 'v', persistentVolumeClaim: { claimName: 'c' } }]
  const devices = (...volumeDevices: readonly JsonObject[]): JsonObject => having({ volumeDevices })
  const here = { name: 'v', mountPath: '/a' }
  await refuseEach(api, [
    [mount({ name: 'w', mountPath: '/a' }), `FieldValueNotFound ${at}.name`, 'Not found: "w"'],
    [mount({ name: 'v' }), `FieldValueRequired ${at}.mountPath`],
    [mount(here, here), `FieldValueInvalid ${first}.volumeMounts[1].mountPath`, 'must be unique'],
    [mount({ ...here, subPath: '/a' }), `FieldValueInvalid ${at}.subPath`, 'must be a relative path'],
    [
      mount({ ...here, subPathExpr: 'a/../b' }),
      `FieldValueInvalid ${at}.subPathExpr`,
      "must not contain '..'",
    ],
    [
      mount({ ...here, subPath: 'a', subPathExpr: 'b' }),
      `FieldValueInvalid ${at}.subPathExpr`,
      'mutually exclusive',
    ],
    [mount({ ...here, mountPropagation: 'Both' }), `FieldValueNotSupported ${at}.mountPropagation`],
    [
      mount({ ...here, mountPropagation: 'Bidirectional' }),
      `FieldValueForbidden ${at}.mountPropagation`,
      'only to privileged containers',
    ],
    [
      { ...devices({ name: 'v', devicePath: '/d' }), volumes },
      `FieldValueInvalid ${first}.volumeDevices[0].name`,
      'for block mode',
    ],
    [
      { ...devices({ name: 'v', devicePath: '/../d' }), volumes: claim },
      `FieldValueInvalid ${first}.volumeDevices[0].devicePath`,
      'backsteps',
    ],
    [
      { ...devices({ name: 'v', devicePath: '/d' }, { name: 'v', devicePath: '/d' }), volumes: claim },
      `FieldValueInvalid ${first}.volumeDevices[1].devicePath`,
      'must be unique',
    ],
    [
      {
        ...having({ volumeMounts: [here], volumeDevices: [{ name: 'v', devicePath: '/a' }] }),
        volumes: claim,
      },
      `FieldValueInvalid ${first}.volumeDevices[0].name`,
      'must not already exist in volumeMounts',
    ],
    [{ volumes: [...volumes, ...volumes] }, 'FieldValueDuplicate spec.volumes[1].name'],
    [
      { volumes: [{ name: 'v', projected: { sources: [{ serviceAccountToken: { path: 't' } }] } }] },
      'FieldValueForbidden spec.volumes[0].projected.sources[0].serviceAccountToken',
      'must not be specified when serviceAccountName is not set',
    ],
  ])
})

void test('requests do not exceed limits, and only name known resources', async () => {
  const asking = (limits: JsonObject, requests: JsonObject = {}): JsonObject =>
    having({ resources: { limits, requests } })
  const at = `${first}.resources`
  await refuseEach(api, [
    [
      asking({ cpu: '1' }, { cpu: '1001m' }),
      `FieldValueInvalid ${at}.requests`,
      'less than or equal to cpu limit',
    ],
    [asking({ cpu: '-1' }), `FieldValueInvalid ${at}.limits[cpu]`, 'greater than or equal to 0'],
    [asking({ pods: '1' }), `FieldValueInvalid ${at}.limits[pods]`, 'standard resource for containers'],
    [asking({ 'a b': '1' }), `FieldValueInvalid ${at}.limits[a b]`, 'name part'],
    [asking({}, { 'x.test/gpu': '1' }), `FieldValueRequired ${at}.limits`, 'non overcommitable'],
    [
      asking({ 'x.test/gpu': '2' }, { 'x.test/gpu': '1' }),
      `FieldValueInvalid ${at}.requests`,
      'must be equal to',
    ],
    [asking({ 'x.test/gpu': '1500m' }), `FieldValueInvalid ${at}.limits[x.test/gpu]`, 'must be an integer'],
    [
      asking({ 'requests.x.test/gpu': '1' }),
      `FieldValueInvalid ${at}.limits[requests.x.test/gpu]`,
      'extended',
    ],
    [asking({ 'hugepages-2Mi': '2Mi' }), `FieldValueForbidden ${at}`, 'HugePages require cpu or memory'],
    [
      asking({ 'hugepages-2Mi': '3Mi', cpu: '1' }),
      `FieldValueInvalid ${at}.limits[hugepages-2Mi]`,
      'is not positive integer multiple of',
    ],
    [{ overhead: { pods: '1' } }, 'FieldValueInvalid spec.overhead[pods]'],
  ])
})

void test('fields of the security context do not contradict each other', async () => {
  const secured = (securityContext: JsonObject): JsonObject => having({ securityContext })
  const at = `${first}.securityContext`
  await refuseEach(api, [
    [secured({ runAsUser: -1 }), `FieldValueInvalid ${at}.runAsUser`, 'between 0 and 2147483647'],
    [
      secured({ allowPrivilegeEscalation: false, privileged: true }),
      `FieldValueInvalid ${at}`,
      '`privileged` to true',
    ],
    [
      secured({ allowPrivilegeEscalation: false, capabilities: { add: ['CAP_SYS_ADMIN'] } }),
      `FieldValueInvalid ${at}`,
      'CAP_SYS_ADMIN',
    ],
    [secured({ seccompProfile: {} }), `FieldValueRequired ${at}.seccompProfile.type`],
    [secured({ seccompProfile: { type: 'None' } }), `FieldValueNotSupported ${at}.seccompProfile.type`],
    [
      secured({ seccompProfile: { type: 'Localhost' } }),
      `FieldValueRequired ${at}.seccompProfile.localhostProfile`,
      'must be set when seccomp type is Localhost',
    ],
    [
      secured({ seccompProfile: { type: 'Unconfined', localhostProfile: 'a' } }),
      `FieldValueInvalid ${at}.seccompProfile.localhostProfile`,
      'can only be set when seccomp type is Localhost',
    ],
    [
      secured({ windowsOptions: { runAsUserName: 'a\\b\\c' } }),
      `FieldValueInvalid ${at}.windowsOptions.runAsUserName`,
      'more than one backslash',
    ],
    [
      secured({ windowsOptions: { hostProcess: true } }),
      'FieldValueInvalid spec.hostNetwork',
      'hostNetwork must be true',
    ],
    [{ securityContext: { fsGroup: 2 ** 31 } }, 'FieldValueInvalid spec.securityContext.fsGroup'],
    [
      { securityContext: { supplementalGroups: [-1] } },
      'FieldValueInvalid spec.securityContext.supplementalGroups[0]',
    ],
    [
      { securityContext: { sysctls: [{ name: 'A', value: '' }] } },
      'FieldValueInvalid spec.securityContext.sysctls[0].name',
      'at most 253 characters',
    ],
    [
      { securityContext: { sysctls: [{ name: 'a.b' }, { name: 'a.b' }] } },
      'FieldValueDuplicate spec.securityContext.sysctls[1].name',
    ],
    [
      { securityContext: { fsGroupChangePolicy: 'Never' } },
      'FieldValueNotSupported spec.securityContext.fsGroupChangePolicy',
    ],
    [{ hostPID: true, shareProcessNamespace: true }, 'FieldValueInvalid spec.shareProcessNamespace'],
    [{ os: { name: 'plan9' } }, 'FieldValueNotSupported spec.os.name'],
    [
      { os: { name: 'windows' }, hostIPC: true },
      'FieldValueForbidden spec.hostIPC',
      'cannot be set for a windows pod',
    ],
    [{ os: { name: 'windows' }, ...secured({ runAsUser: 1 }) }, `FieldValueForbidden ${at}.runAsUser`],
    [
      { os: { name: 'linux' }, ...secured({ windowsOptions: {} }) },
      `FieldValueForbidden ${at}.windowsOptions`,
      'cannot be set for a linux pod',
    ],
  ])
})
