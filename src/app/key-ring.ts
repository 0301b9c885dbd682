import { KeyRing } from '../key-ring/key-ring.ts'
import { memberKey } from '../key-ring/member-key.ts'
import { SharedTokenKeys } from '../key-ring/shared-token-keys.ts'
import type { Store } from '../store/store.ts'
import type { StoreMachine } from '../store/store-machine.ts'
import type { MemberContext } from './context.ts'

/**
 * Opens the keys that all members share.
 *
 * @throws StartError `keys`
 */
export function openKeyRing(
  { config, clock, log, id, closing, onFatal }: MemberContext,
  { directory, store, machine }: { directory: string; store: Store; machine: StoreMachine },
): { readonly ring: KeyRing; readonly shared: SharedTokenKeys } {
  const own = memberKey(config['in-memory'] ? null : directory)
  const parts = { store, clock, member: String(id), memberKey: own }
  const shared = new SharedTokenKeys({ ...parts, log })
  const ring = new KeyRing({
    ...{ ...parts, shared },
    configuration: () => machine.configuration,
    onFailure: onFatal,
  })
  shared.start()
  ring.start()
  closing.add(() => {
    ring.close()
    shared.close()
  })
  return { ring, shared }
}
