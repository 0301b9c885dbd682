import type { Names } from '../../api/metadata/names.ts'
import { missingRules } from '../../auth/missing-rules.ts'
import { clusterRoleAggregation } from '../../controllers/cluster-role-aggregation.ts'
import { defaultPolicyController } from '../../controllers/default-policy.ts'
import type { ExpectedObject, PolicyWrites } from '../../controllers/default-policy.ts'
import { initialObjects, systemPriorities } from '../../controllers/initial-objects.ts'
import { Informer } from '../../registry/informer.ts'
import type { Catalog } from '../../registry/kinds/catalog.ts'
import { parseStored } from '../../registry/kinds/encode.ts'
import { localApiServices } from '../../resources/aggregation/local-api-services.ts'
import type { InitialObject } from '../../resources/common/initial-object.ts'
import { initialFlows } from '../../resources/flows/initial-flows.ts'
import { prefixOf } from '../../store/key.ts'
import type { ControllerParts, Stop } from './controller-parts.ts'

export type PolicyParts = ControllerParts & {
  /** The roles and bindings that the cluster always has. */
  readonly policy: readonly ExpectedObject[]
}

/** Returns the objects that every cluster has, besides its policy. */
export function initialObjectsOf(names: Names, catalog: Catalog): readonly InitialObject[] {
  return [...systemPriorities(names), ...initialFlows(names), ...localApiServices(names, catalog.builtIn())]
}

/** Starts the controllers of roles, and of the objects that every cluster has. */
export function startPolicy(parts: PolicyParts): readonly Stop[] {
  const { store, clock, names, catalog, policy, log, serverClient, always } = parts
  const clusterRoles = new Informer({
    ...{ store, clock, parse: parseStored },
    prefix: prefixOf({ group: names.group('rbac.authorization'), plural: 'clusterroles', namespace: null }),
  })
  const aggregation = clusterRoleAggregation({
    ...{ clock, names, catalog, clusterRoles, client: parts.clientOf('clusterrole-aggregation') },
    events: parts.eventsOf('clusterrole-aggregation'),
    onError: (name, cause) => log.warn({ clusterRole: name, err: cause }, 'role not aggregated yet'),
  })
  const shared = { clock, names, catalog, client: serverClient }
  const defaults = defaultPolicyController({
    ...{ ...shared, store, missingRules, expected: policy },
    onReconciled: loggedOnce(log),
    onError: (name, cause) => log.warn({ name, err: cause }, 'default role or binding not stored yet'),
  })
  const initial = initialObjects({
    ...shared,
    expected: initialObjectsOf(names, catalog),
    onError: (name, cause) => log.warn({ name, err: cause }, 'object of every cluster not stored yet'),
  })
  clusterRoles.start()
  return [
    () => clusterRoles.close(),
    always('initial_objects', initial),
    ...parts.switched('clusterrole-aggregation', aggregation),
    always('default_policy', defaults),
  ]
}

/** Logs the first check, and each one that changed something. */
function loggedOnce(log: ControllerParts['log']): (writes: PolicyWrites) => void {
  let isLogged = false
  return (writes) => {
    const isChanged = Object.values(writes).some((count) => count > 0)
    if (isLogged && !isChanged) return
    isLogged = true
    log.info(writes, 'default roles and bindings are stored')
  }
}
