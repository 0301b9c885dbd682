import { createSecureContext } from 'node:tls'
import type { Clock } from '../../base/clock.ts'
import { StartError } from '../config/start-error.ts'
import { FileWatch } from '../pki/file-watch.ts'
import { readTextFile } from '../pki/files.ts'
import { readTrustBundle } from '../pki/trust-bundle.ts'

/** The paths of PEM files; empty: none. */
export type NodeAgentFiles = {
  readonly certificate: string
  readonly key: string
  readonly authority: string
}

/** The client certificate for the agents of nodes, and the authorities that verify them. PEM. */
export type NodeAgentIdentity = {
  readonly certificate: string
  readonly key: string
  /** null: the agents are not verified. */
  readonly authority: string | null
}

export type NodeAgentKeysDependencies = {
  readonly clock: Clock
  readonly log: { info(fields: object, message: string): void; warn(fields: object, message: string): void }
}

/**
 * The credentials for node agents, in files that may be replaced while the member runs. While the
 * changed files cannot be used, the earlier ones stay in use.
 */
export class NodeAgentKeys {
  readonly #files: NodeAgentFiles
  readonly #log: NodeAgentKeysDependencies['log']
  readonly #watch: FileWatch
  #identity: NodeAgentIdentity

  /** @throws StartError `usage` when a file cannot be used */
  constructor(files: NodeAgentFiles, { clock, log }: NodeAgentKeysDependencies) {
    this.#files = files
    this.#log = log
    this.#identity = identityIn(files)
    this.#watch = new FileWatch({
      ...{ clock, mayBeMissing: false, read: null },
      paths: () => [files.certificate, files.key, files.authority].filter((path) => path !== ''),
      onChange: () => this.#renew(),
    })
    this.#watch.start()
  }

  get identity(): NodeAgentIdentity {
    return this.#identity
  }

  close(): void {
    this.#watch.close()
  }

  #renew(): void {
    try {
      const read = identityIn(this.#files)
      const { certificate, key, authority } = this.#identity
      if (read.certificate === certificate && read.key === key && read.authority === authority) return
      this.#identity = read
      this.#log.info({}, 'the credentials for node agents changed on disk: new connections use them')
    } catch (cause) {
      if (!(cause instanceof StartError)) throw cause
      const words = 'the changed credentials for node agents are invalid: the earlier ones stay in use'
      this.#log.warn({ cause: cause.message }, words)
    }
  }
}

/** @throws StartError `usage` */
function identityIn({ certificate, key, authority }: NodeAgentFiles): NodeAgentIdentity {
  const identity = {
    certificate: read('kubelet-client-certificate', certificate),
    key: read('kubelet-client-key', key),
    authority: authority === '' ? null : read('kubelet-certificate-authority', authority, readTrustBundle),
  }
  try {
    createSecureContext({ cert: identity.certificate, key: identity.key })
  } catch (cause) {
    const pair = `--kubelet-client-certificate ${certificate} and --kubelet-client-key ${key}`
    throw new StartError('usage', `${pair} are not a certificate and its key in PEM`, { cause })
  }
  return identity
}

/** @throws StartError `usage` that names the flag */
function read(flag: string, path: string, check: (pem: string) => unknown = () => null): string {
  try {
    const pem = readTextFile(path)
    check(pem)
    return pem
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new StartError('usage', `--${flag} ${path}: ${why}`, { cause })
  }
}
