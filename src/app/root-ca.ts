import type { Config } from '../config/config.ts'
import type { MemberKeys } from '../pki/member-keys.ts'
import type { RootCaSource } from './controllers/accounts.ts'
import { rootCaOf } from './service-accounts.ts'

/** The CA certificates that verify the servers, as the keys in force determine them. */
export class RootCa implements RootCaSource {
  readonly #config: Config
  readonly #listeners: (() => void)[] = []
  #pem: string | null

  /** @throws StartError `keys` when the file of the flag cannot be used */
  constructor(config: Config, keys: MemberKeys) {
    this.#config = config
    this.#pem = rootCaOf(config, keys)
  }

  get pem(): string | null {
    return this.#pem
  }

  /** Takes the certificates of renewed keys. Those of a file that the flag names stay. */
  renew(keys: MemberKeys): void {
    const pem = this.#config['root-ca-file'] === '' ? rootCaOf(this.#config, keys) : this.#pem
    if (pem === this.#pem) return
    this.#pem = pem
    for (const listener of this.#listeners) listener()
  }

  onChange(listener: () => void): void {
    this.#listeners.push(listener)
  }
}
