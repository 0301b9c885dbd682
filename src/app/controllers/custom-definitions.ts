import { limits } from '../../config/limits.ts'
import { takenNames } from '../../controllers/custom-definition-claims.ts'
import { customDefinitionDeletion } from '../../controllers/custom-definition-deletion.ts'
import { customDefinitionNames } from '../../controllers/custom-definition-names.ts'
import type { KnownDefinition } from '../../controllers/custom-definition-summary.ts'
import type { Informer } from '../../registry/informer.ts'
import type { ControllerParts, Stop } from './controller-parts.ts'

export type CustomDefinitionsParts = ControllerParts & {
  /** The definitions of custom kinds; the owner starts the informer. */
  readonly definitions: Informer<KnownDefinition>
}

/** Starts the controllers of custom kinds. */
export function startCustomDefinitions(parts: CustomDefinitionsParts): readonly Stop[] {
  const { store, clock, names, catalog, definitions, log, serverClient: client, always } = parts
  const shared = { clock, names, catalog, client, definitions }
  const accepting = customDefinitionNames({
    ...{ ...shared, store },
    taken: (group) => takenNames(catalog.builtIn(), group),
    establishedMax: limits.customDefinitionsMax,
    onError: (group, cause) => log.warn({ group, err: cause }, 'names of definitions not accepted yet'),
  })
  const deletion = customDefinitionDeletion({
    ...shared,
    onError: (name, cause) => log.warn({ definition: name, err: cause }, 'definition not emptied yet'),
  })
  return [always('crd_naming_condition_controller', accepting), always('crd_finalizer', deletion)]
}
