import type { Json, JsonObject, JsonObjectDraft } from '../../../src/api/json.ts'
import { isJsonList, isJsonObject } from '../../../src/api/json.ts'
import { ephemeralContainerSchema } from '../../../src/resources/containers/container.ts'
import { volumeSchema } from '../../../src/resources/volumes/volume.ts'
import type { Hint, Hints, Mend, ObjectMaker } from './hint.ts'

/** Like `full-object-hints.ts`, for the parts of Pods, which refer to each other. */

const one =
  (value: Json): Hint =>
  () =>
    value

const amounts: JsonObject = {
  ...{ cpu: '2', memory: '1Gi', 'ephemeral-storage': '3Gi' },
  ...{ 'hugepages-2Mi': '4Mi', 'example.com/device': '3' },
}

/** A volume is named by its index in the list, which has at least one volume of each source. */
function volumeOf(maker: ObjectMaker, source: string): string {
  return `v${maker.variantWith(volumeSchema, source)}`
}

const mounted = ['configMap', 'emptyDir', 'secret']
const raw = ['persistentVolumeClaim', 'ephemeral']

export const containerHints: Hints = {
  'core.v1.Volume.name': (_, variant) => `v${variant}`,
  'core.v1.VolumeMount.name': (maker, variant) => volumeOf(maker, mounted[variant % mounted.length] ?? ''),
  'core.v1.VolumeDevice.name': (maker, variant) => volumeOf(maker, raw[variant % raw.length] ?? ''),
  'core.v1.Container.image': (maker) => `registry.example.com:5000/${maker.word()}:1.0`,
  'core.v1.Container.resources': one({ limits: amounts, requests: amounts }),
  'core.v1.ContainerPort.containerPort': uniquePort,
  'core.v1.ContainerPort.hostIP': one('10.0.0.1'),
  'core.v1.GRPCAction.port': uniquePort,
  'core.v1.WindowsSecurityContextOptions.hostProcess': one(false),
  'core.v1.WindowsSecurityContextOptions.runAsUserName': one('NT AUTHORITY\\SYSTEM'),
}

const ports = new WeakMap<ObjectMaker, number>()

/** Returns a port of the node that no other container of the Pod uses. */
function uniquePort(maker: ObjectMaker): number {
  const port = (ports.get(maker) ?? 1000) + 1
  ports.set(maker, port % 60_000)
  return port
}

export const containerMends: { readonly [shape: string]: Mend } = {
  'core.v1.Probe': (probe) => {
    probe['successThreshold'] = 1
    // The server drops it, and readiness probes must not have it.
    delete probe['terminationGracePeriodSeconds']
  },
  'core.v1.ContainerPort': (port) => {
    port['hostPort'] = port['containerPort'] ?? 0
  },
  'core.v1.SeccompProfile': (profile) => {
    if (profile['type'] !== 'Localhost') delete profile['localhostProfile']
  },
  'core.v1.EphemeralContainer': (container) => {
    for (const name of notForEphemeral) delete container[name]
    container['resources'] = {}
    eachOf(container['volumeMounts'], (mount) => without(mount, 'subPath', 'subPathExpr'))
    delete container['targetContainerName']
  },
}

const notForEphemeral = [
  'ports',
  'livenessProbe',
  'readinessProbe',
  'startupProbe',
  'lifecycle',
  'volumeDevices',
]

export const podHints: Hints = {
  'core.v1.PodSpec.ephemeralContainers': () => undefined,
  'core.v1.PodSpec.overhead': one({ cpu: '100m', memory: '1Mi' }),
  'core.v1.PodSpec.activeDeadlineSeconds': one(100_000),
  'core.v1.PodOS.name': one('linux'),
  'core.v1.SecurityContext.procMount': one('Default'),
  'core.v1.PodSpec.shareProcessNamespace': (_, variant) => variant % 2 === 1,
  'core.v1.PodSpec.hostPID': (_, variant) => (variant % 2 === 1 ? undefined : true),
  'core.v1.PodDNSConfig.nameservers': one(['10.0.0.2', '2001:db8::2']),
  'core.v1.HostAlias.ip': (maker) => `10.0.1.${1 + maker.random.below(250)}`,
  'core.v1.Toleration.tolerationSeconds': (maker) => 1 + maker.random.below(1000),
  'core.v1.PodStatus.podIP': one('10.0.0.9'),
  'core.v1.PodStatus.podIPs': one([{ ip: '10.0.0.9' }, { ip: '2001:db8::9' }]),
  'core.v1.PodStatus.qosClass': one('Guaranteed'),
}

export const podMends: { readonly [shape: string]: Mend } = {
  'core.v1.Toleration': (toleration) => {
    if (toleration['operator'] === 'Exists') delete toleration['value']
    if (toleration['effect'] !== 'NoExecute') delete toleration['tolerationSeconds']
  },
  'core.v1.TopologySpreadConstraint': (constraint) => {
    // The server drops it.
    delete constraint['minDomains']
  },
  'core.v1.PodSpec': (spec, variant) => {
    spec['serviceAccount'] = spec['serviceAccountName'] ?? ''
    eachOf(spec['initContainers'], (container) =>
      without(container, 'lifecycle', 'livenessProbe', 'readinessProbe', 'startupProbe'),
    )
    // The fields of other operating systems are excluded.
    if (variant % 3 === 0) delete spec['os']
    if (variant % 3 === 1) eachContext(spec, (context) => without(context, 'windowsOptions'))
    if (variant % 3 === 2) forWindows(spec)
  },
}

function forWindows(spec: JsonObjectDraft): void {
  spec['os'] = { name: 'windows' }
  for (const name of ['hostPID', 'hostIPC', 'shareProcessNamespace']) delete spec[name]
  eachContext(spec, (context) => {
    for (const name of Object.keys(context)) if (name !== 'windowsOptions') without(context, name)
  })
  eachContainer(spec, (container) =>
    eachOf(container['volumeMounts'], (mount) => without(mount, 'mountPropagation')),
  )
}

function eachContainer(spec: JsonObjectDraft, act: (container: JsonObject) => void): void {
  for (const list of ['containers', 'initContainers']) eachOf(spec[list], act)
}

function eachContext(spec: JsonObjectDraft, act: (context: JsonObject) => void): void {
  const contextOf = (owner: JsonObject): void => {
    const context = owner['securityContext']
    if (isJsonObject(context)) act(context)
  }
  contextOf(spec)
  eachContainer(spec, contextOf)
}

function eachOf(list: Json | undefined, act: (item: JsonObject) => void): void {
  if (!isJsonList(list)) return
  for (const item of list) if (isJsonObject(item)) act(item)
}

/** Removes members in place: the drawn object is not shared yet. */
function without(object: Json | undefined, ...names: readonly string[]): void {
  if (!isJsonObject(object)) return
  const draft: JsonObjectDraft = object
  for (const name of names) delete draft[name]
}

/**
 * Returns containers that can be added to a running Pod.
 *
 * @param target the name of an existing container
 */
export function ephemeralContainers(maker: ObjectMaker, target: string): readonly JsonObject[] {
  return [0, 1, 2].map((variant) => ({
    ...maker.struct(ephemeralContainerSchema, variant),
    ...(variant === 0 ? { targetContainerName: target } : {}),
  }))
}
