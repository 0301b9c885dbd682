import { compareVersions } from '../../api/metadata/group-version.ts'
import { compileStructural } from '../../api/custom/structural-schema.ts'
import type { CompiledSchema } from '../../api/custom/structural-schema.ts'
import {
  isJsonObject,
  memberOf,
  objectMember,
  objectsMember,
  setMember,
  textMember,
  textsMember,
} from '../../api/json.ts'
import type { JsonObject, JsonObjectDraft } from '../../api/json.ts'
import { checkDns1123Subdomain } from '../../api/metadata/name-rules.ts'
import type { Names } from '../../api/metadata/names.ts'
import type {
  DefinitionBasis,
  AnyObject,
  PartSubresource,
  ResourceDefinition,
  StoredVersion,
  SubresourceDefinition,
  Verb,
} from '../../registry/kinds/definition.ts'
import type { Deprecation } from '../../registry/kinds/deprecation.ts'
import type { ConversionWebhook } from '../../registry/kinds/conversion-webhook.ts'
import { keyOf } from '../../store/key.ts'
import { customColumns } from './custom-columns.ts'
import { isTrue } from './definition-conditions.ts'
import { conversionWebhookOf } from './definition-conversion.ts'
import { selectableFieldsOf } from './selectable-fields.ts'
import { parseMemberPath, valueAt } from './member-path.ts'
import { storedConversion, webhookShapes } from './stored-conversion.ts'
import { keeping } from '../common/status-subresource.ts'
import { scaleSubresource } from '../scale.ts'

/**
 * Returns the kinds that a definition creates: one for each served version, none until it is
 * established.
 *
 * Schemas are compiled at first use, so an unused definition costs only its JSON.
 *
 * @param definition was validated, perhaps by another release
 * @source apiextensions-apiserver `pkg/apiserver/customresource_handler.go`
 */
export function customKinds(definition: AnyObject, names: Names): readonly ResourceDefinition[] {
  if (!isTrue(definition, 'Established')) return []
  const spec = objectMember(definition, 'spec')
  const schemas = new Map<string, CompiledSchema>()
  const versions = objectsMember(spec, 'versions')
  for (const version of versions) {
    const json = objectMember(objectMember(version, 'schema'), 'openAPIV3Schema')
    schemas.set(textMember(version, 'name'), compileStructural(json, names))
  }
  const webhook = conversionWebhookOf(definition)
  const of = { names, definition, spec, versions, schemas, webhook, storage: storageVersionOf(versions) }
  return versions.flatMap((version) => {
    const structural = schemas.get(textMember(version, 'name'))
    const isServed = structural !== undefined && memberOf(version, 'served') === true
    return isServed ? [kindOf(version, structural, of)] : []
  })
}

function basisOf({ metadata }: AnyObject, names: Names): DefinitionBasis {
  const { name = '', uid = '', generation = 0 } = metadata
  const place = { group: names.group('apiextensions'), plural: 'customresourcedefinitions', namespace: '' }
  return { key: keyOf({ ...place, name }), uid, generation }
}

/** Values that all versions of a definition share. */
type Making = {
  readonly names: Names
  readonly definition: AnyObject
  readonly spec: JsonObject
  readonly versions: readonly JsonObject[]
  readonly schemas: ReadonlyMap<string, CompiledSchema>
  /** Name of the version in which objects are stored. */
  readonly storage: string
  /** null: only the apiVersion differs between versions. */
  readonly webhook: ConversionWebhook | null
}

function kindOf(version: JsonObject, structural: CompiledSchema, of: Making): ResourceDefinition {
  const { definition, spec } = of
  const accepted = objectMember(objectMember(definition, 'status'), 'acceptedNames')
  const name = textMember(version, 'name')
  const group = textMember(spec, 'group')
  const kind = textMember(accepted, 'kind')
  const hasStatus = memberOf(objectMember(version, 'subresources'), 'status') !== undefined
  return Object.freeze({
    group,
    version: name,
    kind,
    plural: textMember(accepted, 'plural'),
    singular: textMember(accepted, 'singular'),
    shortNames: textsMember(accepted, 'shortNames'),
    categories: textsMember(accepted, 'categories'),
    scope: textMember(spec, 'scope') === 'Cluster' ? 'Cluster' : 'Namespaced',
    verbs: VERBS,
    structural,
    get schema() {
      return structural.schema
    },
    validateName: checkDns1123Subdomain,
    deleteReturnsObject: false,
    updateNeedsVersion: true,
    allowsUnqualifiedFinalizers: true,
    tracksGeneration: hasStatus ? true : 'status-too',
    storedAs: storedVersionOf(name, of),
    ...deprecationOf(version, of),
    selectableFields: selectableFieldsOf(version),
    columns: customColumns(objectsMember(version, 'additionalPrinterColumns')),
    hooks: hasStatus ? STATUS_APART : {},
    subresources: [...(hasStatus ? [status] : []), ...scaleOf(version)],
    custom: {
      uid: definition.metadata.uid ?? '',
      basis: basisOf(definition, of.names),
      listKind: textMember(accepted, 'listKind') || `${kind}List`,
      get published() {
        return structural.publish
      },
    },
  } satisfies ResourceDefinition)
}

/** @param requested name of the served version */
function storedVersionOf(requested: string, { schemas, storage, webhook }: Making): StoredVersion {
  const versions = { schemas, requested, storage }
  if (webhook === null) return { name: storage, conversion: storedConversion(versions) }
  const { conversion, toRequested } = webhookShapes(versions)
  return { name: storage, conversion, webhook: { target: webhook, toRequested } }
}

const VERBS: readonly Verb[] = [
  ...(['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'] as const),
]

function storageVersionOf(versions: readonly JsonObject[]): string {
  const stored = versions.find((version) => memberOf(version, 'storage') === true)
  return stored === undefined ? '' : textMember(stored, 'name')
}

/** Writes of the object ignore its status. */
const STATUS_APART: ResourceDefinition['hooks'] = {
  prepareForCreate: (object) => without(object, 'status'),
  prepareForUpdate: (object, current) => keeping(object, current, 'status'),
}

/** Writes of the status ignore all else. */
const status: PartSubresource = {
  name: 'status',
  verbs: ['get', 'patch', 'update'],
  prepareForUpdate: (object, current) => keeping(current, object, 'status'),
}

function scaleOf(version: JsonObject): readonly SubresourceDefinition[] {
  const scale = memberOf(objectMember(version, 'subresources'), 'scale')
  if (!isJsonObject(scale)) return []
  const specReplicas = parseMemberPath(textMember(scale, 'specReplicasPath'))
  const statusReplicas = parseMemberPath(textMember(scale, 'statusReplicasPath'))
  if (specReplicas === null || statusReplicas === null) return []
  const labelSelector = parseMemberPath(textMember(scale, 'labelSelectorPath'))
  const selectorOf = (object: AnyObject): string => {
    const selector = labelSelector === null ? undefined : valueAt(object, labelSelector)
    return typeof selector === 'string' ? selector : ''
  }
  return [scaleSubresource({ specReplicas, statusReplicas, selectorOf })]
}

function without(object: AnyObject, name: string): AnyObject {
  if (memberOf(object, name) === undefined) return object
  const draft: JsonObjectDraft = {}
  for (const key of Object.keys(object))
    if (key !== name) setMember(draft, key, memberOf(object, key) ?? null)
  return { ...draft, apiVersion: object.apiVersion, kind: object.kind, metadata: object.metadata }
}

/** @source apiextensions-apiserver, defaultDeprecationWarning */
function deprecationOf(
  version: JsonObject,
  { spec, versions }: Making,
): { readonly deprecated?: Deprecation } {
  if (memberOf(version, 'deprecated') !== true) return {}
  const given = memberOf(version, 'deprecationWarning')
  if (typeof given === 'string') return { deprecated: { words: given, removed: '' } }
  const group = textMember(spec, 'group')
  const kind = textMember(objectMember(spec, 'names'), 'kind')
  const name = textMember(version, 'name')
  const [better] = versions
    .filter((other) => memberOf(other, 'served') === true && memberOf(other, 'deprecated') !== true)
    .map((other) => textMember(other, 'name'))
    .filter((other) => compareVersions(other, name) < 0)
    .sort(compareVersions)
  const words = `${group}/${name} ${kind} is deprecated`
  const instead = better === undefined ? '' : `; use ${group}/${better} ${kind}`
  return { deprecated: { words: `${words}${instead}`, removed: '' } }
}
