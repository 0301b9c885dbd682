import { isJsonObject, memberOf, textMember } from '../json.ts'
import type { Json, JsonObject } from '../json.ts'
import { parseTimeMs } from '../metadata/time.ts'
import { isEmptySet, unionOfAll } from './field-set.ts'
import type { FieldSet } from './field-set.ts'
import { fieldsV1Of, readFieldsV1, storedFields } from './fields-v1.ts'

/** The fields that one manager owns through one operation, version and subresource. */
export type ManagedEntry = {
  readonly manager: string
  /** `Apply` or `Update`; other texts of clients are reported by validation. */
  readonly operation: string
  readonly apiVersion: string
  /** Empty: the main resource. */
  readonly subresource: string
  /** RFC 3339, whole seconds; null: unknown. */
  readonly time: string | null
  readonly fields: FieldSet
}

/** Entries by `identityOf`. */
export type Managers = ReadonlyMap<string, ManagedEntry>

export type ManagerIdentity = Pick<ManagedEntry, 'manager' | 'operation' | 'apiVersion' | 'subresource'>

/**
 * Entries with the same identity are merged. The identity of an applier contains no version.
 *
 * @source apiserver `fieldmanager/internal/managedfields.go`, BuildManagerIdentifier
 */
export function identityOf({ manager, operation, apiVersion, subresource }: ManagerIdentity): string {
  const version = operation === 'Apply' ? '' : apiVersion
  // The lengths make the text of each identity unique, whatever clients write into its parts.
  const lengths = `${operation.length},${manager.length},${subresource.length}`
  return `${lengths},${operation},${manager},${subresource},${version}`
}

/**
 * Reads `metadata.managedFields` that a client sent.
 *
 * @returns null: an entry is malformed
 */
export function readManagers(entries: readonly JsonObject[]): Managers | null {
  return read(entries, { fields: readFieldsV1, isTime: (text) => parseTimeMs(text) !== null })
}

/** Reads `metadata.managedFields` of a stored object, whose times are valid; see `storedFields`. */
export function storedManagers(entries: readonly JsonObject[]): Managers {
  return read(entries, asStored) ?? new Map()
}

type Reading = {
  readonly fields: (json: Json) => FieldSet | null
  readonly isTime: (text: string) => boolean
}

const asStored: Reading = {
  fields: (json) => (isJsonObject(json) ? storedFields(json) : null),
  isTime: () => true,
}

function read(entries: readonly JsonObject[], reading: Reading): Managers | null {
  const managers = new Map<string, ManagedEntry>()
  const united = new UnitedFields()
  for (const json of entries) {
    const entry = readEntry(json, reading)
    if (entry === null) return null
    const identity = identityOf(entry)
    const other = managers.get(identity)
    managers.set(identity, entry)
    if (other !== undefined) united.add(identity, other.fields, entry.fields)
  }
  united.giveTo(managers)
  return managers
}

/**
 * Collects the fields of entries with the same identity and unites them at the end, so that each
 * field is copied only once.
 */
class UnitedFields {
  readonly #sets = new Map<string, FieldSet[]>()

  /** @param first fields of the first entry; only used by the first call for the identity */
  add(identity: string, first: FieldSet, fields: FieldSet): void {
    const known = this.#sets.get(identity)
    if (known === undefined) this.#sets.set(identity, [first, fields])
    else known.push(fields)
  }

  giveTo(managers: Map<string, ManagedEntry>): void {
    for (const [identity, sets] of this.#sets) {
      const entry = managers.get(identity)
      if (entry !== undefined) managers.set(identity, { ...entry, fields: unionOfAll(sets) })
    }
  }
}

function readEntry(json: JsonObject, reading: Reading): ManagedEntry | null {
  if (textMember(json, 'fieldsType') !== 'FieldsV1') return null
  const fields = reading.fields(memberOf(json, 'fieldsV1') ?? {})
  const time = memberOf(json, 'time')
  if (fields === null) return null
  return {
    manager: textMember(json, 'manager'),
    operation: textMember(json, 'operation'),
    apiVersion: textMember(json, 'apiVersion'),
    subresource: textMember(json, 'subresource'),
    time: typeof time === 'string' && reading.isTime(time) ? time : null,
    fields,
  }
}

/**
 * A list with one empty entry requests to forget all owners; an empty list does not.
 *
 * @source spec 4.10
 */
export function isReset(entries: readonly JsonObject[]): boolean {
  const [entry] = entries
  return entries.length === 1 && isJsonObject(entry) && Object.keys(entry).length === 0
}

/**
 * Returns `metadata.managedFields`, without entries that own nothing.
 *
 * @source apiserver `fieldmanager/internal/managedfields.go`, sortEncodedManagedFields
 */
export function managedFieldsOf(managers: Managers): readonly JsonObject[] {
  return [...managers.values()]
    .filter(({ fields }) => !isEmptySet(fields))
    .sort(compareEntries)
    .map(({ manager, operation, apiVersion, time, fields, subresource }) => ({
      manager,
      operation,
      apiVersion,
      ...(time === null ? {} : { time }),
      fieldsType: 'FieldsV1',
      fieldsV1: fieldsV1Of(fields),
      ...(subresource === '' ? {} : { subresource }),
    }))
}

function compareEntries(a: ManagedEntry, b: ManagedEntry): number {
  return (
    compareTexts(a.operation, b.operation) ||
    secondsOf(a) - secondsOf(b) ||
    compareTexts(a.manager, b.manager) ||
    compareTexts(a.apiVersion, b.apiVersion) ||
    compareTexts(a.subresource, b.subresource)
  )
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

function secondsOf({ time }: ManagedEntry): number {
  return time === null ? 0 : Math.floor((parseTimeMs(time) ?? 0) / 1000)
}

/**
 * Merges the oldest entries of updates of each version while there are more than `max`.
 *
 * @source apiserver `fieldmanager/capmanagers.go`
 */
export function capUpdaters(managers: Managers, max: number): Managers {
  const updaters = [...managers].filter(([, { operation }]) => operation !== 'Apply')
  let count = updaters.length
  if (count <= max) return managers
  updaters.sort(([, a], [, b]) => compareEntries(a, b))
  const capped = new Map(managers)
  const firstOfVersion = new Map<string, string>()
  const merged = new UnitedFields()
  for (const [identity, entry] of updaters) {
    if (count <= max) break
    const old: ManagedEntry = { ...entry, manager: OLD_UPDATES, operation: 'Update', subresource: '' }
    const bucket = identityOf(old)
    const first = firstOfVersion.get(entry.apiVersion)
    firstOfVersion.set(entry.apiVersion, first ?? identity)
    const united = first === undefined ? undefined : (capped.get(bucket) ?? capped.get(first))
    if (first === undefined || united === undefined) continue
    if (!capped.has(bucket)) capped.delete(first)
    capped.delete(identity)
    capped.set(bucket, old)
    merged.add(bucket, united.fields, entry.fields)
    count--
  }
  merged.giveTo(capped)
  return capped
}

const OLD_UPDATES = 'ancient-changes'
