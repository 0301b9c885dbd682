import type { Clock } from '../../base/clock.ts'
import { ApiError } from '../api/errors/api-error.ts'
import { equalJson, isJsonList, objectMember, textMember } from '../api/json.ts'
import type { Json, JsonObject } from '../api/json.ts'
import type { Names } from '../api/metadata/names.ts'
import { readCertificateDer } from '../pki/certificate.ts'
import { PkiError } from '../pki/errors.ts'
import { pemBlocks, toPem } from '../pki/pem.ts'
import type { Informer } from '../registry/informer.ts'
import type { Catalog } from '../registry/kinds/catalog.ts'
import type { LocalClient } from '../registry/local-client.ts'
import { Controller } from './controller.ts'
import type { Reconciled } from './controller.ts'
import type { EventRecorder } from './event-recorder.ts'
import { storedSubject } from './event-subject.ts'
import { LastingProblems } from './lasting-problems.ts'
import { isLostRace } from './lost-race.ts'

/** How the members verify clients and authenticating proxies. */
export type AuthenticationTrust = {
  /** In PEM. null: no client certificates */
  readonly clientAuthorities: string | null
  /** null: no proxies are trusted. */
  readonly proxies: ProxyTrust | null
}

export type ProxyTrust = {
  /** In PEM. */
  readonly authorities: string
  /** Common names of the certificates of proxies; empty: any. */
  readonly allowedNames: readonly string[]
  /** Names of the headers that describe the user. */
  readonly userHeaders: readonly string[]
  readonly groupHeaders: readonly string[]
  readonly extraPrefixes: readonly string[]
}

/** The trust of this member, which may change while it runs. */
export interface AuthenticationTrustSource {
  current(): AuthenticationTrust
  /** Calls the listener after a change. */
  onChange(listener: () => void): void
}

export type AuthenticationTrustDependencies = {
  readonly clock: Clock
  readonly names: Names
  readonly catalog: Catalog
  readonly client: LocalClient
  readonly trust: AuthenticationTrustSource
  /** The ConfigMap, if it exists. */
  readonly published: Pick<Informer<true>, 'subscribe'>
  readonly events: Pick<EventRecorder, 'record'>
  readonly onError: (name: string, cause: unknown) => void
}

/** The ConfigMap of the system namespace that other servers read to verify the same clients. */
export const trustConfigMapName = 'extension-apiserver-authentication'

/**
 * Publishes the authorities of clients and proxies, with which the controller manager, the
 * scheduler and other servers authenticate their callers. Values of other members stay; expired
 * certificates are removed.
 *
 * @source upstream `pkg/controlplane/controller/clusterauthenticationtrust`, release 1.24
 */
export function authenticationTrustPublisher(dependencies: AuthenticationTrustDependencies): Controller {
  const { clock, names, trust, published, onError } = dependencies
  const controller = new Controller({
    ...{ clock, onError },
    keys: () => [trustConfigMapName],
    reconcile: new LastingProblems(dependencies).watched(
      () => reconcile(dependencies),
      (_, words) => ({
        about: () =>
          storedSubject(dependencies, 'namespaces', { namespace: null, name: names.systemNamespace }),
        reason: 'AuthenticationTrustNotPublished',
        message: `The ConfigMap ${trustConfigMapName} cannot be stored: ${words}`,
      }),
    ),
  })
  const enqueue = (): void => controller.enqueue(trustConfigMapName)
  published.subscribe(enqueue)
  trust.onChange(enqueue)
  return controller
}

async function reconcile(dependencies: AuthenticationTrustDependencies): Promise<Reconciled> {
  const { clock, names, catalog, client, trust } = dependencies
  const definition = catalog.find('', 'v1', 'configmaps')
  if (definition === null) return { kind: 'done' }
  const namespace = names.systemNamespace
  const target = { namespace, name: trustConfigMapName, subresource: null }
  const found = await client.get(definition, target)
  const stored = objectMember(found ?? {}, 'data')
  const data = publishedData(stored, trust.current(), clock.wallMs())
  try {
    if (found === null && Object.keys(data).length > 0) {
      const metadata = { name: trustConfigMapName, namespace }
      await client.create(definition, namespace, { apiVersion: 'v1', kind: 'ConfigMap', metadata, data })
    } else if (found !== null && !equalJson(stored, data)) {
      await client.update(definition, target, { ...found, data })
    }
  } catch (cause) {
    // A missing namespace is reported each time, because a retry alone does not help.
    const isReported = found === null && cause instanceof ApiError && cause.code === 'NotFound'
    if (isReported || !isLostRace(cause)) throw cause
    return { kind: 'again' }
  }
  return { kind: 'done' }
}

/**
 * Returns the content of the ConfigMap: under its known keys, what is stored and what this member
 * trusts. Other keys are left out.
 */
function publishedData(
  stored: JsonObject,
  { clientAuthorities, proxies }: AuthenticationTrust,
  nowMs: number,
): JsonObject {
  const authorities = (key: string, own: string | null): JsonObject => {
    const pem = unexpired(`${textMember(stored, key)}\n${own ?? ''}`, nowMs)
    return pem === '' ? {} : { [key]: pem }
  }
  const client = authorities('client-ca-file', clientAuthorities)
  const proxy = authorities('requestheader-client-ca-file', proxies?.authorities ?? null)
  if (Object.keys(proxy).length === 0) return client
  const lists: { readonly [key: string]: readonly string[] | undefined } = {
    'requestheader-username-headers': proxies?.userHeaders,
    'requestheader-group-headers': proxies?.groupHeaders,
    'requestheader-extra-headers-prefix': proxies?.extraPrefixes,
    'requestheader-allowed-names': proxies?.allowedNames,
  }
  const merged = Object.entries(lists).map(([key, own = []]) => {
    const all = new Set([...textsIn(textMember(stored, key)), ...own])
    return [key, JSON.stringify([...all])] as const
  })
  return { ...client, ...proxy, ...Object.fromEntries(merged) }
}

/** Returns the certificates of a text that have not expired, each once. Others are left out. */
function unexpired(text: string, nowMs: number): string {
  const found = new Set<string>()
  for (const block of text.split(/(?=-----BEGIN )/)) {
    try {
      for (const { label, der } of pemBlocks(block)) {
        if (readCertificateDer(der).notAfterMs >= nowMs) found.add(toPem(label, der))
      }
    } catch (cause) {
      if (!(cause instanceof PkiError)) throw cause
    }
  }
  return [...found].join('')
}

/** Returns the texts in a JSON list; an empty list if the text is not one. */
function textsIn(text: string): readonly string[] {
  try {
    const list = JSON.parse(text) as Json
    return isJsonList(list) ? list.filter((item) => typeof item === 'string') : []
  } catch {
    return []
  }
}
