import type { Config } from '../config/config.ts'
import type { AuthenticationTrust, AuthenticationTrustSource } from '../controllers/authentication-trust.ts'
import type { SharedAuthorities } from '../key-ring/shared-authorities.ts'
import type { MemberKeys } from '../pki/member-keys.ts'
import { proxyOptions } from './policy.ts'

/** The authorities of clients and proxies, as the keys in force determine them. */
export class TrustSource implements AuthenticationTrustSource {
  readonly #config: Config
  readonly #authorities: Pick<SharedAuthorities, 'certificates' | 'onChange'>
  readonly #listeners: (() => void)[] = []
  #keys: MemberKeys

  constructor(
    config: Config,
    keys: MemberKeys,
    authorities: Pick<SharedAuthorities, 'certificates' | 'onChange'>,
  ) {
    this.#config = config
    this.#keys = keys
    this.#authorities = authorities
    authorities.onChange(() => this.#changed())
  }

  current(): AuthenticationTrust {
    const { clientAuthorities, proxyAuthorities } = this.#keys.server
    return {
      clientAuthorities:
        clientAuthorities === null ? null : `${clientAuthorities}\n${this.#authorities.certificates}`,
      proxies:
        proxyAuthorities === null ? null : { ...proxyOptions(this.#config), authorities: proxyAuthorities },
    }
  }

  renew(keys: MemberKeys): void {
    this.#keys = keys
    this.#changed()
  }

  onChange(listener: () => void): void {
    this.#listeners.push(listener)
  }

  #changed(): void {
    for (const listener of this.#listeners) listener()
  }
}
