import { createSecureContext } from 'node:tls'
import type { Clock } from '../../base/clock.ts'
import { limits } from '../config/limits.ts'
import type { ClientIdentity, ClientIdentityFiles } from '../pki/client-config.ts'
import { readSmallFile } from './small-file.ts'

/**
 * A client certificate and its key in files, which another program renews. While they are missing
 * or do not belong together, the last pair stays in use.
 *
 * @source client-go `transport/cert_rotation.go`
 */
export class ClientCertificateFiles {
  readonly #files: ClientIdentityFiles
  readonly #clock: Clock
  #identity: ClientIdentity
  #readMs: number
  #reading: Promise<void> | null = null

  /** @param identity the content of the files now */
  constructor(files: ClientIdentityFiles, identity: ClientIdentity, clock: Clock) {
    this.#files = files
    this.#identity = identity
    this.#clock = clock
    this.#readMs = clock.monotonicMs()
  }

  /** Returns the pair to use; the same object until the files have changed. Never rejects. */
  async identity(): Promise<ClientIdentity> {
    const nowMs = this.#clock.monotonicMs()
    if (nowMs - this.#readMs >= limits.outwardCredentialFileMs) {
      this.#reading ??= this.#read(nowMs).finally(() => {
        this.#reading = null
      })
      await this.#reading
    }
    return this.#identity
  }

  async #read(nowMs: number): Promise<void> {
    this.#readMs = nowMs
    const [certificate, key] = await Promise.all(
      [this.#files.certificate, this.#files.key].map((path) =>
        readSmallFile(path, limits.outwardCertificateBytesMax),
      ),
    )
    if (typeof certificate !== 'string' || typeof key !== 'string') return
    const known = this.#identity
    if (certificate === known.certificate && key === known.key) return
    try {
      createSecureContext({ cert: certificate, key })
    } catch {
      // Only one of the files was replaced so far, or they cannot be used.
      return
    }
    this.#identity = { ...known, certificate, key }
  }
}
