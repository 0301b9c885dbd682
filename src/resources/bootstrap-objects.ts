import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import type { Names } from '../api/metadata/names.ts'
import { bootstrapOperation } from '../registry/kinds/bootstrap-operation.ts'
import type { Operation } from '../store/command.ts'
import { namespaceDefinition } from './namespace.ts'

/** Returns writes of the first objects of a cluster: the namespaces that the platform needs. */
export function bootstrapOperations(
  names: Names,
  dependencies: { readonly clock: Clock; readonly random: Random },
): readonly Operation[] {
  const definition = namespaceDefinition(names)
  const namespaces = ['default', names.systemNamespace, names.publicNamespace, names.nodeLeaseNamespace]
  return namespaces.map((name) => bootstrapOperation(definition, { name, namespace: null }, dependencies))
}
