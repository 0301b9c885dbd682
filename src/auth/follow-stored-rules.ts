import type { Clock } from '../../base/clock.ts'
import type { Names } from '../api/metadata/names.ts'
import { Informer } from '../registry/informer.ts'
import type { AnyObject } from '../registry/kinds/definition.ts'
import { parseStored } from '../registry/kinds/encode.ts'
import { prefixOf } from '../store/key.ts'
import type { ObjectStore } from '../store/object-store.ts'
import { storedBinding, storedRole } from './stored-policy.ts'
import { StoredRules } from './stored-rules.ts'

export type StoredRulesOptions = {
  readonly names: Names
  readonly store: ObjectStore
  readonly clock: Clock
}

/**
 * Follows the roles and bindings that this member has applied.
 *
 * @returns the rules, and `close`, which stops following
 */
export function followStoredRules({ names, store, clock }: StoredRulesOptions): {
  readonly rules: StoredRules
  readonly close: () => void
} {
  const group = names.group('rbac.authorization')
  const informer = <T>(plural: string, parse: (object: AnyObject) => T): Informer<T> => {
    const prefix = prefixOf({ group, plural, namespace: null })
    return new Informer({ store, clock, prefix, parse: (stored) => parse(parseStored(stored)) })
  }
  const roles = informer('roles', storedRole)
  const clusterRoles = informer('clusterroles', storedRole)
  const roleBindings = informer('rolebindings', storedBinding)
  const clusterRoleBindings = informer('clusterrolebindings', storedBinding)
  const rules = new StoredRules({ roles, clusterRoles, roleBindings, clusterRoleBindings })
  const informers = [roles, clusterRoles, roleBindings, clusterRoleBindings]
  for (const one of informers) one.start()
  return {
    rules,
    close: () => {
      for (const one of informers) one.close()
    },
  }
}
