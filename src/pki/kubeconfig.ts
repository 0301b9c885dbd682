import { isDeepStrictEqual } from 'node:util'
import { parse, stringify } from 'yaml'
import { PkiFailure } from './errors.ts'
import { readFileIfThere, replaceFile, writeNewFile } from './files.ts'

export type KubeconfigContent = {
  /** At least one; the first is where a new file points. */
  readonly servers: readonly { readonly name: string; readonly url: string }[]
  readonly authorityPem: string
  readonly certificatePem: string
  readonly keyPem: string
}

/** One context per server, all with the one user `admin`; certificates and key embedded. */
export function kubeconfig(content: KubeconfigContent, currentContext: string): Record<string, unknown> {
  const base64 = (text: string): string => Buffer.from(text, 'utf8').toString('base64')
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
    contexts: content.servers.map(({ name }) => ({ name, context: { cluster: name, user: 'admin' } })),
    'current-context': currentContext,
    preferences: {},
  }
}

/**
 * Makes the file say what `content` says. What else it says is its user's business and is kept: other contexts,
 * and which one is current.
 *
 * @throws PkiFailure `malformed` when the file is there and is no kubeconfig
 */
export function ensureKubeconfig(path: string, content: KubeconfigContent): 'made' | 'kept' {
  const first = content.servers[0]
  if (first === undefined) throw new PkiFailure('refused', 'a cluster has at least one member')
  const wanted = kubeconfig(content, first.name)
  const text = readFileIfThere(path)
  if (text === null) {
    writeNewFile(path, stringify(wanted), 'secret')
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
 * Takes a server and its context out of the file; another one is current then.
 *
 * @throws PkiFailure `malformed` when the file is no kubeconfig
 */
export function forgetServer(path: string, name: string): void {
  const text = readFileIfThere(path)
  if (text === null) return
  const present = parseConfig(path, text)
  const kept: Record<string, unknown> = { ...present }
  for (const part of ['clusters', 'contexts']) {
    kept[part] = listOf(present[part]).filter((entry) => nameOf(entry) !== name)
  }
  if (kept['current-context'] === name) kept['current-context'] = nameOf(listOf(kept['contexts'])[0]) ?? ''
  if (!isDeepStrictEqual(present, kept)) replaceFile(path, stringify(kept), 'secret')
}

/** Entries of the same name are replaced where they stand, the others stay, new ones follow. */
function merge(present: unknown, wanted: unknown): readonly unknown[] {
  const [before, after] = [listOf(present), listOf(wanted)]
  const replaced = before.map((entry) => after.find((other) => nameOf(other) === nameOf(entry)) ?? entry)
  const added = after.filter((entry) => !before.some((other) => nameOf(other) === nameOf(entry)))
  return [...replaced, ...added]
}

function nameOf(entry: unknown): unknown {
  return typeof entry === 'object' && entry !== null && 'name' in entry ? entry.name : null
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function parseConfig(path: string, text: string): Record<string, unknown> {
  try {
    const value: unknown = parse(text, { maxAliasCount: 0 })
    if (typeof value === 'object' && value !== null && 'clusters' in value) return { ...value }
  } catch (cause) {
    throw new PkiFailure('malformed', `${path} is not YAML`, { cause })
  }
  throw new PkiFailure('malformed', `${path} is not a kubeconfig`)
}
