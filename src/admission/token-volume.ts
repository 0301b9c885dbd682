import { objectMember, objectsMember, textMember } from '../api/json.ts'
import type { JsonObject } from '../api/json.ts'
import type { Names } from '../api/metadata/names.ts'
import type { AnyObject } from '../registry/kinds/definition.ts'

const VOLUME_PREFIX = 'kube-api-access-'
/** An hour, plus 7 seconds that mark the tokens of Pods. Node agents renew them earlier. */
const TOKEN_SECONDS = 3607
const FILE_MODE = 0o644

/**
 * Returns whether the Pod gets the token of its account. The field of the Pod takes precedence over
 * that of the account.
 */
export function wantsToken(pod: AnyObject, account: JsonObject | null): boolean {
  const ofPod = objectMember(pod, 'spec')['automountServiceAccountToken']
  const ofAccount = account?.['automountServiceAccountToken']
  if (typeof ofPod === 'boolean') return ofPod
  return typeof ofAccount === 'boolean' ? ofAccount : true
}

/**
 * Mounts the volume with the token of the account, the CA certificates of the server and the
 * namespace in each container that has nothing mounted at `serviceAccountMountPath`. Adds the
 * volume unless the Pod has one whose name begins like that of such a volume.
 *
 * @param suffix makes the name of the volume unlikely to be taken
 * @source spec 2.5, 5.6; upstream `plugin/pkg/admission/serviceaccount/admission.go`
 */
export function withTokenVolume(pod: AnyObject, suffix: string, names: Names): AnyObject {
  const spec = objectMember(pod, 'spec')
  const volumes = objectsMember(spec, 'volumes')
  const present = volumes
    .map((volume) => textMember(volume, 'name'))
    .find((name) => name.startsWith(VOLUME_PREFIX))
  const name = present ?? VOLUME_PREFIX + suffix
  const mount = { name, readOnly: true, mountPath: names.serviceAccountMountPath }
  let isUsed = false
  const mounted = (container: JsonObject): JsonObject => {
    const mounts = objectsMember(container, 'volumeMounts')
    if (mounts.some((one) => textMember(one, 'mountPath') === mount.mountPath)) return container
    isUsed = true
    return { ...container, volumeMounts: [...mounts, mount] }
  }
  const containers: Record<string, JsonObject[]> = {}
  for (const member of ['initContainers', 'containers']) {
    if (Object.hasOwn(spec, member)) containers[member] = objectsMember(spec, member).map(mounted)
  }
  if (!isUsed) return pod
  const added =
    present === undefined ? { volumes: [...volumes, { name, projected: tokenSources(names) }] } : {}
  return { ...pod, spec: { ...spec, ...added, ...containers } }
}

function tokenSources(names: Names): JsonObject {
  const ca = { name: names.rootCaConfigMap, items: [{ key: names.rootCaKey, path: 'ca.crt' }] }
  const fieldRef = { apiVersion: 'v1', fieldPath: 'metadata.namespace' }
  return {
    sources: [
      { serviceAccountToken: { expirationSeconds: TOKEN_SECONDS, path: 'token' } },
      { configMap: ca },
      { downwardAPI: { items: [{ path: 'namespace', fieldRef }] } },
    ],
    defaultMode: FILE_MODE,
  }
}
