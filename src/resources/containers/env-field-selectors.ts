import type { Findings } from '../../api/errors/findings.ts'
import { invalid, notSupported, required } from '../../api/errors/field-error.ts'
import type { JsonObject } from '../../api/json.ts'
import { textMember } from '../../api/json.ts'
import { checkQualifiedName } from '../../api/metadata/name-rules.ts'
import { quantity, struct, text } from '../../api/schema/build.ts'
import type { Path } from '../../api/schema/path.ts'
import { fieldAt, spellPath } from '../../api/schema/path.ts'
import { compareQuantities, parseQuantity } from '../../api/schema/quantity.ts'

/** Selectors for values of a Pod that are exposed to its containers, in variables and in files. */

export const objectFieldSelectorSchema = struct(
  'core.v1.ObjectFieldSelector',
  'Selects a field of the Pod.',
  {
    apiVersion: text(1, 'API version of the field path.', { default: 'v1' }),
    fieldPath: text(2, 'Path of the field.', { required: true }),
  },
  { mapType: 'atomic' },
)

export const resourceFieldSelectorSchema = struct(
  'core.v1.ResourceFieldSelector',
  'Selects a resource request or limit of a container.',
  {
    containerName: text(1, 'Name of the container; variables default to their own container.'),
    resource: text(2, 'Resource to select, such as limits.cpu.', { required: true }),
    divisor: quantity(3, 'Unit of the value; 1 when unset.', { always: true }),
  },
  { mapType: 'atomic' },
)

/**
 * @param fieldPaths allowed paths; labels and annotations by key are always allowed
 * @source core `pkg/apis/core/validation`, validateObjectFieldSelector
 */
export function checkObjectFieldSelector(
  selector: JsonObject,
  at: Path | null,
  fieldPaths: readonly string[],
  found: Findings,
): void {
  const path = textMember(selector, 'fieldPath')
  if (path === '') return
  const version = textMember(selector, 'apiVersion')
  if (version !== 'v1') {
    const words = `error converting fieldPath: unsupported pod version: ${version}`
    found.add(invalid(fieldAt(at, 'fieldPath'), path, words))
    return
  }
  const subscript = /^([^[\]]+)\['([^']*)'\]$/.exec(path)
  if (subscript === null) {
    if (!fieldPaths.includes(path)) found.add(notSupported(fieldAt(at, 'fieldPath'), path, fieldPaths))
    return
  }
  const [, map = '', key = ''] = subscript
  const field = spellPath(at)
  if (map === 'metadata.annotations') {
    for (const words of checkQualifiedName(key.toLowerCase())) found.add(invalid(field, key, words))
    return
  }
  if (map === 'metadata.labels') {
    for (const words of checkQualifiedName(key)) found.add(invalid(field, key, words))
    return
  }
  found.add(invalid(field, path, 'does not support subscript'))
}

/**
 * @param ofFiles the selector is for a file, which must name the container; for a variable the name
 * is optional
 */
export function checkResourceFieldSelector(
  selector: JsonObject,
  at: Path | null,
  ofFiles: boolean,
  found: Findings,
): void {
  const resource = textMember(selector, 'resource')
  if (ofFiles && textMember(selector, 'containerName') === '') {
    found.add(required(fieldAt(at, 'containerName')))
    return
  }
  if (resource === '') return
  const isHugePages = /^(?:limits|requests)\.hugepages-./.test(resource)
  if (!amounts.includes(resource) && !isHugePages) {
    found.add(notSupported(fieldAt(at, 'resource'), resource, amounts))
    return
  }
  const divisor = textMember(selector, 'divisor')
  const { units, words } = unitsOf(resource.slice(resource.indexOf('.') + 1))
  if (isUnit(divisor, units)) return
  const given = `only divisor's values ${units.join(', ')} are supported with the ${words} resource`
  found.add(invalid(fieldAt(at, 'divisor'), divisor, given))
}

const amounts = [
  'limits.cpu',
  'limits.ephemeral-storage',
  'limits.memory',
  'requests.cpu',
  'requests.ephemeral-storage',
  'requests.memory',
]

const byteUnits = ['1', '1k', '1M', '1G', '1T', '1P', '1E', '1Ki', '1Mi', '1Gi', '1Ti', '1Pi', '1Ei']

function unitsOf(resource: string): { readonly units: readonly string[]; readonly words: string } {
  if (resource === 'cpu') return { units: ['1m', '1'], words: 'cpu' }
  if (resource === 'memory') return { units: byteUnits, words: 'memory' }
  if (resource === 'ephemeral-storage') return { units: byteUnits, words: 'local ephemeral storage' }
  return { units: byteUnits, words: 'hugepages' }
}

/** A divisor that is unset or 0 means 1. */
function isUnit(divisor: string, units: readonly string[]): boolean {
  const given = parseQuantity(divisor === '' ? '0' : divisor)
  if (given === null || given.nanos === 0n) return true
  return units.some((unit) => {
    const allowed = parseQuantity(unit)
    return allowed !== null && compareQuantities(allowed, given) === 0
  })
}
