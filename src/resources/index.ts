import type { Names } from '../api/names.ts'
import type { ResourceDefinition } from '../registry/definition.ts'
import { configMapDefinition } from './config-map.ts'
import { memberDefinition } from './member.ts'
import { namespaceDefinition } from './namespace.ts'
import { secretDefinition } from './secret.ts'

/** All kinds of the server, in the order in which discovery lists them, as one domain names them. */
export function definitionsFor(names: Names): readonly ResourceDefinition[] {
  return [
    configMapDefinition(names),
    namespaceDefinition(names),
    secretDefinition(names),
    memberDefinition(names),
  ]
}
