import { isDeepStrictEqual } from 'node:util'
import { parse, stringify } from 'yaml'
import { isRecord } from '../../base/record.ts'
import { PkiError } from './errors.ts'
import { readFileIfThere, replaceFile, writeNewFile } from './files.ts'
import type { Lifetime } from './files.ts'

export type KubeconfigContent = {
  /** At least one server; the first one becomes the current context of a new file. */
  readonly servers: readonly { readonly name: string; readonly url: string }[]
  readonly authorityPem: string
  readonly certificatePem: string
  readonly keyPem: string
}

/**
 * Returns a kubeconfig with one context per server, all with the user `admin`; certificates and key
 * are embedded.
 */
export function kubeconfig(content: KubeconfigContent, currentContext: string): Record<string, unknown> {
  return {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: content.servers.map(({ name, url }) => ({
      name,
      cluster: { server: url, 'certificate-authority-data': base64(content.authorityPem) },
    })),
    users: [
      {
        name: 'admin',
        user: {
          'client-certificate-data': base64(content.certificatePem),
          'client-key-data': base64(content.keyPem),
        },
      },
    ],
    contexts: content.servers.map(({ name }) => contextOf(name)),
    'current-context': currentContext,
    preferences: {},
  }
}

/**
 * Creates the file, or merges `content` into it: other contexts and the current context stay.
 *
 * @throws PkiError `malformed` when the file is not a kubeconfig, `unusable` when it cannot be read
 * or written, `refused` without a server
 */
export function ensureKubeconfig(
  path: string,
  content: KubeconfigContent,
  lifetime: Lifetime = 'lasting',
): 'made' | 'kept' {
  const first = content.servers[0]
  if (first === undefined) throw new PkiError('refused', 'a cluster has at least one member')
  const wanted = kubeconfig(content, first.name)
  const text = readFileIfThere(path)
  if (text === null) {
    writeNewFile(path, stringify(wanted), 'secret', lifetime)
    return 'made'
  }
  const present = parseConfig(path, text)
  const merged: Record<string, unknown> = { ...present }
  for (const part of ['clusters', 'users', 'contexts']) merged[part] = merge(present[part], wanted[part])
  merged['current-context'] ??= first.name
  if (isDeepStrictEqual(present, merged)) return 'kept'
  replaceFile(path, stringify(merged), 'secret')
  return 'made'
}

/**
 * Removes the context of a server that `ensureKubeconfig` wrote, and the server unless another
 * context uses it. Contexts that a user wrote or changed stay, whatever their name. If it was the
 * current context, another one of the same cluster becomes current, or none.
 *
 * @param authorityPem of its cluster, because another cluster may have a server of the same name
 * @returns whether there was such a context
 * @throws PkiError `malformed` when the file is not a kubeconfig, `unusable` when it cannot be read
 * or written
 */
export function forgetServer(path: string, name: string, authorityPem: string): boolean {
  const text = readFileIfThere(path)
  if (text === null) return false
  const present = parseConfig(path, text)
  const [clusters, contexts] = [listOf(present['clusters']), listOf(present['contexts'])]
  const authority = base64(authorityPem)
  const isOfCluster = (server: unknown): boolean =>
    clusters.some((entry) => nameOf(entry) === server && authorityOf(entry) === authority)
  const left = contexts.filter((entry) => !isDeepStrictEqual(entry, contextOf(name)))
  if (left.length === contexts.length || !isOfCluster(name)) return false
  const isNeeded = left.some((entry) => serverOf(entry) === name)
  const kept: Record<string, unknown> = {
    ...present,
    clusters: isNeeded ? clusters : clusters.filter((entry) => nameOf(entry) !== name),
    contexts: left,
  }
  if (kept['current-context'] === name) {
    kept['current-context'] = nameOf(left.find((entry) => isOfCluster(serverOf(entry)))) ?? ''
  }
  replaceFile(path, stringify(kept), 'secret')
  return true
}

function contextOf(name: string): {
  readonly name: string
  readonly context: Readonly<Record<string, string>>
} {
  return { name, context: { cluster: name, user: 'admin' } }
}

function base64(text: string): string {
  return Buffer.from(text, 'utf8').toString('base64')
}

/** Returns the server of a context. */
function serverOf(entry: unknown): unknown {
  return fieldOf(fieldOf(entry, 'context'), 'cluster')
}

/** Returns the authority of a server. */
function authorityOf(entry: unknown): unknown {
  return fieldOf(fieldOf(entry, 'cluster'), 'certificate-authority-data')
}

/** Replaces entries of the same name in place, keeps the others, and appends new ones. */
function merge(present: unknown, wanted: unknown): readonly unknown[] {
  const [before, after] = [listOf(present), listOf(wanted)]
  const replaced = before.map((entry) => after.find((other) => nameOf(other) === nameOf(entry)) ?? entry)
  const added = after.filter((entry) => !before.some((other) => nameOf(other) === nameOf(entry)))
  return [...replaced, ...added]
}

function nameOf(entry: unknown): unknown {
  return fieldOf(entry, 'name')
}

/** @returns null without that field */
function fieldOf(value: unknown, field: string): unknown {
  return isRecord(value) ? (value[field] ?? null) : null
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function parseConfig(path: string, text: string): Record<string, unknown> {
  try {
    const value: unknown = parse(text, { maxAliasCount: 0 })
    if (typeof value === 'object' && value !== null && 'clusters' in value) return { ...value }
  } catch (cause) {
    throw new PkiError('malformed', `${path} is not YAML`, { cause })
  }
  throw new PkiError('malformed', `${path} is not a kubeconfig`)
}
