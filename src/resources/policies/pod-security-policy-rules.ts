import type { Findings } from '../../api/errors/findings.ts'
import { duplicate, invalid, keyPath, notSupported, required } from '../../api/errors/field-error.ts'
import {
  isJsonObject,
  memberOf,
  objectMember,
  objectsMember,
  textMember,
  textsMember,
} from '../../api/json.ts'
import type { JsonObject } from '../../api/json.ts'
import { checkDns1123Subdomain } from '../../api/metadata/name-rules.ts'
import type { Names } from '../../api/metadata/names.ts'
import type { AnyObject } from '../../registry/kinds/definition.ts'
import { checkDriverName } from '../volumes/volume-csi.ts'
import { checkAppArmorProfile, checkSeccompProfile } from '../pods/profile-annotations.ts'
import { checkSysctlOverlaps, checkSysctlPatterns } from './sysctl-patterns.ts'

/** The types of volumes of release 1.24, in the order in which an error lists them. */
const volumeTypes = [
  ...['*', 'awsElasticBlockStore', 'azureDisk', 'azureFile', 'cephFS', 'cinder', 'configMap', 'csi'],
  ...['downwardAPI', 'emptyDir', 'ephemeral', 'fc', 'flexVolume', 'flocker', 'gcePersistentDisk'],
  ...['gitRepo', 'glusterfs', 'hostPath', 'iscsi', 'nfs', 'persistentVolumeClaim'],
  ...['photonPersistentDisk', 'portworxVolume', 'projected', 'quobyte', 'rbd', 'scaleIO', 'secret'],
  ...['storageos', 'vsphereVolume'],
]

/** Checks annotations, and the members that no struct checks, in upstream's order and words. */
export function checkPodSecurityPolicy(object: AnyObject, names: Names, found: Findings): void {
  const spec = objectMember(object, 'spec')
  checkAnnotations(object.metadata.annotations ?? {}, names, found)
  for (const type of textsMember(spec, 'volumes'))
    if (!volumeTypes.includes(type)) found.add(notSupported('spec.volumes', type, volumeTypes))
  checkCapabilities(spec, found)
  const byDefault = memberOf(spec, 'defaultAllowPrivilegeEscalation')
  if (byDefault === true && memberOf(spec, 'allowPrivilegeEscalation') === false) {
    const words =
      'Cannot set DefaultAllowPrivilegeEscalation to true without also setting AllowPrivilegeEscalation to true'
    found.add(invalid('spec.defaultAllowPrivilegeEscalation', byDefault, words))
  }
  checkVolumeLists(spec, found)
  const allowed = textsMember(spec, 'allowedUnsafeSysctls')
  const forbidden = textsMember(spec, 'forbiddenSysctls')
  const fields = { allowed: 'spec.allowedUnsafeSysctls', forbidden: 'spec.forbiddenSysctls' }
  checkSysctlPatterns(allowed, fields.allowed, found)
  checkSysctlPatterns(forbidden, fields.forbidden, found)
  checkSysctlOverlaps({ allowed, forbidden }, fields, found)
  const classes = memberOf(spec, 'runtimeClass')
  if (isJsonObject(classes)) checkRuntimeClasses(classes, found)
}

/** In upstream's errors, the fields of capabilities lack the prefix `spec`. */
function checkCapabilities(spec: JsonObject, found: Findings): void {
  const [dropped, allowed] = ['requiredDropCapabilities', 'allowedCapabilities'].map((name) =>
    textsMember(spec, name),
  )
  const drops = new Set(dropped)
  if (drops.size > 0 && allowed?.includes('*') === true) {
    const words = 'must be empty when all capabilities are allowed by a wildcard'
    found.add(invalid('requiredDropCapabilities', [...drops], words))
  }
  for (const name of ['defaultAddCapabilities', 'allowedCapabilities']) {
    const words = `capability is listed in ${name} and requiredDropCapabilities`
    for (const capability of textsMember(spec, name))
      if (drops.has(capability)) found.add(invalid(name, capability, words))
  }
}

function checkVolumeLists(spec: JsonObject, found: Findings): void {
  const paths = objectsMember(spec, 'allowedHostPaths').map((path) => textMember(path, 'pathPrefix'))
  for (const [index, path] of paths.entries()) {
    const place = `spec.allowedHostPaths[${index}]`
    if (path === '') found.add(required(place, 'is required'))
    else if (path.split('/').includes('..')) found.add(invalid(place, path, "must not contain '..'"))
  }
  // Upstream repeats the name of the list in the path of an element.
  for (const [index, volume] of objectsMember(spec, 'allowedFlexVolumes').entries()) {
    const place = `spec.allowedFlexVolumes.allowedFlexVolumes[${index}].driver`
    if (textMember(volume, 'driver') === '') found.add(required(place, 'must specify a driver'))
  }
  for (const [index, driver] of objectsMember(spec, 'allowedCSIDrivers').entries()) {
    const place = `spec.allowedCSIDrivers.allowedCSIDriver[${index}].name`
    checkDriverName(textMember(driver, 'name'), place, found)
  }
}

function checkRuntimeClasses(classes: JsonObject, found: Findings): void {
  const field = 'spec.runtimeClass.allowedRuntimeClassNames'
  const allowed = new Set<string>()
  const given = textsMember(classes, 'allowedRuntimeClassNames')
  for (const [index, name] of given.entries()) {
    const place = `${field}[${index}]`
    if (name !== '*') for (const words of checkDns1123Subdomain(name)) found.add(invalid(place, name, words))
    if (allowed.has(name)) found.add(duplicate(place, name))
    allowed.add(name)
  }
  const byDefault = memberOf(classes, 'defaultRuntimeClassName')
  if (typeof byDefault === 'string') {
    const place = 'spec.runtimeClass.defaultRuntimeClassName'
    for (const words of checkDns1123Subdomain(byDefault)) found.add(invalid(place, byDefault, words))
    if (!allowed.has(byDefault) && !allowed.has('*'))
      found.add(required(field, `default ${JSON.stringify(byDefault)} must be allowed`))
  }
  if (!allowed.has('*') || given.length === 1) return
  found.add(invalid(field, given, "if '*' is present, must not specify other RuntimeClass names"))
}

type Annotations = { readonly [key: string]: string }

function checkAnnotations(annotations: Annotations, names: Names, found: Findings): void {
  const systemCalls = 'seccomp.security.alpha'
  const kinds = [
    { stem: 'apparmor.security.beta', check: checkAppArmorProfile },
    { stem: systemCalls, check: checkSeccompProfile },
  ] as const
  for (const { stem, check } of kinds) {
    for (const name of ['defaultProfileName', 'allowedProfileNames']) {
      const key = names.labelUnder(stem, name)
      const text = annotations[key] ?? ''
      if (text === '') continue
      for (const profile of name === 'defaultProfileName' ? [text] : text.split(',')) {
        const isAny = stem === systemCalls && name === 'allowedProfileNames' && profile === '*'
        if (!isAny) check(profile, keyPath('metadata.annotations', key), found)
      }
    }
  }
}
