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
 * Makes the file say what `content` says. Which context is current is the user's own choice and is kept as
 * long as that context exists.
 *
 * @throws PkiFailure `malformed` when the file is there and is no kubeconfig
 */
export function ensureKubeconfig(path: string, content: KubeconfigContent): 'made' | 'kept' {
  const first = content.servers[0]
  if (first === undefined) throw new PkiFailure('refused', 'a cluster has at least one member')
  const text = readFileIfThere(path)
  if (text === null) {
    writeNewFile(path, stringify(kubeconfig(content, first.name)), 'secret')
    return 'made'
  }
  const present = parseConfig(path, text)
  const current = present['current-context']
  const known = content.servers.find(({ name }) => name === current) ?? first
  const wanted = kubeconfig(content, known.name)
  const parts = ['clusters', 'users', 'contexts'] as const
  if (parts.every((part) => isDeepStrictEqual(present[part], wanted[part]))) return 'kept'
  replaceFile(path, stringify(wanted), 'secret')
  return 'made'
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
