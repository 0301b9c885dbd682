import { createSecureContext } from 'node:tls'
import type { Clock } from '../../base/clock.ts'
import { limits } from '../config/limits.ts'
import type { ClientIdentity, ClientIdentityFiles } from '../pki/client-config.ts'
import { RenewedCredentials } from './renewed-credentials.ts'
import { readSmallFile } from './small-file.ts'

/**
 * Returns a client certificate and its key in files: the same object until the files have changed.
 * While they are missing or do not belong together, the last pair stays in use.
 *
 * @param identity the content of the files now
 * @source client-go `transport/cert_rotation.go`
 */
export function clientCertificateFiles(
  files: ClientIdentityFiles,
  identity: ClientIdentity,
  clock: Clock,
): RenewedCredentials<ClientIdentity> {
  return new RenewedCredentials(clock, identity, async (current) => {
    const [certificate, key] = await Promise.all(
      [files.certificate, files.key].map((path) => readSmallFile(path, limits.outwardCertificateBytesMax)),
    )
    if (typeof certificate !== 'string' || typeof key !== 'string') return current
    if (certificate === current.certificate && key === current.key) return current
    try {
      createSecureContext({ cert: certificate, key })
    } catch {
      // Only one of the files was replaced so far, or they cannot be used.
      return current
    }
    return { ...current, certificate, key }
  })
}
