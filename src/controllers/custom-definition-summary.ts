import { isConditionTrue } from '../api/metadata/conditions.ts'
import { memberOf, numberMember, objectMember, objectsMember, textMember, textsMember } from '../api/json.ts'
import type { JsonObject } from '../api/json.ts'
import type { Names } from '../api/metadata/names.ts'
import { keyOf, prefixOf } from '../store/key.ts'
import type { Key, KeyPrefix } from '../store/key.ts'
import type { AnyObject } from '../registry/kinds/definition.ts'
import { parseBytes } from '../registry/kinds/encode.ts'
import type { StoredObject } from '../store/object-store.ts'

/** The names of a definition's kind in paths, objects and command lines. */
export type DefinitionNames = {
  readonly plural: string
  readonly singular: string
  readonly shortNames: readonly string[]
  readonly kind: string
  readonly listKind: string
  readonly categories: readonly string[]
}

/**
 * The part of a definition that the controllers use. Every member keeps one per definition, so it
 * does not contain the parsed schemas, which are large.
 */
export type DefinitionSummary = {
  readonly name: string
  readonly uid: string
  readonly group: string
  readonly scope: 'Namespaced' | 'Cluster'
  /** Increases with every change of the spec. */
  readonly generation: number
  /** RFC 3339. */
  readonly createdAt: string
  readonly requested: DefinitionNames
  /** Empty texts: none accepted yet. */
  readonly accepted: DefinitionNames
  readonly conditions: readonly JsonObject[]
  readonly terminating: boolean
  readonly finalizers: readonly string[]
  /** The version that its objects are stored in. */
  readonly storageVersion: string
  readonly servedVersions: readonly string[]
}

/** A definition as a member caches it. */
export type KnownDefinition = DefinitionSummary & {
  /** The stored definition. */
  readonly bytes: Uint8Array
}

export const definitionPlural = 'customresourcedefinitions'

export function definitionsPrefix(names: Names): KeyPrefix {
  return prefixOf({ group: names.group('apiextensions'), plural: definitionPlural, namespace: null })
}

export function definitionKey(names: Names, name: string): Key {
  return keyOf({ group: names.group('apiextensions'), plural: definitionPlural, namespace: '', name })
}

export function knownDefinition({ bytes }: Pick<StoredObject, 'bytes'>): KnownDefinition {
  return { ...summaryOf(parseBytes(bytes)), bytes }
}

export function summaryOf(object: AnyObject): DefinitionSummary {
  const spec = objectMember(object, 'spec')
  const status = objectMember(object, 'status')
  const { name = '', uid = '', creationTimestamp, deletionTimestamp, finalizers = [] } = object.metadata
  const versions = objectsMember(spec, 'versions')
  const stored = versions.find((version) => memberOf(version, 'storage') === true)
  const served = versions.filter((version) => memberOf(version, 'served') === true)
  return {
    ...{ name, uid, finalizers },
    group: textMember(spec, 'group'),
    scope: textMember(spec, 'scope') === 'Cluster' ? 'Cluster' : 'Namespaced',
    generation: numberMember(object.metadata, 'generation') ?? 0,
    createdAt: typeof creationTimestamp === 'string' ? creationTimestamp : '',
    requested: namesIn(objectMember(spec, 'names')),
    accepted: namesIn(objectMember(status, 'acceptedNames')),
    conditions: objectsMember(status, 'conditions'),
    terminating: typeof deletionTimestamp === 'string',
    storageVersion: stored === undefined ? '' : textMember(stored, 'name'),
    servedVersions: served.map((version) => textMember(version, 'name')),
  }
}

function namesIn(names: JsonObject): DefinitionNames {
  return {
    plural: textMember(names, 'plural'),
    singular: textMember(names, 'singular'),
    shortNames: textsMember(names, 'shortNames'),
    kind: textMember(names, 'kind'),
    listKind: textMember(names, 'listKind'),
    categories: textsMember(names, 'categories'),
  }
}

/** Whether its objects are served. */
export function isEstablished({ conditions }: Pick<DefinitionSummary, 'conditions'>): boolean {
  return isConditionTrue(conditions, 'Established')
}
