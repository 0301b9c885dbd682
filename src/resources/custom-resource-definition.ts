import { objectMember, textMember } from '../api/json.ts'
import { checkDns1123Subdomain } from '../api/metadata/name-rules.ts'
import type { Names } from '../api/metadata/names.ts'
import { conform, keptFieldWords } from '../api/schema/conform.ts'
import type { ObjectSchema } from '../api/schema/schema.ts'
import { wholeObject } from '../api/schema/shared.ts'
import type { AnyObject, ResourceDefinition } from '../registry/kinds/definition.ts'
import { isTrue } from './crd/definition-conditions.ts'
import { customKindsLevel } from '../store/machine/feature-level.ts'
import { clientAliases } from './crd/client-alias.ts'
import { definitionSchema } from './crd/definition-schema.ts'
import { fillDefaults, prepareForCreate, prepareForDelete, prepareForUpdate } from './crd/definition-life.ts'
import { checkChangedDefinition, checkNewDefinition, checkStatus } from './crd/definition-rules.ts'
import { statusWithoutMetadata } from './common/status-subresource.ts'

/** Declares a custom kind. @source spec 1.1, 9; apiextensions/v1 */
export function customResourceDefinitionDefinition(names: Names): ResourceDefinition {
  const schema = definitionSchema(names)
  const whole = wholeObject(schema)
  const definition = {
    group: names.group('apiextensions'),
    version: 'v1',
    kind: 'CustomResourceDefinition',
    plural: 'customresourcedefinitions',
    singular: 'customresourcedefinition',
    shortNames: ['crd', 'crds'],
    categories: ['api-extensions'],
    scope: 'Cluster',
    verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
    schema,
    validateName: checkDns1123Subdomain,
    deleteReturnsObject: false,
    updateNeedsVersion: true,
    allowsUnqualifiedFinalizers: true,
    // Releases without custom kinds would not find their objects in a namespace that is deleted.
    sinceFeatureLevel: customKindsLevel,
    tracksGeneration: true,
    hooks: {
      fillDefaults,
      prepareForCreate,
      prepareForUpdate,
      prepareForDelete: (object) => prepareForDelete(object, names),
      contains: placeOfObjects,
      // The first deletion only marks a definition, whatever finalizers it has; see
      // `prepareForDelete`.
      blocksDeletion: ({ metadata }) => typeof metadata.deletionTimestamp !== 'string',
      validateNew: (object, found) => checkNewDefinition(object, names, found),
      validateUpdate: (object, current, found) => checkChangedDefinition(object, current, names, found),
      warnings: (object) => keptMembers(whole, object),
    },
    subresources: [statusWithoutMetadata(checkStatus)],
  } satisfies ResourceDefinition
  return Object.freeze({ ...definition, aliases: clientAliases(definition, names) })
}

/** Returns the warnings about members that are stored, but that this release does not know. */
function keptMembers(schema: ObjectSchema, definition: AnyObject): readonly string[] {
  return conform(schema, definition).kept.map(keptFieldWords)
}

/** A definition that was never established has no objects, or they belong to another definition. */
function placeOfObjects(
  definition: AnyObject,
): readonly { readonly group: string; readonly plural: string }[] {
  if (!isTrue(definition, 'Established')) return []
  const spec = objectMember(definition, 'spec')
  return [{ group: textMember(spec, 'group'), plural: textMember(objectMember(spec, 'names'), 'plural') }]
}
