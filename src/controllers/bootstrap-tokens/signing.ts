import { createHmac } from 'node:crypto'
import type { Clock } from '../../../base/clock.ts'
import { equalJson, objectMember } from '../../api/json.ts'
import type { Json, JsonObject } from '../../api/json.ts'
import type { Names } from '../../api/metadata/names.ts'
import { bootstrapTokenName } from '../../registry/kinds/bootstrap-token.ts'
import type { BootstrapToken } from '../../registry/kinds/bootstrap-token.ts'
import type { Catalog } from '../../registry/kinds/catalog.ts'
import type { Informer } from '../../registry/informer.ts'
import type { LocalClient } from '../../registry/local-client.ts'
import { keyOf } from '../../store/key.ts'
import type { Key } from '../../store/key.ts'
import { Controller } from '../controller.ts'
import type { Reconciled } from '../controller.ts'
import type { EventSubject } from '../event-object.ts'
import type { EventRecorder } from '../event-recorder.ts'
import { listedNames, storedSubject, subjectOf } from '../event-subject.ts'
import { LastingProblems } from '../lasting-problems.ts'
import { isLostRace } from '../lost-race.ts'
import { withAuthorities } from './cluster-info-authorities.ts'
import { periodicController } from '../periodic-controller.ts'
import type { PeriodicController } from '../periodic-controller.ts'

export type ClusterInfoSigningDependencies = {
  readonly clock: Clock
  readonly names: Names
  readonly catalog: Catalog
  readonly client: LocalClient
  /** The tokens of the system namespace. null: a Secret without a token */
  readonly tokens: Pick<Informer<BootstrapToken | null>, 'entries' | 'subscribe' | 'takeIn' | 'lacks'>
  /** The ConfigMap `cluster-info`, if it exists. */
  readonly clusterInfo: Pick<Informer<true>, 'subscribe'>
  /** CA certificates (PEM) that verify the servers. null: not known */
  readonly rootCa: () => string | null
  /** Calls the listener when these certificates have changed. */
  readonly onRootCaChanged: (listener: () => void) => void
  readonly events: Pick<EventRecorder, 'record'>
  readonly onError: (key: string, cause: unknown) => void
}

/** The ConfigMap in the public namespace, which is readable without credentials. */
export const clusterInfoName = 'cluster-info'
const kubeconfigKey = 'kubeconfig'
const signaturePrefix = 'jws-kubeconfig-'
/** Maximum number of tokens that sign. If there are more, those with the lowest IDs sign. */
const signaturesMax = 1000
/** Bytes that all tokens together sign in one turn. Fewer tokens sign a huge kubeconfig. */
const signedBytesMax = 64 * 1024 * 1024

/**
 * Signs the kubeconfig of `cluster-info` with each bootstrap token that allows it. A node that has
 * the token verifies the signature, which proves that the kubeconfig is that of the right cluster.
 * Replaces outdated authorities of the cluster in the kubeconfig.
 *
 * @source spec 2.4, 3.3; upstream `pkg/controller/bootstrap/bootstrapsigner.go`
 */
export function clusterInfoSigner(dependencies: ClusterInfoSigningDependencies): PeriodicController {
  const { clock, names, tokens, clusterInfo, onError } = dependencies
  /** When the signatures were last compared with the wall clock, and when the next one expires. */
  let compared = { atMs: Infinity, untilMs: -Infinity }
  const signers = (): readonly BootstrapToken[] => {
    const found = signing(dependencies)
    const ends = found.map(({ expiresMs }) => expiresMs)
    compared = { atMs: clock.wallMs(), untilMs: ends.reduce((a, b) => Math.min(a, b), Infinity) }
    return found
  }
  const problems = new LastingProblems(dependencies)
  const at = { namespace: names.publicNamespace, name: clusterInfoName }
  const controller = new Controller({
    ...{ clock, onError, keys: () => [clusterInfoName] },
    reconcile: problems.watched(
      () => reconcile(dependencies, { problems, signers }),
      (_, words) => ({
        about: () => storedSubject(dependencies, 'configmaps', at),
        ...{ reason: 'FailedUpdate', message: `The signatures cannot be written: ${words}` },
      }),
    ),
  })
  const enqueue = (): void => controller.enqueue(clusterInfoName)
  tokens.subscribe(enqueue)
  clusterInfo.subscribe(enqueue)
  dependencies.onRootCaChanged(enqueue)
  const due = (): readonly string[] => {
    const nowMs = clock.wallMs()
    // A token that had expired signs again after the clock was set back.
    return nowMs < compared.atMs || nowMs >= compared.untilMs ? [clusterInfoName] : []
  }
  return periodicController(controller, { clock, due })
}

/** Returns the tokens that sign now, sorted by ID. */
function signing({ clock, tokens }: ClusterInfoSigningDependencies): readonly BootstrapToken[] {
  const nowMs = clock.wallMs()
  const found: BootstrapToken[] = []
  for (const [, token] of tokens.entries()) {
    if (token !== null && token.signs && token.expiresMs > nowMs) found.push(token)
  }
  return found.sort((a, b) => (a.id < b.id ? -1 : 1))
}

type Signing = {
  readonly problems: LastingProblems
  /** Returns the tokens that allow signing, as this member has applied them, sorted by ID. */
  readonly signers: () => readonly BootstrapToken[]
}

async function reconcile(
  { names, catalog, client, tokens, rootCa, events }: ClusterInfoSigningDependencies,
  { problems, signers }: Signing,
): Promise<Reconciled> {
  const definition = catalog.find('', 'v1', 'configmaps')
  if (definition === null) return { kind: 'done' }
  const target = { namespace: names.publicNamespace, name: clusterInfoName, subresource: null }
  const object = await client.get(definition, target)
  // Otherwise the signature of a token that this member has not applied yet would be removed.
  await tokens.takeIn()
  const current = signers()
  if (object === null) return { kind: 'done' }
  const given = objectMember(object, 'data')
  const wanted = withRootCa(given, rootCa())
  const isSame = wanted[kubeconfigKey] === given[kubeconfigKey]
  // A token that cannot be decrypted may be one that signs.
  const isKept = (id: string): boolean => isSame && tokens.lacks(secretKey(names, id))
  const about = subjectOf(definition, object)
  const signingNow = current.slice(0, signersMax(wanted))
  await reportUnsigned(problems, about, { wanted: current.length, now: signingNow.length })
  const data = signedData(names, wanted, { tokens: signingNow, isKept })
  if (equalJson(data, given)) return { kind: 'done' }
  try {
    await client.update(definition, target, { ...object, data })
    const message = signedMessage(idsIn(given), idsIn(data))
    events.record(about, { type: 'Normal', reason: 'ClusterInfoSigned', message })
  } catch (cause) {
    if (!isLostRace(cause)) throw cause
    return { kind: 'again' }
  }
  return { kind: 'done' }
}

/** Records that tokens cannot sign, which no retry changes. */
async function reportUnsigned(
  problems: LastingProblems,
  about: EventSubject,
  { wanted, now }: { readonly wanted: number; readonly now: number },
): Promise<void> {
  const key = 'tokens that do not sign'
  if (now === wanted) {
    problems.solved(key)
    return
  }
  const message =
    now === 0
      ? `No bootstrap token signs: the key ${kubeconfigKey} is missing or too large`
      : `Only ${now} of the ${wanted} bootstrap tokens for signing sign, those with the lowest IDs`
  await problems.found(key, { about: () => [about], reason: 'ClusterInfoNotSigned', message }, 0)
}

/** Returns how many tokens can sign. */
function signersMax({ [kubeconfigKey]: kubeconfig }: JsonObject): number {
  if (typeof kubeconfig !== 'string') return 0
  return Math.min(signaturesMax, Math.floor(signedBytesMax / base64url(kubeconfig).length))
}

/** Returns the IDs of the tokens whose signatures the data has. */
function idsIn(data: JsonObject): readonly string[] {
  const keys = Object.keys(data).filter((key) => key.startsWith(signaturePrefix))
  return keys.map((key) => key.slice(signaturePrefix.length)).sort()
}

function signedMessage(before: readonly string[], after: readonly string[]): string {
  const had = new Set(before)
  const has = new Set(after)
  const added = after.filter((id) => !had.has(id))
  const removed = before.filter((id) => !has.has(id))
  const parts = [
    ...(added.length > 0 ? [`Signed by the bootstrap tokens ${listedNames(added)}`] : []),
    ...(removed.length > 0 ? [`Removed the signatures of the tokens ${listedNames(removed)}`] : []),
  ]
  return parts.join('. ') || 'Signed again: the kubeconfig or a signature had changed'
}

/** Nodes that join later must not trust an authority that the cluster has replaced. */
function withRootCa(data: JsonObject, rootCa: string | null): JsonObject {
  const kubeconfig = data[kubeconfigKey]
  if (typeof kubeconfig !== 'string' || rootCa === null) return data
  return { ...data, [kubeconfigKey]: withAuthorities(kubeconfig, rootCa) }
}

function secretKey({ systemNamespace }: Names, id: string): Key {
  return keyOf({ group: '', plural: 'secrets', namespace: systemNamespace, name: bootstrapTokenName(id) })
}

/**
 * Returns the data with the signatures of these tokens, and of others only the kept ones.
 *
 * @param of.isKept whether the signature of the token of that ID stays
 */
function signedData(
  names: Names,
  given: JsonObject,
  {
    tokens,
    isKept,
  }: { readonly tokens: readonly BootstrapToken[]; readonly isKept: (id: string) => boolean },
): JsonObject {
  const others = Object.entries(given).filter(
    ([key]) => !key.startsWith(signaturePrefix) || isKept(key.slice(signaturePrefix.length)),
  )
  const kubeconfig = given[kubeconfigKey]
  if (typeof kubeconfig !== 'string') return Object.fromEntries(others)
  const payload = base64url(kubeconfig)
  const signatures: [string, Json][] = []
  for (const token of tokens) {
    const key = signingKey(names, token)
    signatures.push([`${signaturePrefix}${token.id}`, detachedSignature(payload, token.id, key)])
  }
  return Object.fromEntries([...others, ...signatures])
}

/** Existing clients of the domain k8s.io verify with the secret half of the token. */
function signingKey({ domain }: Names, { id, secret }: BootstrapToken): string {
  return domain === 'k8s.io' ? secret : `${id}.${secret}`
}

/**
 * Returns a compact JWS without its payload.
 *
 * @param payload in base64url
 * @source RFC 7515 section 7.1, appendix F
 */
function detachedSignature(payload: string, id: string, key: string): string {
  const header = base64url(JSON.stringify({ alg: 'HS256', kid: id }))
  const hmac = createHmac('sha256', key).update(`${header}.${payload}`)
  return `${header}..${hmac.digest('base64url')}`
}

function base64url(text: string): string {
  return Buffer.from(text).toString('base64url')
}
