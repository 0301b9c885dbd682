import type { Configuration } from '../../raft/index.ts'
import { AuthorityRing } from '../key-ring/authority-ring.ts'
import { KeyRing } from '../key-ring/key-ring.ts'
import { memberKey } from '../key-ring/member-key.ts'
import { SharedAuthorities } from '../key-ring/shared-authorities.ts'
import { SharedTokenKeys } from '../key-ring/shared-token-keys.ts'
import type { Store } from '../store/store.ts'
import type { StoreMachine } from '../store/store-machine.ts'
import type { MemberContext } from './context.ts'

export type OpenedKeyRing = {
  readonly ring: KeyRing
  readonly shared: SharedTokenKeys
  readonly authorityRing: AuthorityRing
  readonly authorities: SharedAuthorities
}

/**
 * Opens the keys that all members share.
 *
 * @throws StartError `keys`
 */
export function openKeyRing(
  { config, clock, random, log, id, closing, onFatal }: MemberContext,
  { directory, store, machine }: { directory: string; store: Store; machine: StoreMachine },
): OpenedKeyRing {
  const own = memberKey(config['in-memory'] ? null : directory)
  const parts = { store, clock, member: String(id), memberKey: own }
  const shared = new SharedTokenKeys({ ...parts, log })
  const configuration = (): Configuration => machine.configuration
  const authorities = new SharedAuthorities({ ...parts, log })
  const authorityRing = new AuthorityRing({ ...parts, random, shared: authorities, configuration })
  const ring = new KeyRing({
    ...{ ...parts, shared, configuration },
    onFailure: onFatal,
  })
  shared.start()
  authorities.start()
  ring.start()
  closing.add(() => {
    ring.close()
    shared.close()
    authorities.close()
  })
  return { ring, shared, authorityRing, authorities }
}
