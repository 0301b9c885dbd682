import { objectMember, objectsMember, textMember } from '../../api/json.ts'
import type { JsonObject } from '../../api/json.ts'
import { keyOf } from '../../store/key.ts'
import type { Key } from '../../store/key.ts'
import type { AnyObject } from './definition.ts'

/** The kinds of objects that a node may read because a Pod on it refers to them. */
export type ReferencedResource = 'configmaps' | 'secrets' | 'serviceaccounts' | 'persistentvolumeclaims'

/** One object of these kinds, as one text: resource, namespace and name. */
export type Reference = string

export function referenceTo(resource: ReferencedResource, namespace: string, name: string): Reference {
  return `${resource}/${namespace}/${name}`
}

/** Returns the key of the object that a Pod refers to. */
export function keyOfReference(reference: Reference): Key {
  const [plural = '', namespace = '', name = ''] = reference.split('/')
  return keyOf({ group: '', plural, namespace, name })
}

export function isClaim(reference: Reference): boolean {
  return reference.startsWith('persistentvolumeclaims/')
}

/** The objects that a node reads to run a Pod. */
export type PodReferences = {
  /** Empty: not bound to a node yet. */
  readonly node: string
  /** Without repetitions. */
  readonly references: readonly Reference[]
}

/** The objects that a node reads to mount a PersistentVolume. */
export type VolumeReferences = {
  /** The claim that the volume is bound to; null: none. */
  readonly claim: Reference | null
  readonly secrets: readonly Reference[]
}

/**
 * Returns the objects that a Pod refers to; none for a Pod that is not bound to a node. Those of a
 * mirror Pod do not count, because its node creates it for a static Pod, and could name any Secret
 * in it.
 *
 * @param mirrorAnnotation marks a mirror Pod; null: mirror Pods count too
 * @source upstream `pkg/api/v1/pod/util.go`; `plugin/pkg/auth/authorizer/node/graph.go`, AddPod
 */
export function podReferences(pod: AnyObject, mirrorAnnotation: string | null): PodReferences {
  const spec = objectMember(pod, 'spec')
  const node = textMember(spec, 'nodeName')
  const { namespace = '', name: podName = '', annotations = {} } = pod.metadata
  if (node === '' || (mirrorAnnotation !== null && annotations[mirrorAnnotation] !== undefined))
    return { node, references: [] }
  const found = new Set<Reference>()
  const add = (resource: ReferencedResource, name: string): void => {
    if (name !== '') found.add(referenceTo(resource, namespace, name))
  }
  add('serviceaccounts', textMember(spec, 'serviceAccountName'))
  for (const secret of objectsMember(spec, 'imagePullSecrets')) add('secrets', textMember(secret, 'name'))
  for (const list of ['containers', 'initContainers', 'ephemeralContainers']) {
    for (const container of objectsMember(spec, list)) addOfContainer(container, add)
  }
  for (const volume of objectsMember(spec, 'volumes')) addOfVolume(volume, podName, add)
  return { node, references: [...found] }
}

type Add = (resource: ReferencedResource, name: string) => void

function addOfContainer(container: JsonObject, add: Add): void {
  for (const source of objectsMember(container, 'envFrom')) {
    add('configmaps', nameIn(source, 'configMapRef'))
    add('secrets', nameIn(source, 'secretRef'))
  }
  for (const variable of objectsMember(container, 'env')) {
    const source = objectMember(variable, 'valueFrom')
    add('configmaps', nameIn(source, 'configMapKeyRef'))
    add('secrets', nameIn(source, 'secretKeyRef'))
  }
}

function addOfVolume(volume: JsonObject, podName: string, add: Add): void {
  add('configmaps', nameIn(volume, 'configMap'))
  add('secrets', textMember(objectMember(volume, 'secret'), 'secretName'))
  add('secrets', textMember(objectMember(volume, 'azureFile'), 'secretName'))
  for (const source of sourcesWithSecret) add('secrets', nameIn(objectMember(volume, source), 'secretRef'))
  add('secrets', nameIn(objectMember(volume, 'csi'), 'nodePublishSecretRef'))
  add('persistentvolumeclaims', textMember(objectMember(volume, 'persistentVolumeClaim'), 'claimName'))
  // The claim of an ephemeral volume has the names of its Pod and of the volume.
  if (Object.hasOwn(volume, 'ephemeral'))
    add('persistentvolumeclaims', `${podName}-${textMember(volume, 'name')}`)
  for (const source of objectsMember(objectMember(volume, 'projected'), 'sources')) {
    add('configmaps', nameIn(source, 'configMap'))
    add('secrets', nameIn(source, 'secret'))
  }
}

/** Volume sources with a `secretRef`. */
const sourcesWithSecret = ['cephfs', 'cinder', 'flexVolume', 'iscsi', 'rbd', 'scaleIO', 'storageos']

/**
 * Returns the claim of a PersistentVolume and the Secrets that its node reads; those for attaching
 * and expanding it are for controllers.
 *
 * @source upstream `pkg/api/v1/persistentvolume/util.go`, the Secrets that are visible to nodes
 */
export function volumeReferences(volume: AnyObject): VolumeReferences {
  const spec = objectMember(volume, 'spec')
  const claimRef = objectMember(spec, 'claimRef')
  const claimNamespace = textMember(claimRef, 'namespace')
  const claimName = textMember(claimRef, 'name')
  const secrets = new Set<Reference>()
  const add = (reference: JsonObject, nameMember = 'name', namespaceMember = 'namespace'): void => {
    const name = textMember(reference, nameMember)
    const namespace = textMember(reference, namespaceMember)
    if (name !== '') secrets.add(referenceTo('secrets', namespace === '' ? claimNamespace : namespace, name))
  }
  for (const source of sourcesWithSecret) add(objectMember(objectMember(spec, source), 'secretRef'))
  add(objectMember(spec, 'azureFile'), 'secretName', 'secretNamespace')
  const csi = objectMember(spec, 'csi')
  for (const member of ['nodeStageSecretRef', 'nodePublishSecretRef']) add(objectMember(csi, member))
  const claim = claimName === '' ? null : referenceTo('persistentvolumeclaims', claimNamespace, claimName)
  return { claim, secrets: [...secrets] }
}

function nameIn(object: JsonObject, member: string): string {
  return textMember(objectMember(object, member), 'name')
}
