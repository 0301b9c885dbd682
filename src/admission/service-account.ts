import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import { forbidden } from '../api/errors/standard-errors.ts'
import { objectMember, objectsMember, textMember } from '../api/json.ts'
import type { Names } from '../api/metadata/names.ts'
import type { AdmissionRequest } from '../registry/calls/admission.ts'
import { bootstrapOperation } from '../registry/kinds/bootstrap-operation.ts'
import { podReferences } from '../registry/kinds/node-references.ts'
import type { AnyObject, ResourceDefinition } from '../registry/kinds/definition.ts'
import { resourceOf } from '../registry/kinds/definition.ts'
import { parseStored } from '../registry/kinds/encode.ts'
import type { Operation } from '../store/command.ts'
import { keyOf } from '../store/key.ts'
import type { StoredObject } from '../store/object-store.ts'
import type { AdmissionPlugin } from './chain.ts'
import { ephemeralSecretViolation, limitsSecrets, secretViolation } from './mountable-secrets.ts'
import { isPodWrite } from './pods.ts'
import { wantsToken, withTokenVolume } from './token-volume.ts'

export type ServiceAccountAdmissionDependencies = {
  readonly names: Names
  readonly clock: Clock
  readonly random: Random
  /** The kind of service accounts. */
  readonly definition: ResourceDefinition
}

const DEFAULT_ACCOUNT = 'default'
const SUFFIX_CHARACTERS = 5

/**
 * Gives Pods without a service account the account `default`, refuses new Pods whose account does
 * not exist, and gives them the image pull secrets of their account unless they have their own, and
 * the volume with the token of their account unless they or the account decline it. An account with
 * the annotation `enforce-mountable-secrets` limits its Pods to the Secrets that it lists.
 *
 * The first Pod of a namespace may come before the controller that creates the account `default`:
 * the command of the Pod then creates it.
 *
 * @source spec 5.6; upstream `plugin/pkg/admission/serviceaccount`
 */
export function serviceAccountAdmission(dependencies: ServiceAccountAdmissionDependencies): AdmissionPlugin {
  const { names } = dependencies
  return {
    name: 'ServiceAccount',
    mutate: (request) => {
      const { object, operation } = request
      if (object === null || !isPodWrite(request)) return object
      if (isMirror(object, names)) {
        if (operation === 'CREATE') checkMirror(request, object)
        return object
      }
      const named = withAccount(object)
      if (operation !== 'CREATE') return named
      const stored = accountOf(request, named)
      const account = stored === null ? null : parseStored(stored)
      const pod = withPullSecrets(named, account)
      if (!wantsToken(pod, account)) return pod
      // The name is the same in every evaluation of the request, because webhooks may have seen it.
      return withTokenVolume(pod, request.context.requestUid.slice(-SUFFIX_CHARACTERS), names)
    },
    validate: (request) => checkSecrets(names, request),
    extraOperations: (request) => {
      const { object, operation } = request
      if (object === null || operation !== 'CREATE' || !isPodWrite(request)) return []
      if (isMirror(object, names)) return []
      return accountOf(request, object) === null ? [defaultAccount(dependencies, request)] : []
    },
  }
}

/** @throws ApiError `Forbidden`: the account of the Pod does not list a Secret that the Pod uses */
function checkSecrets(names: Names, request: AdmissionRequest): void {
  const { definition, target, operation, object } = request
  if (object === null || definition.group !== '' || definition.plural !== 'pods') return
  const isNew = operation === 'CREATE' && target.subresource === null
  if (!isNew && target.subresource !== 'ephemeralcontainers') return
  if (isMirror(object, names)) return
  const stored = accountOf(request, object)
  const account = stored === null ? null : parseStored(stored)
  if (account === null || !limitsSecrets(account, names)) return
  const why = isNew ? secretViolation(object, account) : ephemeralSecretViolation(object, account)
  if (why === null) return
  throw forbidden(resourceOf(definition), object.metadata.name ?? '', why)
}

/** Nodes create mirror Pods for their static Pods. No account is looked up for them. */
function isMirror(pod: AnyObject, names: Names): boolean {
  return pod.metadata.annotations?.[names.label('config.mirror')] !== undefined
}

/**
 * A mirror Pod must not use accounts and Secrets: its creator needs no permission for them.
 *
 * @throws ApiError `Forbidden`
 */
function checkMirror({ definition }: AdmissionRequest, pod: AnyObject): void {
  const refuse = (used: string): never => {
    throw forbidden(resourceOf(definition), pod.metadata.name ?? '', `a mirror pod may not ${used}`)
  }
  if (accountName(pod) !== '') refuse('reference service accounts')
  if (podReferences(pod, null).references.some((one) => one.startsWith('secrets/')))
    refuse('reference secrets')
  const volumes = objectsMember(objectMember(pod, 'spec'), 'volumes')
  const sources = volumes.flatMap((volume) => objectsMember(objectMember(volume, 'projected'), 'sources'))
  if (sources.some((source) => Object.hasOwn(source, 'serviceAccountToken')))
    refuse('use ServiceAccountToken volume projections')
}

function accountName(pod: AnyObject): string {
  return textMember(objectMember(pod, 'spec'), 'serviceAccountName')
}

function withAccount(pod: AnyObject): AnyObject {
  if (accountName(pod) !== '') return pod
  const account = { serviceAccountName: DEFAULT_ACCOUNT, serviceAccount: DEFAULT_ACCOUNT }
  return { ...pod, spec: { ...objectMember(pod, 'spec'), ...account } }
}

/** @returns null: the account `default`, which is created. @throws ApiError `Forbidden` */
function accountOf({ definition, target, reads }: AdmissionRequest, pod: AnyObject): StoredObject | null {
  const name = accountName(pod)
  const namespace = target.namespace ?? ''
  const found = name.includes('/')
    ? null
    : reads.getOther(keyOf({ group: '', plural: 'serviceaccounts', namespace, name }))
  if (found !== null || name === DEFAULT_ACCOUNT) return found
  const why = `error looking up service account ${namespace}/${name}: serviceaccount ${JSON.stringify(name)} not found`
  throw forbidden(resourceOf(definition), pod.metadata.name ?? '', why)
}

function withPullSecrets(pod: AnyObject, account: AnyObject | null): AnyObject {
  const spec = objectMember(pod, 'spec')
  if (account === null || objectsMember(spec, 'imagePullSecrets').length > 0) return pod
  const imagePullSecrets = objectsMember(account, 'imagePullSecrets')
  return imagePullSecrets.length === 0 ? pod : { ...pod, spec: { ...spec, imagePullSecrets } }
}

function defaultAccount(
  dependencies: ServiceAccountAdmissionDependencies,
  { target }: AdmissionRequest,
): Operation {
  const place = { name: DEFAULT_ACCOUNT, namespace: target.namespace }
  return bootstrapOperation(dependencies.definition, place, dependencies)
}
