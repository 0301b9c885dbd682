import { isConditionTrue } from '../api/metadata/conditions.ts'
import { memberOf, numberMember, objectMember, objectsMember, textMember, textsMember } from '../api/json.ts'
import type { JsonObject } from '../api/json.ts'
import type { Names } from '../api/metadata/names.ts'
import { keyOf, prefixOf } from '../store/key.ts'
import type { Key, KeyPrefix } from '../store/key.ts'
import type { AnyObject } from '../registry/kinds/definition.ts'
import { parseBytes } from '../registry/kinds/encode.ts'
import type { StoredObject } from '../store/object-store.ts'

/** What a definition's kind is called in paths, objects and on command lines. */
export type DefinitionNames = {
  readonly plural: string
  readonly singular: string
  readonly shortNames: readonly string[]
  readonly kind: string
  readonly listKind: string
  readonly categories: readonly string[]
}

/**
 * What the upkeep of a definition looks at. Every member keeps one for each definition, so what is large, the schemas of
 * its versions, is not in it.
 */
export type DefinitionSummary = {
  readonly name: string
  readonly uid: string
  readonly group: string
  readonly scope: 'Namespaced' | 'Cluster'
  /** Grows with every change of what is asked for. */
  readonly generation: number
  /** RFC 3339. */
  readonly createdAt: string
  readonly requested: DefinitionNames
  /** Empty texts: none yet. */
  readonly accepted: DefinitionNames
  readonly conditions: readonly JsonObject[]
  readonly terminating: boolean
  readonly finalizers: readonly string[]
  /** In which its objects are stored from now on. */
  readonly storageVersion: string
}

/** As a member keeps it. */
export type KnownDefinition = DefinitionSummary & {
  /** All that it says. */
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
  const stored = objectsMember(spec, 'versions').find((version) => memberOf(version, 'storage') === true)
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

/** Its objects are served, from then on. */
export function isEstablished({ conditions }: Pick<DefinitionSummary, 'conditions'>): boolean {
  return isConditionTrue(conditions, 'Established')
}
