import type { Findings } from '../errors/findings.ts'
import { fieldForbidden, invalid, required, tooLong } from '../errors/field-error.ts'
import { parseGroupVersion } from './group-version.ts'
import type { Json, JsonObject } from '../json.ts'
import { textMember } from '../json.ts'
import type { NameRule } from './name-rules.ts'
import {
  checkDns1123Label,
  checkLabelValue,
  checkNamePrefix,
  checkPathSegment,
  checkQualifiedName,
} from './name-rules.ts'
import type { ObjectMeta } from './object.ts'
import { utf8Length } from '../utf8.ts'

/** Limit on keys and values of all annotations of an object together, in bytes. */
export const ANNOTATIONS_BYTES_MAX = 256 * 1024

/** A deletion removes dependents first (foreground), or orphans them (orphan). */
export const FOREGROUND_FINALIZER = 'foregroundDeletion'
export const ORPHAN_FINALIZER = 'orphan'

export type MetaRules = UpdateRules & {
  readonly namespaced: boolean
  readonly validateName: NameRule
}

export type UpdateRules = {
  /** Finalizers need no prefix. */
  readonly plainFinalizers?: boolean
}

/**
 * Checks metadata of a new object, after the server has filled in its part.
 *
 * @param meta has the types of its schema
 * @source apimachinery `pkg/api/validation/objectmeta.go`
 */
export function validateMetaOnCreate(meta: ObjectMeta, rules: MetaRules, found: Findings): void {
  checkNames(meta, rules, found)
  checkCommon(meta, rules, found)
}

/**
 * Checks changed metadata against the stored one, after the server restored the immutable parts.
 *
 * @source apimachinery `pkg/api/validation/objectmeta.go` ValidateObjectMetaUpdate
 */
export function validateMetaOnUpdate(
  meta: ObjectMeta,
  stored: ObjectMeta,
  rules: UpdateRules = {},
  found: Findings,
): void {
  if (stored.deletionTimestamp) {
    const known = new Set(stored.finalizers ?? [])
    const added = (meta.finalizers ?? []).filter((finalizer) => !known.has(finalizer))
    if (added.length > 0) {
      const shown = JSON.stringify(added)
      const words =
        `no new finalizers can be added if the object is being deleted, ` + `found new finalizers ${shown}`
      found.add(fieldForbidden('metadata.finalizers', words))
    }
  }
  if ((meta.generation ?? 0) < (stored.generation ?? 0)) {
    found.add(invalid('metadata.generation', meta.generation, 'must not be decremented'))
  }
  for (const field of IMMUTABLE) {
    const value = meta[field] ?? EMPTY_OF[field]
    if (value !== (stored[field] ?? EMPTY_OF[field])) {
      found.add(invalid(`metadata.${field}`, value, 'field is immutable'))
    }
  }
  checkCommon(meta, rules, found)
}

const IMMUTABLE = [
  'name',
  'namespace',
  'uid',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
] as const

const EMPTY_OF: Record<(typeof IMMUTABLE)[number], Json> = {
  name: '',
  namespace: '',
  uid: '',
  creationTimestamp: null,
  deletionTimestamp: null,
  deletionGracePeriodSeconds: null,
}

function checkNames(meta: ObjectMeta, rules: MetaRules, found: Findings): void {
  const name = meta.name ?? ''
  const prefix = meta.generateName ?? ''
  const namespace = meta.namespace ?? ''
  if (prefix !== '') {
    for (const words of checkNamePrefix(prefix, rules.validateName)) {
      found.add(invalid('metadata.generateName', prefix, words))
    }
  }
  if (name === '') {
    found.add(required('metadata.name', 'name or generateName is required'))
  } else {
    const wrong = new Set([...rules.validateName(name), ...checkPathSegment(name)])
    for (const words of wrong) found.add(invalid('metadata.name', name, words))
  }
  if (!rules.namespaced) {
    if (namespace !== '') found.add(fieldForbidden('metadata.namespace', 'not allowed on this type'))
  } else {
    if (namespace === '') {
      found.add(required('metadata.namespace'))
    } else {
      for (const words of checkDns1123Label(namespace)) {
        found.add(invalid('metadata.namespace', namespace, words))
      }
    }
  }
}

function checkCommon(meta: ObjectMeta, rules: UpdateRules, found: Findings): void {
  if ((meta.generation ?? 0) < 0) {
    found.add(invalid('metadata.generation', meta.generation, 'must be greater than or equal to 0'))
  }
  validateLabels(meta.labels ?? {}, 'metadata.labels', found)
  validateAnnotations(meta.annotations ?? {}, 'metadata.annotations', found)
  checkOwners(meta.ownerReferences ?? [], found)
  checkFinalizers(meta.finalizers ?? [], rules, found)
  checkManagedFields(meta.managedFields ?? [], found)
}

/** Keys must be qualified names, and values label values. @param field path of the map */
export function validateLabels(
  labels: { readonly [key: string]: string },
  field: string,
  found: Findings,
): void {
  for (const [key, value] of Object.entries(labels)) {
    for (const words of checkQualifiedName(key)) found.add(invalid(field, key, words))
    for (const words of checkLabelValue(value)) found.add(invalid(field, value, words))
  }
}

/**
 * Keys must be qualified names, in any case; the total size is limited.
 *
 * @param field path of the map
 */
export function validateAnnotations(
  annotations: { readonly [key: string]: string },
  field: string,
  found: Findings,
): void {
  let bytes = 0
  for (const [key, value] of Object.entries(annotations)) {
    for (const words of checkQualifiedName(key.toLowerCase())) {
      found.add(invalid(field, key, words))
    }
    bytes += utf8Length(key) + utf8Length(value)
  }
  if (bytes > ANNOTATIONS_BYTES_MAX) found.add(tooLong(field, ANNOTATIONS_BYTES_MAX))
}

function checkOwners(owners: readonly JsonObject[], found: Findings): void {
  const field = 'metadata.ownerReferences'
  let controller: string | null = null
  for (const owner of owners) {
    const apiVersion = textMember(owner, 'apiVersion')
    const kind = textMember(owner, 'kind')
    const version = parseGroupVersion(apiVersion)
    if (version === null) found.add(invalid(`${field}.apiVersion`, apiVersion, 'version must not be empty'))
    for (const member of ['kind', 'name', 'uid']) {
      if (textMember(owner, member) === '') {
        found.add(invalid(`${field}.${member}`, '', `${member} must not be empty`))
      }
    }
    if (version?.group === '' && kind === 'Event') {
      found.add(invalid(field, owner, `${apiVersion}, Kind=Event is disallowed from being an owner`))
    }
    if (owner['controller'] !== true) continue
    const name = textMember(owner, 'name')
    if (controller !== null) {
      const words =
        'Only one reference can have Controller set to true. ' +
        `Found "true" in references for ${controller} and ${name}`
      found.add(invalid(field, owners, words))
    }
    controller ??= name
  }
}

/**
 * Well-known finalizers need no prefix; kinds with finalizers of their own check those themselves.
 */
function checkFinalizers(
  finalizers: readonly string[],
  { plainFinalizers = false }: UpdateRules,
  found: Findings,
): void {
  const field = 'metadata.finalizers'
  finalizers.forEach((finalizer, at) => {
    const wrong = checkQualifiedName(finalizer)
    for (const words of wrong) found.add(invalid(field, finalizer, words))
    const isPlain = wrong.length === 0 && !finalizer.includes('/')
    if (isPlain && !plainFinalizers && !STANDARD_FINALIZERS.has(finalizer)) {
      const words = 'name is neither a standard finalizer name nor is it fully qualified'
      found.add(invalid(`${field}[${at}]`, finalizer, words))
    }
  })
  if (finalizers.includes(FOREGROUND_FINALIZER) && finalizers.includes(ORPHAN_FINALIZER)) {
    const words = `finalizer ${ORPHAN_FINALIZER} and ${FOREGROUND_FINALIZER} cannot be both set`
    found.add(invalid(field, finalizers, words))
  }
}

const STANDARD_FINALIZERS: ReadonlySet<string> = new Set([
  FOREGROUND_FINALIZER,
  ORPHAN_FINALIZER,
  'kubernetes',
  'orch',
])

function checkManagedFields(entries: readonly JsonObject[], found: Findings): void {
  entries.forEach((entry, at) => {
    const field = `metadata.managedFields[${at}]`
    const operation = textMember(entry, 'operation')
    if (operation !== 'Apply' && operation !== 'Update') {
      found.add(invalid(`${field}.operation`, operation, 'must be `Apply` or `Update`'))
    }
    const fieldsType = textMember(entry, 'fieldsType')
    if (fieldsType !== '' && fieldsType !== 'FieldsV1') {
      found.add(invalid(`${field}.fieldsType`, fieldsType, 'must be `FieldsV1`'))
    }
    validateFieldManager(textMember(entry, 'manager'), `${field}.manager`, found)
  })
}

/**
 * At most 128 bytes of printable characters.
 *
 * @param field path of the value, such as `fieldManager`
 */
export function validateFieldManager(manager: string, field: string, found: Findings): void {
  if (utf8Length(manager) > FIELD_MANAGER_BYTES_MAX) found.add(tooLong(field, FIELD_MANAGER_BYTES_MAX))
  let at = 0
  for (const character of manager) {
    if (found.isFull) return
    if (UNPRINTABLE.test(character)) {
      found.add(invalid(field, manager, `invalid character ${codePointText(character)} (at position ${at})`))
    }
    at += utf8Length(character)
  }
}

/** Formats a character as Unicode does: `U+0007`. */
function codePointText(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`
}

const FIELD_MANAGER_BYTES_MAX = 128
const UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/u

/**
 * Returns the default field manager of a write: `kubectl/v1.20 (linux)` gives `kubectl`. It passes
 * `validateFieldManager`.
 */
export function fieldManagerOf(userAgent: string): string {
  let manager = ''
  let bytes = 0
  for (const character of userAgent.split('/', 1)[0] ?? '') {
    if (UNPRINTABLE.test(character)) continue
    bytes += utf8Length(character)
    if (bytes > FIELD_MANAGER_BYTES_MAX) break
    manager += character
  }
  return manager
}
