import { dirname } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { parse, stringify } from 'yaml'
import { isRecord } from '../../../base/record.ts'
import { readCertificate } from '../certificate.ts'
import type { Certificate } from '../certificate.ts'
import { PkiError } from '../errors.ts'
import { isPlainFile, readFileIfThere, replaceFile } from '../files.ts'
import { authoritiesIn } from '../trust-bundle.ts'
import { withDirectoryLock } from './directory-lock.ts'
import type { ProcessView } from './directory-lock.ts'
import { fit } from './pair-files.ts'
import { isAdmin } from './renewable-pairs.ts'
import type { RenewablePair } from './renewable-pairs.ts'

/**
 * Updates a kubeconfig with the renewed pair of the admin and the current authorities. Changes the
 * servers of this cluster, and the users with an admin certificate that an authority of this
 * cluster issued. Everything else in the file stays.
 *
 * @returns whether the file was changed; false for a file that is missing, or a link
 * @throws PkiError
 */
export function refreshAdminKubeconfig(path: string, admin: RenewablePair, self: ProcessView): boolean {
  if (!isPlainFile(path)) return false
  if (refreshed(path, admin) === null) return false
  return withDirectoryLock(dirname(path), self, () => {
    const text = refreshed(path, admin)
    if (text !== null) replaceFile(path, text, 'secret')
    return text !== null
  })
}

/** Returns the new text of the file. @returns null: it is up to date */
function refreshed(path: string, { paths, bundlePath }: RenewablePair): string | null {
  const [text, bundle] = [readFileIfThere(path), readFileIfThere(bundlePath)]
  const [certificate, key] = [readFileIfThere(paths.certificate), readFileIfThere(paths.key)]
  if (text === null || bundle === null || certificate === null || key === null) return null
  // Only half of the pair has been replaced so far; the next check finds both files.
  if (!fit(certificate, key)) return null
  const present = parsed(path, text)
  const authorities = authoritiesIn(bundle)
  const earlier = [...authorities]
  const clusters = mapped(present['clusters'], 'cluster', (cluster) => {
    const known = authoritiesIn(decoded(cluster['certificate-authority-data']))
    if (!known.some((one) => authorities.some(({ fingerprint }) => fingerprint === one.fingerprint)))
      return cluster
    earlier.push(...known)
    return { ...cluster, 'certificate-authority-data': encoded(bundle) }
  })
  const users = mapped(present['users'], 'user', (user) => {
    const shown = readOrNull(decoded(user['client-certificate-data']))
    const isOurs =
      shown !== null && isAdmin(shown) && earlier.some(({ publicKey }) => shown.x509.verify(publicKey))
    if (!isOurs) return user
    return { ...user, 'client-certificate-data': encoded(certificate), 'client-key-data': encoded(key) }
  })
  const next = { ...present, clusters, users }
  return isDeepStrictEqual(next, present) ? null : stringify(next)
}

function mapped(
  list: unknown,
  member: string,
  change: (value: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>,
): unknown {
  if (!Array.isArray(list)) return list
  return (list as readonly unknown[]).map((entry) => {
    if (!isRecord(entry)) return entry
    const value = entry[member]
    return isRecord(value) ? { ...entry, [member]: change(value) } : entry
  })
}

function parsed(path: string, text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = parse(text, { maxAliasCount: 0 })
    if (isRecord(value)) return value
  } catch (cause) {
    throw new PkiError('malformed', `${path} is not YAML`, { cause })
  }
  throw new PkiError('malformed', `${path} is not a kubeconfig`)
}

function readOrNull(pem: string): Certificate | null {
  try {
    return readCertificate(pem)
  } catch (cause) {
    if (cause instanceof PkiError) return null
    throw cause
  }
}

function decoded(value: unknown): string {
  return typeof value === 'string' ? Buffer.from(value, 'base64').toString('utf8') : ''
}

function encoded(text: string): string {
  return Buffer.from(text, 'utf8').toString('base64')
}
