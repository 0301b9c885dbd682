import { isProcessAlive } from '../host/process-alive.ts'
import { CertificateRenewal } from '../pki/renewal/certificate-renewal.ts'
import { placesOf } from '../pki/renewal/renewable-pairs.ts'
import type { BootContext } from './context.ts'

/** Returns the renewal of this member's certificates, and of the admin's in the CA directory. */
export function certificateRenewal(
  { config, clock, random, log, pid }: BootContext,
  directory: string,
): CertificateRenewal {
  const self = { pid, isAlive: isProcessAlive }
  return new CertificateRenewal({ places: placesOf(config, directory), clock, random, log, self })
}
