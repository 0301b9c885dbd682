import type { KubernetesObject, V1ObjectMeta, V1OwnerReference, V1Pod } from '@kubernetes/client-node'

/** Names the creation of a Pod, so that the checks find the request that made it. */
export const creationAnnotation = 'example.org/creation'

export type Target = { readonly namespace: string; readonly name: string }

/** Returns the metadata of an object that a server returned. */
export function metaOf({ metadata }: KubernetesObject): V1ObjectMeta & {
  readonly name: string
  readonly namespace: string
  readonly uid: string
  readonly resourceVersion: string
} {
  const { name = '', namespace = '', uid = '', resourceVersion = '' } = metadata ?? {}
  return { ...metadata, name, namespace, uid, resourceVersion }
}

export function keyOf(object: KubernetesObject): string {
  const { namespace, name } = metaOf(object)
  return `${namespace}/${name}`
}

export function targetOf(key: string): Target {
  const [namespace = '', name = ''] = key.split('/')
  return { namespace, name }
}

export function controllerOf({ metadata }: KubernetesObject): V1OwnerReference | undefined {
  return metadata?.ownerReferences?.find(({ controller }) => controller === true)
}

export function referenceTo(kind: string, owner: KubernetesObject): V1OwnerReference {
  const { name, uid } = metaOf(owner)
  return { apiVersion: 'apps/v1', kind, name, uid, controller: true, blockOwnerDeletion: true }
}

/** Returns whether a Pod counts for its ReplicaSet: it is not finished, and not being deleted. */
export function isActive({ metadata, status }: V1Pod): boolean {
  const isFinished = status?.phase === 'Succeeded' || status?.phase === 'Failed'
  return !isFinished && metadata?.deletionTimestamp === undefined
}

export function isReady({ status }: V1Pod): boolean {
  return status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') ?? false
}
